"""What a crawl that was killed has to show: verified, counted by its export, and by others than itself."""

import asyncio
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from holdfast.cli.words import number, plural
from holdfast.domain.job import Job

if TYPE_CHECKING:
    from holdfast.bootstrap import Home

_REQUEST: Final = re.compile(rb'"GET (\S+) HTTP/[0-9.]+" 200 ')


@dataclass(frozen=True, slots=True)
class Log:
    """A server's access log, from where it ended when this was made."""

    path: Path | None
    start: int

    @classmethod
    def of(cls, path: Path | None) -> Self:
        """From its present end on."""
        return cls(path, 0 if path is None else path.stat().st_size)

    def read(self) -> Counter[str] | None:
        """How often each address (path and query) was answered with a page since then; None without a log."""
        if self.path is None:
            return None
        with self.path.open("rb") as file:
            file.seek(self.start)
            found = (_REQUEST.search(line) for line in file)
            return Counter(match[1].decode("ascii", "replace") for match in found if match)


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found. None: there was nothing to count it by."""

    job: str
    kills: int
    pages: int
    rows: int
    """In the export."""
    double_rows: int
    verified: bool
    discrepancies: int
    lost: int | None
    """Pages that the undisturbed crawl has and this one hasn't."""
    strange: int | None
    """The other way round."""
    changed: int | None
    """The same page with another body: a site may change between two crawls, a kill changes nothing."""
    fetched: int | None
    """Pages that the server served, by its own log."""
    fetched_again: int | None
    allowed_again: int
    """A checkpoint and what was in flight, for each kill."""

    @property
    def holds(self) -> bool:
        """Whether all of it is as was promised."""
        again = self.fetched_again is None or self.fetched_again <= self.allowed_again
        return self.verified and self.rows == self.pages and not (self.double_rows or self.lost) and again

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {"holds": self.holds} | asdict(self)

    def lines(self) -> Iterator[str]:
        """For people: what was counted, by whom, and the verdict last."""
        yield f"kills           {number(self.kills)}, each by SIGKILL"
        twice = "each once" if not self.double_rows else f"{number(self.double_rows)} of them twice"
        yield f"pages           {number(self.pages)} in the ledger, {number(self.rows)} in the export, {twice}"
        if self.lost is not None:
            beyond = f", {number(self.strange)} more than it" if self.strange else ""
            bodies = f", {plural(self.changed, 'body', 'bodies')} changed" if self.changed else ""
            yield f"lost            {number(self.lost)}, against a crawl that nobody disturbed{beyond}{bodies}"
        if self.fetched_again is not None:
            allowed = f"at most {number(self.allowed_again)} were allowed"
            yield f"fetched again   {number(self.fetched_again)} by the server's own log; {allowed}"
        wrong = plural(self.discrepancies, "thing doesn't", "things don't")
        words = (
            "every byte and row read again, and all agree"
            if self.verified
            else f"{wrong} agree; see `holdfast verify {self.job}`"
        )
        yield f"verify          {words}"
        yield f"the promise     {'holds' if self.holds else 'DOES NOT HOLD'} for job {self.job}"


async def prove(
    home: "Home", job: Job, kills: int, *, undisturbed: Job | None, served: Counter[str] | None
) -> Proof:
    """Look at a job that was killed so often, and count."""
    from holdfast.engine.verify import verify

    verification = await verify(home.tools, job)
    rows = await _rows(home, job)
    others = None if undisturbed is None else await _rows(home, undisturbed)
    again = None if served is None else _again(served, rows)
    return Proof(
        job=job.short_id,
        kills=kills,
        pages=job.counters.done,
        rows=sum(len(digests) for digests in rows.values()),
        double_rows=sum(len(digests) - 1 for digests in rows.values()),
        verified=verification.holds,
        discrepancies=verification.total,
        lost=None if others is None else len(others.keys() - rows.keys()),
        strange=None if others is None else len(rows.keys() - others.keys()),
        changed=None
        if others is None
        else sum(rows[url] != others[url] for url in rows.keys() & others.keys()),
        fetched=None if again is None else again[0],
        fetched_again=None if again is None else again[1],
        allowed_again=kills * (job.checkpoints.items + job.pace.concurrency),
    )


async def _rows(home: "Home", job: Job) -> dict[str, list[str]]:
    """The rows of the job's export, written by the command that people use: URL to the digests of its rows."""
    with tempfile.TemporaryDirectory(prefix="holdfast-chaos-") as folder:
        file = Path(folder) / "pages.jsonl"
        words = ("export", job.public_id, "-o", str(file), "--quiet")
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "holdfast", "--home", str(home.path), *words
        )
        await child.wait()
        return await asyncio.to_thread(_read_rows, file)


def _read_rows(file: Path) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    with file.open("rb") as lines:
        for line in lines:
            row = json.loads(line)
            rows.setdefault(row["url"], []).append(row["sha256"])
    return rows


def _again(served: Counter[str], rows: Mapping[str, object]) -> tuple[int, int]:
    """How many of the pages the server served, and how often beyond the first time."""
    addresses = {_address(url) for url in rows}
    counts = [count for address, count in served.items() if address in addresses]
    return len(counts), sum(counts) - len(counts)


def _address(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
