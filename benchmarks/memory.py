"""Whether memory stays flat in a long crawl: what the crawl holds at its ten thousandth page and from there on.

python -m benchmarks.memory [--quick] [--pages N]
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from benchmarks import report
from benchmarks.arena import Arena, Work, arena, note
from benchmarks.crawlers import Holdfast, crawlers
from benchmarks.measure import Running
from benchmarks.options import Options, from_command_line

NAME = "memory"
FLAT = 0.2  # so much more or less than at the first mark
LOOK_EVERY_S = 0.25


@dataclass(frozen=True)
class Sample:
    """What the crawl held after so many different pages had been served."""

    pages: int
    rss_mb: float


def run(options: Options) -> report.Result:
    """Crawl one large site, and look at it all the time."""
    crawlers(options, ["holdfast"])  # says what to do if it is missing
    holdfast = Holdfast(options.holdfast, options.concurrency)
    result = report.Result(NAME, versions={"holdfast": holdfast.version()})
    pages = options.sized(options.pages, full=200_000, quick=20_000)
    with arena(options, pages) as served, served.work() as work:
        samples, exit_code = _watch(served, holdfast, work)
    first = pages // 20
    after = [sample for sample in samples if sample.pages >= first]
    result.expect(exit_code == 0 and bool(after), f"the crawl to end well: exit code {exit_code}")
    result.runs = [dataclasses.asdict(sample) for sample in samples]
    if after:
        start, most, least = after[0].rss_mb, max(s.rss_mb for s in after), min(s.rss_mb for s in after)
        result.table += [
            {"at page": sample.pages, "MB": sample.rss_mb, "of the first": sample.rss_mb / start}
            for sample in _spread_over(after, pages)
        ]
        result.expect(most <= (1 + FLAT) * start, f"at most {1 + FLAT:g} x {start:.0f} MB: {most:.0f} MB")
        result.expect(least >= (1 - FLAT) * start, f"at least {1 - FLAT:g} x {start:.0f} MB: {least:.0f} MB")
    return result


def _watch(served: Arena, holdfast: Holdfast, work: Work) -> tuple[list[Sample], int]:
    tail = served.tail()
    running = Running(holdfast.command(served.site.start_url, work.folder), work.log)
    status = Path(f"/proc/{running.pid}/status")
    samples: list[Sample] = []
    while not running.ended(LOOK_EVERY_S):
        if (rss_mb := _rss_mb(status)) is not None:
            samples.append(Sample(tail.poll().pages, rss_mb))
    usage = running.wait()
    note(f"{NAME}: {tail.settle().pages} pages, {usage}")
    return samples, usage.exit_code


def _rss_mb(status: Path) -> float | None:
    """What the process holds in memory now; None once it is gone."""
    for line in status.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return None


def _spread_over(samples: list[Sample], pages: int) -> list[Sample]:
    """The first sample at or after each tenth of the way."""
    marks = [samples[0].pages, *(pages * tenth // 10 for tenth in range(1, 11))]
    found = (next((sample for sample in samples if sample.pages >= mark), None) for mark in marks)
    return list(dict.fromkeys([sample for sample in found if sample is not None] + samples[-1:]))


def main() -> None:
    """Run this benchmark alone."""
    report.show(run(from_command_line(__doc__)))


if __name__ == "__main__":
    main()
