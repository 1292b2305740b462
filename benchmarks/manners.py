"""The independent judge of manners: by the web server's clock, what was under way on each host, and when it began."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.accesslog import NOT_PAGES, OK

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Manners:
    """What the log of one crawl says. robots.txt counts as under way, and is no page."""

    pages: int
    repeats: int
    hosts: int
    most_at_once: int
    """Requests under way on one host."""
    least_gap_s: float | None
    """Between the beginnings of two pages of one host."""


def manners(log: Path, begun: int) -> Manners:
    """Read the log from that offset on, once the server has written all of it. Lines: host, path, status, end, took."""
    size = -1
    while size != log.stat().st_size:
        size = log.stat().st_size
        time.sleep(0.1)
    spans: dict[str, list[tuple[float, float, bool]]] = defaultdict(list)
    paths: dict[str, list[str]] = defaultdict(list)
    with log.open("rb") as file:
        file.seek(begun)
        for line in file.read().decode("utf-8", "replace").splitlines():
            host, path, status, end, took = line.split(" ")
            page = path not in NOT_PAGES and status == OK
            spans[host].append((float(end) - float(took), float(end), page))
            if page:
                paths[host].append(path)
    gaps = [gap for one in spans.values() for gap in _gaps(one)]
    return Manners(
        pages=sum(len(set(one)) for one in paths.values()),
        repeats=sum(len(one) - len(set(one)) for one in paths.values()),
        hosts=len(spans),
        most_at_once=max((_most(one) for one in spans.values()), default=0),
        least_gap_s=min(gaps, default=None),
    )


def _gaps(spans: list[tuple[float, float, bool]]) -> list[float]:
    starts = sorted(start for start, _, page in spans if page)
    return [later - earlier for earlier, later in itertools.pairwise(starts)]


def _most(spans: list[tuple[float, float, bool]]) -> int:
    """The most that overlapped; one that ends in the millisecond in which another begins does not."""
    steps = sorted([(start, 1) for start, _, _ in spans] + [(end, -1) for _, end, _ in spans])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most
