"""What it costs to read a finished job again and to be rid of it: export, verify, restart, rm.

Each removal has a copy of the home to itself. Rounds, with warm caches.

python -m benchmarks.upkeep [--quick] [--pages N]
"""

from __future__ import annotations

import dataclasses
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import measure, report
from benchmarks.arena import Arena, Work, arena, note
from benchmarks.crawlers import Holdfast, crawlers
from benchmarks.measure import spread
from benchmarks.options import Options, from_command_line

if TYPE_CHECKING:
    from pathlib import Path

NAME = "upkeep"
ROUNDS = 3
READING = ("export", "verify")
REMOVING = ("restart", "rm")
COMMANDS = {
    "export": ("export", "-o", "{folder}/rows.jsonl", "--quiet"),
    "verify": ("verify",),
    "restart": ("restart", "--no-run", "--quiet"),
    "rm": ("rm", "--yes"),
}


@dataclass(frozen=True)
class Kept:
    """One run of one command on the whole job."""

    command: str
    pages: int
    wall_s: float
    cpu_s: float
    max_rss_mb: float
    exit_code: int

    @property
    def per_s(self) -> float:
        """Pages read or removed for each second from start to end of the command."""
        return self.pages / self.wall_s


def run(options: Options) -> report.Result:
    """Crawl a site, then read and remove what came of it."""
    crawlers(options, ["holdfast"])  # says what to do if it is missing
    holdfast = Holdfast(options.holdfast, options.concurrency)
    result = report.Result(NAME, versions={"holdfast": holdfast.version()})
    pages = options.sized(options.pages, full=50_000, quick=2_000)
    with arena(options, pages) as served, served.work() as work:
        crawl = measure.run(holdfast.command(served.site.start_url, work.folder), work.log, options.timeout_s)
        result.expect(crawl.exit_code == 0, f"a crawl to look after: exit code {crawl.exit_code}")
        kept = [one for _ in range(options.repeats or ROUNDS) for one in _round(served, work)]
        for name, words in COMMANDS.items():
            _summarise(result, name, [one for one in kept if one.command == name])
            result.commands[name] = report.relative(["holdfast", *words], work.folder)
    result.runs = [dataclasses.asdict(one) for one in kept]
    return result


def _round(served: Arena, work: Work) -> list[Kept]:
    home, copy = work.folder / "home", work.folder / "copy"
    made = [_timed(served, work, home, name) for name in READING]
    for name in REMOVING:
        shutil.copytree(home, copy)
        made.append(_timed(served, work, copy, name))
        shutil.rmtree(copy)
    return made


def _timed(served: Arena, work: Work, home: Path, name: str) -> Kept:
    words = [word.format(folder=work.folder) for word in COMMANDS[name]]
    command = [str(served.options.holdfast), "--home", str(home), *words]
    usage = measure.run(command, work.log, served.options.timeout_s)
    made = Kept(name, len(served.site.paths), **dataclasses.asdict(usage))
    note(f"{NAME}: {made}")
    return made


def _summarise(result: report.Result, name: str, runs: list[Kept]) -> None:
    result.table.append(
        {
            "command": f"holdfast {name}",
            "pages": runs[0].pages,
            "pages/s": spread(one.per_s for one in runs),
            "wall s": spread(one.wall_s for one in runs),
            "MB": spread(one.max_rss_mb for one in runs),
        }
    )
    failed = sum(one.exit_code != 0 for one in runs)
    result.expect(failed == 0, f"holdfast {name}: {failed} runs failed")


def main() -> None:
    """Run this benchmark alone."""
    report.show(run(from_command_line(__doc__)))


if __name__ == "__main__":
    main()
