"""What ten million known URLs cost: ledger size, commit time, resume, memory, speed.

python -m benchmarks.scale [--quick] [--pages KNOWN]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from dataclasses import dataclass

from benchmarks import measure, report
from benchmarks.arena import Arena, Work, arena, note
from benchmarks.crawlers import Holdfast, crawlers
from benchmarks.options import REPOSITORY, Options, from_command_line

NAME = "scale"
SITE_PAGES = 20_000
CRAWLED = 4_000
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


def run(options: Options) -> report.Result:
    """Fill a small home and a large one, then resume and crawl in the large one and in an empty one."""
    crawlers(options, ["holdfast"])
    holdfast = Holdfast(options.holdfast, options.concurrency)
    result = report.Result(NAME, versions={"holdfast": holdfast.version()})
    known = options.sized(options.pages, full=10_000_000, quick=300_000)
    with (
        arena(options, SITE_PAGES) as served,
        served.work() as small,
        served.work() as large,
        served.work() as new,
    ):
        little = _fill(served, small, SMALL, SMALL // 10)
        much = _fill(served, large, known, known // 10)
        first_s, rss_mb = _resume(served, holdfast, large)
        full = _speed(served, holdfast, large, FILLED_PAGES)
        empty = _speed(served, holdfast, new, 0)
    ratio = much.median_ms / little.median_ms
    measured = {
        "first fetch s": first_s,
        "resume MB": rss_mb,
        "commit ratio": ratio,
        "bytes per URL": much.bytes_per_url,
    }
    for name, value in measured.items():
        result.table.append(
            {"what": f"{name}, {known:,} known", "measured": round(value, 3), "target": f"<= {MOST[name]}"}
        )
        result.expect(value <= MOST[name], f"{name} at most {MOST[name]}: {value:.3f}")
    for name, there, here in zip(("CPU", "wall"), full, empty, strict=True):
        share = there / here
        row = f"pages per {name} s, {known:,} known / empty"
        result.table.append({"what": row, "measured": round(share, 3), "target": f">= {LEAST_SPEED}"})
        result.expect(share >= LEAST_SPEED, f"{row} at least {LEAST_SPEED}: {share:.3f}")
    for filled in (little, much):
        quartiles = statistics.quantiles(filled.commit_ms, n=20)
        result.table.append(
            {
                "what": f"commit ms at {filled.known:,} known: median, 5-95 %",
                "measured": f"{filled.median_ms:.2f} ({quartiles[0]:.2f}-{quartiles[-1]:.2f})",
                "target": "",
            }
        )
        result.runs.append({"known": filled.known, "fill_s": filled.fill_s, "commit_ms": filled.commit_ms})
    result.runs.append({"pages_per_cpu_and_wall_s": {"known": full, "empty": empty}})
    return result


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


def _speed(served: Arena, holdfast: Holdfast, work: Work, done: int) -> tuple[float, float]:
    """Pages per CPU second and per wall second of a crawl that ends at a page limit."""
    tail = served.tail()
    limit = ["--max-pages", str(done + CRAWLED + _crawled(holdfast, work, done))]
    usage = measure.run([*holdfast.command(served.site.start_url, work.folder), *limit], work.log)
    pages = tail.settle().pages
    return pages / usage.cpu_s, pages / usage.wall_s


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
