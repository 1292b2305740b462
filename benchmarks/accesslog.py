"""The independent count: what the web server says it served, whatever the crawlers say."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OK = "200"
NOT_PAGES = {"/robots.txt", "/sitemap.xml", "/favicon.ico"}


@dataclass
class Fetched:
    """The page fetches of one stretch of the log: how often each path was served with 200."""

    served: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    first_at: float | None = None
    last_at: float | None = None

    @property
    def pages(self) -> int:
        """Different pages served."""
        return len(self.served)

    @property
    def repeats(self) -> int:
        """Fetches of a page beyond its first."""
        return self.served.total() - len(self.served)

    def again(self, before: Fetched) -> int:
        """Fetches in this stretch of pages that an earlier stretch had served already."""
        return sum(count for path, count in self.served.items() if path in before.served)

    def add(self, line: str) -> None:
        """Count one line: path, status, time of the end of the request."""
        path, status, moment = line.rsplit(" ", 2)
        path = path.partition("?")[0]
        if status != OK:
            self.others[status] += 1
        elif path not in NOT_PAGES:
            self.served[path] += 1
            self.last_at = float(moment)
            self.first_at = self.first_at or self.last_at

    def merge(self, later: Fetched) -> None:
        """Add a later stretch to this one."""
        self.served.update(later.served)
        self.others.update(later.others)
        self.first_at = self.first_at or later.first_at
        self.last_at = later.last_at or self.last_at


class Tail:
    """Follows a growing log from where it ends now."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = log.stat().st_size if log.exists() else 0
        self.fetched = Fetched()

    def poll(self) -> Fetched:
        """Count the lines that came since the last call; the value holds all since the start."""
        with self._log.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self._offset += len(complete)
        for line in complete.decode("utf-8", "replace").splitlines():
            self.fetched.add(line)
        return self.fetched

    def settle(self, quiet_s: float = 0.1) -> Fetched:
        """Wait until the server has logged what was in flight, then count it."""
        size = -1
        while size != self._log.stat().st_size:
            size = self._log.stat().st_size
            time.sleep(quiet_s)
        return self.poll()
