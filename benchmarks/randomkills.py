"""Hundreds of kill -9 at random times, over crawls that must still end with each page once.

A third of the kills fall early after the start of the process (so that opening, recovery and
claiming are hit as well), the others at any time after its first fetch. When a crawl comes to
its end before the kills are spent, the next one begins in a new home.

    python -m benchmarks.randomkills [--kills 200] [--pages 20000] [--seed 1]
"""

from __future__ import annotations

import dataclasses
import time
from random import Random
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.accesslog import Fetched
from benchmarks.arena import Arena, Work, arena, note
from benchmarks.crawlers import Crawler, crawlers
from benchmarks.measure import Running
from benchmarks.options import Options, from_command_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.rows import Rows

NAME = "randomkills"
CHECKPOINT_ITEMS = 10
EARLY_SHARE = 1 / 3
EARLY_RANGE = 1.5  # early kills fall within so many times the last time to the first fetch
PAGES_PER_S = 1_000  # a guess at a crawl's speed, to spread the kills over the crawl
ATTEMPTS = 10  # crawls in a row that may end before their first kill
POLL_S = 0.002


@dataclasses.dataclass
class Crawl:
    """One crawl from nothing to its end, with what was done to it."""

    kills: int = 0
    kills_before_fetch: int = 0
    startup_s: float = 0.3
    fetched: Fetched = dataclasses.field(default_factory=Fetched)
    again: list[int] = dataclasses.field(default_factory=list)
    exit_code: int | None = None
    output: Rows | None = None
    proof: str = "-"


def run(options: Options) -> report.Result:
    """Kill until the kills are spent, then let the last crawl come to its end."""
    kills = options.sized(options.kills, full=200, quick=20)
    pages = options.sized(options.pages, full=20_000, quick=2_000)
    crawler = crawlers(options, ["holdfast"])[0]
    rng = Random(options.seed)
    result = report.Result(NAME, versions={crawler.name: crawler.version()})
    mean_s = max(0.02, pages / kills / PAGES_PER_S)
    left, unhurt = kills, 0
    with arena(options, pages) as served:
        command = crawler.command(served.site.start_url, options.folder)
        result.commands[crawler.name] = report.relative(command, options.folder)
        while left > 0 and unhurt < ATTEMPTS:
            with served.work() as work:
                crawl = _crawl(served, crawler, work, left, lambda s: _When(rng, mean_s, s))
                missed = len(result.missed)
                _expect(result, crawl, served)
                work.keep = len(result.missed) > missed
            result.table.append(_row(crawler, crawl, served))
            result.runs.append({**result.table[-1], "again_each": crawl.again})
            left -= crawl.kills
            note(f"{NAME}: {result.table[-1]}")
            unhurt = 0 if crawl.kills else unhurt + 1
            if crawl.exit_code != 0:
                break
    result.expect(left <= 0, f"{kills} kills: {left} were not spent")
    return result


def _crawl(served: Arena, crawler: Crawler, work: Work, left: int, draw: Callable[[float], _When]) -> Crawl:
    crawl = Crawl()
    while crawl.exit_code is None:
        when = draw(crawl.startup_s) if crawl.kills < left else None
        _leg(served, crawler, work, crawl, when)
    crawl.output = crawler.rows(work.folder, served.site)
    crawl.proof = crawler.proof(work.folder)
    return crawl


class _When:
    """The moment of the next kill."""

    def __init__(self, rng: Random, mean_s: float, startup_s: float) -> None:
        self.early = rng.random() < EARLY_SHARE
        self.delay_s = rng.random() * (EARLY_RANGE * startup_s if self.early else 2 * mean_s)


def _leg(served: Arena, crawler: Crawler, work: Work, crawl: Crawl, when: _When | None) -> None:
    """Start the command; let it end, or kill it when it is time."""
    tail = served.tail()
    started = time.monotonic()
    running = Running(crawler.command(served.site.start_url, work.folder), work.log)
    kill_at = started + served.options.timeout_s
    if when is not None and when.early:
        kill_at = started + when.delay_s
    waiting = when is not None and not when.early
    while not running.ended(POLL_S) and time.monotonic() < kill_at:
        if waiting and when is not None and tail.poll().pages:
            kill_at, waiting = time.monotonic() + when.delay_s, False
    ended = running.ended()
    usage = running.wait() if ended else running.kill()
    here = tail.settle(0.02)
    if here.first_at is not None:
        crawl.startup_s = max(0.02, here.first_at - running.started_at)
    if crawl.kills:
        crawl.again.append(here.again(crawl.fetched))
    crawl.fetched.merge(here)
    if ended or when is None or waiting:  # the end, or nothing fetched until the timeout
        crawl.exit_code = usage.exit_code
    else:
        crawl.kills += 1
        crawl.kills_before_fetch += not here.pages


def _row(crawler: Crawler, crawl: Crawl, served: Arena) -> report.Row:
    return {
        "crawler": crawler.name,
        "pages": len(served.site.paths),
        "kills": crawl.kills,
        "before first fetch": crawl.kills_before_fetch,
        "lost": crawl.output and crawl.output.missing,
        "never fetched": len(served.site.paths) - crawl.fetched.pages,
        "double rows": crawl.output and crawl.output.duplicates,
        "again per kill": round(sum(crawl.again) / max(1, crawl.kills), 2),
        "at most": max(crawl.again, default=0),
        "exit": crawl.exit_code,
        "verify": crawl.proof,
    }


def _expect(result: report.Result, crawl: Crawl, served: Arena) -> None:
    allowed = CHECKPOINT_ITEMS + served.options.concurrency
    most = max(crawl.again, default=0)
    result.expect(crawl.exit_code == 0, f"exit code 0: {crawl.exit_code}")
    result.expect(
        crawl.output is not None and crawl.output.exact,
        f"each page once in the output: {crawl.output}",
    )
    result.expect(crawl.fetched.pages == len(served.site.paths), "each page fetched")
    result.expect(most <= allowed, f"at most {allowed} fetched again after a kill: {most}")
    result.expect(crawl.proof in {"holds", "-"}, f"verify: {crawl.proof}")


def main() -> None:
    """Run this benchmark alone."""
    report.show(run(from_command_line(__doc__)))


if __name__ == "__main__":
    main()
