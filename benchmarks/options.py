"""The options that all benchmarks share."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Options:
    """How to run: sizes, repeats, who takes part, where things lie. None leaves it to each one."""

    pages: int | None
    repeats: int | None
    kills: int | None
    concurrency: int
    port: int
    timeout_s: float
    crawlers: tuple[str, ...]
    holdfast: Path
    folder: Path
    seed: int
    quick: bool

    def sized(self, asked: int | None, *, full: int, quick: int) -> int:
        """What was asked for, else the benchmark's own size."""
        return asked or (quick if self.quick else full)


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser that knows the shared options."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--quick", action="store_true", help="small sizes, for a first look")
    made.add_argument("--pages", type=int, help="pages of the site, instead of each one's own")
    made.add_argument("--repeats", type=int, help="repeats, instead of each one's own")
    made.add_argument("--kills", type=int, help="random kills (200; quick: 20)")
    made.add_argument("--concurrency", type=int, default=16, help="of every crawler (16)")
    made.add_argument("--port", type=int, default=8947, help="where nginx serves (8947)")
    made.add_argument("--timeout", type=float, default=1800, help="seconds for one run (1800)")
    made.add_argument("--crawlers", default="", help="comma-separated names, instead of all")
    made.add_argument("--seed", type=int, default=1, help="of the random kills (1)")
    made.add_argument("--holdfast", type=Path, default=REPOSITORY / ".venv/bin/holdfast")
    made.add_argument("--folder", type=Path, help="for sites and crawls (the system's temporary)")
    return made


def options(arguments: argparse.Namespace) -> Options:
    """What was asked for."""
    return Options(
        pages=arguments.pages,
        repeats=arguments.repeats,
        kills=arguments.kills,
        concurrency=arguments.concurrency,
        port=arguments.port,
        timeout_s=arguments.timeout,
        crawlers=tuple(filter(None, arguments.crawlers.split(","))),
        holdfast=arguments.holdfast.absolute(),
        folder=arguments.folder or Path(tempfile.gettempdir()) / "holdfast-bench",
        seed=arguments.seed,
        quick=arguments.quick,
    )


def from_command_line(description: str | None) -> Options:
    """The options of a benchmark that is run on its own."""
    return options(parser(description).parse_args())
