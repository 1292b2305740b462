"""A broad crawl: thousands of hosts on loopback addresses, beside one site of as many pages; and its manners.

Each host is an address 127.x.y.z with ten small pages of its own; one nginx listens for all of them. Rounds alternate
between the crawl of all hosts and that of one host that has all pages, with the same concurrency and no delay: what is
measured is what many hosts cost. Then nginx's own clock judges two more crawls: one with a delay (how far apart did two
requests to a host begin?), and one of hosts that answer slowly (how many were under way on a host?).

    python -m benchmarks.broad [--quick] [--hosts 2000]
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import measure, report
from benchmarks.arena import note
from benchmarks.manners import Manners, manners
from benchmarks.measure import spread
from benchmarks.options import Options, options, parser
from benchmarks.server import serving_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "broad"
TARGET = 0.7  # of the single site's pages per CPU second and per wall second
HOSTS = 2_000
PAGES = 10
DELAY_S = 1.0
WAY_S = 0.1  # the first of two requests may be so much longer on its way to the server than the second
PER_HOST = 2
FREE, POLITE, SLOW = (0.0, None), (DELAY_S, PER_HOST), (0.0, PER_HOST)
TEXT = "Whatever was found is kept, whatever was kept is found again. "
LINKS, WORDS = 40, 180


@dataclasses.dataclass(frozen=True)
class Crawled:
    """One crawl."""

    what: str
    round: int
    pages: int
    repeats: int
    hosts: int
    most_at_once: int
    least_gap_s: float | None
    wall_s: float
    cpu_s: float
    max_rss_mb: float
    exit_code: int

    @property
    def per_cpu_s(self) -> float:
        """Pages served for each second of CPU time."""
        return self.pages / self.cpu_s

    @property
    def per_wall_s(self) -> float:
        """Pages served for each second from start to end of the command."""
        return self.pages / self.wall_s


def run(asked: Options, hosts: int | None = None) -> report.Result:
    """Alternate, then look at the manners."""
    count = hosts or asked.sized(None, full=HOSTS, quick=HOSTS // 10)
    result = report.Result(NAME)
    with tempfile.TemporaryDirectory(prefix="holdfast-broad-", dir=_folder(asked)) as name:
        root = Path(name)
        root.chmod(0o755)
        _write_hosts(root / "site", count)
        with serving_hosts(root / "site", asked.port) as log:
            arms = {"one site": _urls(asked.port, 0, 1), "hosts": _urls(asked.port, 1, count)}
            crawled = [
                _crawl(asked, log, (what, number), arms[what], FREE)
                for number in range(asked.sized(asked.repeats, full=3, quick=1))
                for what in sorted(arms, reverse=bool(number % 2))
            ]
            polite = _crawl(asked, log, ("hosts, polite", 0), arms["hosts"], POLITE)
            slow = _crawl(asked, log, ("slow hosts", 0), _urls(asked.port + 1, 1, count // 10), SLOW)
    _summarise(result, crawled, (polite, slow), count)
    return result


def address(host: int) -> str:
    """The loopback address of a host; 127.1.0.0 is the single site's."""
    return f"127.{1 + host // 65_536}.{host // 256 % 256}.{host % 256}"


def _urls(port: int, first: int, count: int) -> list[str]:
    return [f"http://{address(n)}:{port}/" for n in range(first, first + count)]


def _folder(asked: Options) -> Path:
    asked.folder.mkdir(parents=True, exist_ok=True)
    return asked.folder


