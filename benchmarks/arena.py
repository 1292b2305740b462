"""Where crawlers meet: one served site, its log, and a fresh folder for each crawl."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accesslog import Tail
from benchmarks.server import serving
from benchmarks.site import Site, generate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.options import Options


@dataclass
class Work:
    """A crawl's folder, removed afterwards unless somebody should look at it."""

    folder: Path
    keep: bool = False

    @property
    def log(self) -> Path:
        """Where the crawler's own messages go."""
        return self.folder / "messages.log"


@dataclass(frozen=True)
class Arena:
    """A site that is being served."""

    site: Site
    log: Path
    options: Options

    def tail(self) -> Tail:
        """Follow the access log from now on."""
        return Tail(self.log)

    @contextmanager
    def work(self) -> Iterator[Work]:
        """A fresh folder for one crawl."""
        work = Work(Path(tempfile.mkdtemp(prefix="crawl-", dir=self.options.folder)))
        try:
            yield work
        finally:
            if work.keep:
                note(f"kept for a look: {work.folder}")
            else:
                shutil.rmtree(work.folder)


@contextmanager
def arena(options: Options, pages: int) -> Iterator[Arena]:
    """Generate and serve a site of that many pages."""
    site = generate(pages, options.port, folder=options.folder)
    with serving(site.root, options.port) as log:
        yield Arena(site, log, options)


def note(text: str) -> None:
    """Say what happens now, apart from the results."""
    print(text, file=sys.stderr, flush=True)
