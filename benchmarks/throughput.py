"""Pages per CPU second and per wall second: Holdfast, Scrapy with JOBDIR, a bare loop.

Scrapy and the bare loop write their rows, text included, as they go. Holdfast keeps rows and bodies, and makes the text
when it exports: so `holdfast -o` is measured beside it, which does both. The targets are those of the crawl itself.

They alternate, and ratios are taken within each round, so that a machine that is slower for a
while is slower for all of them.

    python -m benchmarks.throughput [--quick] [--crawlers holdfast,bare]
"""

from __future__ import annotations

import dataclasses

from benchmarks import measure, report
from benchmarks.arena import Arena, arena, note
from benchmarks.crawlers import Crawler, crawlers
from benchmarks.measure import spread
from benchmarks.options import Options, from_command_line

NAME = "throughput"
TARGETS = {"scrapy": 15.0, "bare": 0.5}  # Holdfast's pages per CPU second over theirs
WALL_TARGETS = {"bare": 0.5}


@dataclasses.dataclass(frozen=True)
class Crawled:
    """One crawl of the whole site."""

    crawler: str
    round: int
    pages: int
    repeats: int
    lost: int
    double_rows: int
    wall_s: float
    cpu_s: float
    max_rss_mb: float
    exit_code: int

    @property
    def per_cpu_s(self) -> float:
        """Different pages served for each second of CPU time."""
        return self.pages / self.cpu_s

    @property
    def per_wall_s(self) -> float:
        """Different pages served for each second from start to end of the command."""
        return self.pages / self.wall_s


def run(options: Options) -> report.Result:
    """Crawl the site with each one, several rounds."""
    runners = crawlers(options, ["holdfast", "holdfast -o", "scrapy", "bare"])
    rounds = options.sized(options.repeats, full=3, quick=1)
    crawled: list[Crawled] = []
    result = report.Result(NAME)
    with arena(options, options.sized(options.pages, full=20_000, quick=1_000)) as served:
        for number in range(rounds):
            turn = number % len(runners)
            for crawler in runners[turn:] + runners[:turn]:
                crawled.append(_crawl(served, crawler, number))
                note(f"{NAME}: {crawled[-1]}")
        for crawler in runners:
            result.versions[crawler.name] = crawler.version()
            command = crawler.command(served.site.start_url, options.folder)
            result.commands[crawler.name] = report.relative(command, options.folder)
    result.runs = [dataclasses.asdict(one) for one in crawled]
    for one in crawled:
        exact = one.lost == one.double_rows == one.exit_code == 0
        result.expect(exact or not one.crawler.startswith("holdfast"), f"each page once: {one}")
    for crawler in runners:
        _summarise(result, crawler.name, crawled)
    return result


def _crawl(served: Arena, crawler: Crawler, number: int) -> Crawled:
    with served.work() as work:
        tail = served.tail()
        command = crawler.command(served.site.start_url, work.folder)
        usage = measure.run(command, work.log, served.options.timeout_s)
        fetched = tail.settle()
        rows = crawler.rows(work.folder, served.site)
        work.keep = usage.exit_code != 0
        return Crawled(
            crawler=crawler.name,
            round=number,
            pages=fetched.pages,
            repeats=fetched.repeats,
            lost=rows.missing,
            double_rows=rows.duplicates,
            **dataclasses.asdict(usage),
        )


def _summarise(result: report.Result, name: str, crawled: list[Crawled]) -> None:
    own = [one for one in crawled if one.crawler == name]
    ours = {one.round: one for one in crawled if one.crawler == "holdfast"}
    row: dict[str, object] = {
        "crawler": name,
        "pages": own[0].pages,
        "pages/CPU s": spread(one.per_cpu_s for one in own),
        "pages/wall s": spread(one.per_wall_s for one in own),
        "MB": spread(one.max_rss_mb for one in own),
        "lost": max(one.lost for one in own),
        "double rows": max(one.double_rows for one in own),
    }
    if ours:
        by_cpu = spread(ours[one.round].per_cpu_s / one.per_cpu_s for one in own)
        by_wall = spread(ours[one.round].per_wall_s / one.per_wall_s for one in own)
        row |= {"holdfast x CPU": by_cpu, "holdfast x wall": by_wall}
        needed, needed_wall = TARGETS.get(name, 0), WALL_TARGETS.get(name, 0)
        result.expect(by_cpu.median >= needed, f"{needed} x {name} per CPU second: {by_cpu}")
        result.expect(by_wall.median >= needed_wall, f"{needed_wall} x {name}, wall: {by_wall}")
    result.table.append(row)


def main() -> None:
    """Run this benchmark alone."""
    report.show(run(from_command_line(__doc__)))


if __name__ == "__main__":
    main()