def _write_hosts(root: Path, count: int) -> None:
    """All hosts serve the same files; the single site has as many of the same kind in its own folder."""
    (root / "many").mkdir(parents=True)
    (root / "one").mkdir()
    for folder, pages in (("many", PAGES), ("one", PAGES * count)):
        for page in range(pages):
            name = "index.html" if page == 0 else f"{page}.html"
            (root / folder / name).write_text(_page(page, pages), encoding="ascii")
        (root / folder / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n", encoding="ascii")


def _page(page: int, pages: int) -> str:
    near = [target for target in range(10 * page + 1, 10 * page + 11) if target < pages]
    near += [(page * 7 + step * step) % pages for step in range(LINKS - len(near))]
    links = "\n".join(
        f'<li><a href="/{f"{target}.html" if target else ""}">page {target}</a></li>' for target in near
    )
    return (
        f"<!doctype html><html lang=en><title>Page {page}</title>\n<h1>Page {page}</h1>\n"
        f"<p>{TEXT * WORDS}</p>\n<ul>{links}</ul></html>\n"
    )


def _crawl(
    asked: Options,
    log: Path,
    which: tuple[str, int],
    urls: Sequence[str],
    pace: tuple[float, int | None],
) -> Crawled:
    folder = Path(tempfile.mkdtemp(prefix="crawl-", dir=asked.folder))
    begun = log.stat().st_size
    delay_s, per_host = pace
    many = 8 * asked.concurrency if per_host else asked.concurrency
    command = [
        str(asked.holdfast),
        "--home",
        str(folder / "home"),
        "crawl",
        "--quiet",
        "--delay",
        str(delay_s),
    ]
    # The hosts have no sitemaps: asking for them would be another request for each ten pages.
    command += ["--no-sitemaps"]
    command += ["--concurrency", str(many), "--per-host", str(per_host or many)]
    usage = measure.run([*command, *urls], folder / "messages.log", asked.timeout_s)
    seen: Manners = manners(log, begun)
    shutil.rmtree(folder)
    crawled = Crawled(
        what=which[0],
        round=which[1],
        pages=seen.pages,
        repeats=seen.repeats,
        hosts=seen.hosts,
        most_at_once=seen.most_at_once,
        least_gap_s=seen.least_gap_s,
        **dataclasses.asdict(usage),
    )
    note(f"{NAME}: {crawled}")
    return crawled


def _summarise(
    result: report.Result, crawled: list[Crawled], judged: tuple[Crawled, Crawled], count: int
) -> None:
    result.runs = [dataclasses.asdict(one) for one in (*crawled, *judged)]
    broad = [one for one in crawled if one.what == "hosts"]
    single = {one.round: one for one in crawled if one.what == "one site"}
    for one in (*crawled, *judged):
        pages = PAGES * (count if one.what != "slow hosts" else count // 10)
        exact = one.pages == pages and one.repeats == one.exit_code == 0
        result.expect(exact, f"each page of each host once: {one}")
    polite, slow = judged
    for what, runs in (
        ("one site", list(single.values())),
        ("hosts", broad),
        (polite.what, [polite]),
        (slow.what, [slow]),
    ):
        row: dict[str, object] = {
            "crawl of": what,
            "hosts": runs[0].hosts,
            "pages": runs[0].pages,
            "pages/CPU s": spread(one.per_cpu_s for one in runs),
            "pages/wall s": spread(one.per_wall_s for one in runs),
            "MB": spread(one.max_rss_mb for one in runs),
        }
        if what == "hosts":
            by_cpu = spread(one.per_cpu_s / single[one.round].per_cpu_s for one in runs)
            by_wall = spread(one.per_wall_s / single[one.round].per_wall_s for one in runs)
            row |= {"x one site, CPU": by_cpu, "x one site, wall": by_wall}
            result.expect(by_cpu.median >= TARGET, f"{TARGET} x one site per CPU second: {by_cpu}")
            result.expect(by_wall.median >= TARGET, f"{TARGET} x one site, wall: {by_wall}")
        if runs == [polite]:
            row["least gap s"] = polite.least_gap_s
        if runs == [slow]:
            row["at once per host"] = slow.most_at_once
        result.table.append(row)
    gap = polite.least_gap_s
    result.expect(
        gap is not None and gap >= DELAY_S - WAY_S, f"{DELAY_S} s between two pages of a host: {gap}"
    )
    most = slow.most_at_once
    result.expect(most == PER_HOST, f"{PER_HOST} at once on a host that answers slowly, and no more: {most}")


def main() -> None:
    """Run this benchmark alone."""
    arguments = parser(__doc__)
    arguments.add_argument("--hosts", type=int, help=f"how many ({HOSTS}; quick: {HOSTS // 10})")
    parsed = arguments.parse_args()
    report.show(run(options(parsed), parsed.hosts))


if __name__ == "__main__":
    main()
