"""The crawlers under test: how each is started, where its rows are, what proves its result."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Protocol

from benchmarks import setup
from benchmarks.rows import Rows, read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.options import Options
    from benchmarks.site import Site

PEER_SCRIPTS = Path(__file__).resolve().parent / "peers"


class Crawler(Protocol):
    """A command that crawls a site into a folder; given again, it resumes there."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def version(self) -> str:
        """What was measured."""

    def command(self, start_url: str, folder: Path) -> list[str]:
        """The command to start and to repeat."""

    def rows(self, folder: Path, site: Site) -> Rows:
        """What its output holds, once it ended."""

    def proof(self, folder: Path) -> str:
        """What its own check says: `holds`, what it found, or `-` if it has none."""


@dataclass(frozen=True)
class Peer:
    """A script of benchmarks/peers in an environment of its own."""

    name: str
    environment: str
    script: str
    distribution: str
    concurrency: int
    extra: tuple[str, ...] = ()

    def version(self) -> str:
        """The name and version of the distribution in its environment."""
        look_up = f"import importlib.metadata as m; print(m.version({self.distribution!r}))"
        return f"{self.distribution} {_output([str(setup.ensure(self.environment)), '-c', look_up])}"

    def command(self, start_url: str, folder: Path) -> list[str]:
        """The script with its arguments."""
        python = str(setup.ensure(self.environment))
        script = str(PEER_SCRIPTS / self.script)
        return [python, script, start_url, str(folder), str(self.concurrency), *self.extra]

    def rows(self, folder: Path, site: Site) -> Rows:
        """What the file holds that the script writes."""
        return read_rows(folder / "rows.jsonl", site)

    def proof(self, folder: Path) -> str:
        """No peer has one."""
        del folder
        return "-"


@dataclass(frozen=True)
class Holdfast:
    """The product through its command line, with nothing tuned but what the peers get too."""

    program: Path
    concurrency: int
    name: str = "holdfast"
    with_output: bool = False
    """With -o: the text of each page is made, too, and a file of rows written, as the others do."""

    def version(self) -> str:
        """What `holdfast --version` prints."""
        return _output([str(self.program), "--version"])

    def command(self, start_url: str, folder: Path) -> list[str]:
        """`holdfast crawl` with durability `process`: WARC segments and rows are written."""
        many = str(self.concurrency)
        pace = ["--concurrency", many, "--per-host", many, "--delay", "0"]
        output = ["-o", str(folder / "rows.jsonl")] if self.with_output else []
        return [*self._at(folder, "crawl"), start_url, *pace, "--json", "--quiet", *output]

    def rows(self, folder: Path, site: Site) -> Rows:
        """What an export of the job holds, made now unless the crawl made it."""
        file = folder / "rows.jsonl"
        if not self.with_output:
            subprocess.run([*self._at(folder, "export"), "-o", str(file)], stdout=DEVNULL, check=False)
        return read_rows(file, site)

    def proof(self, folder: Path) -> str:
        """What `holdfast verify` says."""
        verify = self._at(folder, "verify")
        ended = subprocess.run(verify, capture_output=True, text=True, check=False)
        return "holds" if ended.returncode == 0 else f"exit {ended.returncode}: {ended.stdout[:500]}"

    def _at(self, folder: Path, subcommand: str) -> list[str]:
        return [str(self.program), "--home", str(folder / "home"), subcommand]


def crawlers(options: Options, names: Sequence[str]) -> list[Crawler]:
    """The named crawlers, or those that --crawlers asked for instead."""
    many = options.concurrency
    known: list[Crawler] = [
        Holdfast(options.holdfast, many),
        Holdfast(options.holdfast, many, "holdfast -o", with_output=True),
        Peer("bare", "bare", "bare_loop.py", "pycurl", many),
        Peer("scrapy", "scrapy", "scrapy_jobdir.py", "scrapy", many),
        Peer("crawlee-files", "crawlee", "crawlee_store.py", "crawlee", many, ("files",)),
        Peer("crawlee-sql", "crawlee", "crawlee_store.py", "crawlee", many, ("sql",)),
    ]
    by_name = {crawler.name: crawler for crawler in known}
    wanted = options.crawlers or names
    if strangers := set(wanted) - set(by_name):
        message = f"no crawler {', '.join(sorted(strangers))}: there are {', '.join(by_name)}"
        raise SystemExit(message)
    if "holdfast" in wanted and not options.holdfast.exists():
        message = f"{options.holdfast} is missing: run `make setup`, or give --holdfast PATH"
        raise SystemExit(message)
    return [by_name[name] for name in wanted]


def _output(argv: list[str]) -> str:
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
