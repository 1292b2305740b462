"""What ten million known URLs cost: ledger size, commit time, resume, memory, speed.

Resuming and crawling are measured in rounds, the large home and an empty one in turn, with ratios within each round.
Caches are warm, but for one first fetch with the page cache dropped, which takes root.

python -m benchmarks.scale [--quick] [--pages KNOWN]
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import measure, report
from benchmarks.arena import Arena, Work, arena, note
from benchmarks.crawlers import Holdfast, crawlers
from benchmarks.measure import Spread, spread
from benchmarks.options import REPOSITORY, Options, from_command_line

NAME = "scale"
SITE_PAGES = 60_000  # more than all rounds fetch: real pages must not run out
CRAWLED = 4_000
ROUNDS = 3
SMALL = 10_000
FILLED_PAGES = 2_000  # done by the timed commits of scale_fill
MOST = {"first fetch s": 1.0, "resume MB": 300.0, "commit ratio": 4.0, "bytes per URL": 200.0}
LEAST_SPEED = 0.6


@dataclass(frozen=True)
class Filled:
    """What scale_fill found while it filled a home."""

    known: int
    fill_s: float
    bytes_per_url: float
    commit_ms: list[float]

    @property
    def median_ms(self) -> float:
        """Of one commit of 10 pages with 500 links, 100 of them new."""
        return statistics.median(self.commit_ms)


@dataclass(frozen=True)
class Round:
    """One resume, one crawl in the large home and one in an empty one."""

    first_fetch_s: float
    resume_mb: float
    pages_per_s_full: dict[str, float]
    pages_per_s_empty: dict[str, float]

    def share(self, clock: str) -> float:
        """The speed in the large home over that in the empty one."""
        return self.pages_per_s_full[clock] / self.pages_per_s_empty[clock]


def run(options: Options) -> report.Result:
    """Fill a small home and a large one, then resume and crawl in the large one and in empty ones."""
    crawlers(options, ["holdfast"])
    holdfast = Holdfast(options.holdfast, options.concurrency)
    result = report.Result(NAME, versions={"holdfast": holdfast.version()})
    known = options.sized(options.pages, full=10_000_000, quick=300_000)
    rounds = options.repeats or ROUNDS
    with arena(options, SITE_PAGES) as served, served.work() as small, served.work() as large:
        little = _fill(served, small, SMALL, SMALL // 10)
        much = _fill(served, large, known, known // 10)
        cold_s = _resume(served, holdfast, large)[0] if _drop_page_cache() else None
        measured = [_round(served, holdfast, large, first=number % 2 == 0) for number in range(rounds)]
    _summarise(result, known, measured, cold_s)
    _say_commits(result, little, much)
    result.runs += [dataclasses.asdict(one) for one in measured]
    return result


def _round(served: Arena, holdfast: Holdfast, large: Work, *, first: bool) -> Round:
    """`first`: whether the large home comes first; else the empty one."""
    first_s, rss_mb = _resume(served, holdfast, large)
    with served.work() as new:
        full = _speed(served, holdfast, large, FILLED_PAGES) if first else {}
        empty = _speed(served, holdfast, new, 0)
        full = full or _speed(served, holdfast, large, FILLED_PAGES)
    made = Round(first_s, rss_mb, full, empty)
    note(f"{NAME}: {made}")
    return made


def _summarise(result: report.Result, known: int, rounds: list[Round], cold_s: float | None) -> None:
    for name, values in (
        ("first fetch s", [one.first_fetch_s for one in rounds]),
        ("resume MB", [one.resume_mb for one in rounds]),
    ):
        _at_most(result, name, known, spread(values))
    cold = "not measured: that takes root" if cold_s is None else round(cold_s, 3)
    result.table.append({"what": f"first fetch s, {known:,} known, cold caches", "measured": cold})
    result.runs.append({"cold_first_fetch_s": cold_s})
    for clock in ("CPU", "wall"):
        share = spread(one.share(clock) for one in rounds)
        row = f"pages per {clock} s, {known:,} known / empty"
        result.table.append({"what": row, "measured": share, "target": f">= {LEAST_SPEED}"})
        result.expect(share.median >= LEAST_SPEED, f"{row} at least {LEAST_SPEED}: {share}")


def _say_commits(result: report.Result, little: Filled, much: Filled) -> None:
    ratio = much.median_ms / little.median_ms
    _at_most(result, "commit ratio", much.known, spread([ratio]))
    _at_most(result, "bytes per URL", much.known, spread([much.bytes_per_url]))
    for filled in (little, much):
        quantiles = statistics.quantiles(filled.commit_ms, n=20)
        result.table.append(
            {
                "what": f"commit ms at {filled.known:,} known: median, 5-95 %",
                "measured": f"{filled.median_ms:.2f} ({quantiles[0]:.2f}-{quantiles[-1]:.2f})",
            }
        )
        result.runs.append({"known": filled.known, "fill_s": filled.fill_s, "commit_ms": filled.commit_ms})


def _at_most(result: report.Result, name: str, known: int, value: Spread) -> None:
    result.table.append({"what": f"{name}, {known:,} known", "measured": value, "target": f"<= {MOST[name]}"})
    result.expect(value.median <= MOST[name], f"{name} at most {MOST[name]}: {value}")


def _drop_page_cache() -> bool:
    """Whether the next read comes from the disk."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("1", encoding="ascii")
    except OSError:
        return False
    return True


def _fill(served: Arena, work: Work, known: int, queued: int) -> Filled:
    note(f"filling a ledger with {known:,} URLs")
    python = served.options.holdfast.parent / "python"
    home = work.folder / "home"
    command = [python, "-m", "benchmarks.scale_fill", home, served.site.start_url, str(known), str(queued)]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return Filled(known, **json.loads(done.stdout))


def _resume(served: Arena, holdfast: Holdfast, work: Work) -> tuple[float, float]:
    """Seconds to the first page in the access log, and the memory at the end of a few more seconds."""
    tail = served.tail()
    running = measure.Running(holdfast.command(served.site.start_url, work.folder), work.log)
    fetched = tail.poll()
    while fetched.first_at is None and not running.ended(0.01):
        fetched = tail.poll()
    first_s = (fetched.first_at or time.time() + 999) - running.started_at
    running.ended(3)
    rss_mb = _peak_mb(running.pid)
    running.kill()
    return first_s, rss_mb


def _peak_mb(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as status:  # noqa: PTH123 - no file on a disk
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmHWM"].split()[0]) / 1024


def _speed(served: Arena, holdfast: Holdfast, work: Work, done: int) -> dict[str, float]:
    """Pages per CPU second and per wall second of a crawl that ends at a page limit."""
    tail = served.tail()
    limit = ["--max-pages", str(done + CRAWLED + _crawled(holdfast, work, done))]
    usage = measure.run([*holdfast.command(served.site.start_url, work.folder), *limit], work.log)
    pages = tail.settle().pages
    return {"CPU": pages / usage.cpu_s, "wall": pages / usage.wall_s}


def _crawled(holdfast: Holdfast, work: Work, done: int) -> int:
    """Pages that the job has beyond those of the filling."""
    if not done:
        return 0
    command = [str(holdfast.program), "--home", str(work.folder / "home"), "show", "--json"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(json.loads(shown.stdout)["pages"]) - done


def main() -> None:
    """Run this benchmark alone."""
    report.show(run(from_command_line(__doc__)))


if __name__ == "__main__":
    main()
