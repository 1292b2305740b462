"""kill -9 at 30 % and at 60 % of the pages, then the same command to the end.

How far a crawl is, and what was fetched again, is judged by the server's log; what it lost or
wrote twice by its output.

    python -m benchmarks.kill [--quick] [--crawlers holdfast,scrapy]
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.accesslog import Fetched
from benchmarks.arena import Arena, Work, arena, note
from benchmarks.crawlers import Crawler, crawlers
from benchmarks.measure import Running
from benchmarks.options import Options, from_command_line

if TYPE_CHECKING:
    from benchmarks.rows import Rows

NAME = "kill"
KILL_AT = (0.3, 0.6)
CHECKPOINT_ITEMS = 10
POLL_S = 0.02


@dataclasses.dataclass(frozen=True)
class Leg:
    """One start of the command, up to its kill or its end."""

    killed: bool
    timed_out: bool
    exit_code: int
    wall_s: float
    to_first_fetch_s: float | None
    new: int
    again: int
    repeats: int


@dataclasses.dataclass(frozen=True)
class Trial:
    """A crawl that was killed on its way."""

    crawler: str
    round: int
    legs: list[Leg]
    unfetched: int
    output: Rows
    proof: str


def run(options: Options) -> report.Result:
    """Kill and resume each one."""
    names = ["holdfast", "scrapy", "crawlee-files", "crawlee-sql"]
    runners = crawlers(options, names)
    result = report.Result(NAME)
    with arena(options, options.sized(options.pages, full=5_000, quick=1_000)) as served:
        for number in range(options.sized(options.repeats, full=3, quick=1)):
            for crawler in runners:
                with served.work() as work:
                    trial = _trial(served, crawler, work, number)
                note(f"{NAME}: {trial}")
                result.runs.append(dataclasses.asdict(trial))
                result.table.append(_row(trial))
                if crawler.name == "holdfast":
                    _expect(result, trial, options.concurrency)
        for crawler in runners:
            result.versions[crawler.name] = crawler.version()
            command = crawler.command(served.site.start_url, options.folder)
            result.commands[crawler.name] = report.relative(command, options.folder)
    return result


def _trial(served: Arena, crawler: Crawler, work: Work, number: int) -> Trial:
    before, legs = Fetched(), list[Leg]()
    for share in (*KILL_AT, None):
        goal = None if share is None else int(share * len(served.site.paths))
        legs.append(_leg(served, crawler, work, before, goal))
        if not legs[-1].killed:
            break  # it thinks that it is done (or gave up), whatever is missing
    return Trial(
        crawler=crawler.name,
        round=number,
        legs=legs,
        unfetched=len(served.site.paths) - before.pages,
        output=crawler.rows(work.folder, served.site),
        proof=crawler.proof(work.folder),
    )


def _leg(served: Arena, crawler: Crawler, work: Work, before: Fetched, goal: int | None) -> Leg:
    """Start the command; kill it once `goal` different pages were served since the first start."""
    tail = served.tail()
    command = crawler.command(served.site.start_url, work.folder)
    deadline = time.monotonic() + served.options.timeout_s
    running = Running(command, work.log)
    killed = timed_out = False
    while not (killed or timed_out or running.ended(POLL_S)):
        here = tail.poll()
        killed = goal is not None and len(here.served.keys() | before.served.keys()) >= goal
        timed_out = time.monotonic() > deadline
    usage = running.kill() if killed or timed_out else running.wait()
    here = tail.settle()
    again = here.again(before)
    leg = Leg(
        killed=killed,
        timed_out=timed_out,
        exit_code=usage.exit_code,
        wall_s=usage.wall_s,
        to_first_fetch_s=here.first_at and here.first_at - running.started_at,
        new=len(here.served.keys() - before.served.keys()),
        again=again,
        repeats=here.repeats,
    )
    before.merge(here)
    return leg


def _row(trial: Trial) -> report.Row:
    def each(values: list[object]) -> str:
        return " ".join(map(str, values)) or "-"

    resumed = trial.legs[1:]
    firsts = [leg.to_first_fetch_s for leg in resumed]
    return {
        "crawler": trial.crawler,
        "kills": sum(leg.killed for leg in trial.legs),
        "lost": trial.output.missing,
        "never fetched": trial.unfetched,
        "double rows": trial.output.duplicates,
        "torn rows": trial.output.torn,
        "fetched again": each([leg.again for leg in resumed]),
        "to first fetch s": each(["-" if s is None else round(s, 2) for s in firsts]),
        "last leg s": trial.legs[-1].wall_s,
        "exit": trial.legs[-1].exit_code,
        "verify": trial.proof,
    }


def _expect(result: report.Result, trial: Trial, concurrency: int) -> None:
    allowed = CHECKPOINT_ITEMS + concurrency
    result.expect(trial.output.exact, f"each page once in the output: {trial.output}")
    result.expect(trial.unfetched == 0, f"each page fetched: {trial.unfetched} were not")
    for leg in trial.legs[1:]:
        result.expect(leg.again <= allowed, f"at most {allowed} fetched again: {leg.again}")
    result.expect(trial.proof == "holds", f"holdfast verify: {trial.proof}")
    result.expect(trial.legs[-1].exit_code == 0, f"exit code 0: {trial.legs[-1].exit_code}")


def main() -> None:
    """Run this benchmark alone."""
    report.show(run(from_command_line(__doc__)))


if __name__ == "__main__":
    main()
