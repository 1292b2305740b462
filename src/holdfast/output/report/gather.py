"""A job's figures, gathered in three passes that hold no snapshot and no memory that grows with the job.

First its commits and its items, counted in slices; then its records, a page at a time; then, if anything failed, the
stored pages once more for their links. What is listed is a bounded number of the largest; everything is counted.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.domain.errors import JobHeld
from holdfast.domain.item import ItemStatus
from holdfast.domain.job import Job
from holdfast.domain.url import fingerprint, origin
from holdfast.output.report.figures import (
    Copies,
    Depth,
    Duplicates,
    Essentials,
    Figures,
    Seen,
    Share,
    Top,
)
from holdfast.output.report.links import Reader, Wanted
from holdfast.output.report.redirects import Hops
from holdfast.output.report.timeline import Story, claims_of
from holdfast.output.report.tops import Classes, Largest, Tallied
from holdfast.output.report.tree import Tree
from holdfast.ports.clock import Clock
from holdfast.ports.jobs import Failure, Jobs, Sort
from holdfast.ports.ledger import Ledger, RecordRow
from holdfast.ports.pipeline import Pipeline
from holdfast.ports.segments import DamagedRecord, Segments
from holdfast.ports.workers import Workers

TOP: Final = 20
BROKEN: Final = 100
SECTIONS: Final = 24
EXAMPLES: Final = 3
DEEPEST: Final = 30
MOST_FAILED: Final = 50_000
"""Of so many failed addresses the holders are sought."""
MOST_GROUPS: Final = 50_000
_EVENTS: Final = 10_000
_COMMITS: Final = 1_000
_ROWS: Final = 500
_BODIES: Final = 50
_TIMES_MS: Final = (0, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000)
_SIZES: Final = (0, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)

OnProgress = Callable[[str, int, int], None]
"""What is being done, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where figures come from."""

    jobs: Jobs
    ledger: Ledger
    segments: Segments
    pipeline: Pipeline
    workers: Workers
    clock: Clock
    see: Callable[[RecordRow], Seen]
    """What there is to see in a record."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a report is asked for, and what only its caller knows."""

    read_links: bool
    """Read the stored pages for all that hold a broken link."""
    words: tuple[tuple[str, str], ...]
    """What the job was asked for."""
    version: str


async def gather(sources: Sources, job: Job, asked: Asked, on_progress: OnProgress) -> Figures:
    """The job's figures as they are now. JobHeld if it is restarted or removed meanwhile."""
    began = sources.clock.monotonic()
    story = await _story(sources, job)
    sorts = await sources.jobs.sorts(job.id, deepest=DEEPEST)
    broken = await _failures(sources.jobs, job)
    records = await _records(sources, job, on_progress)
    failed = {item.url: item.reason for item in broken}
    wanted = Wanted(broken, records.hops.leading(failed))
    reader = Reader(sources.segments, sources.pipeline, job, await sources.ledger.cursor(job.id))
    if wanted and asked.read_links:
        await _read_links(sources, job, reader, wanted, on_progress)
    else:
        wanted.note_first()
    known = await _known(sources.ledger, job, records.hops.ends())
    statuses = await sources.jobs.statuses(job.id)
    duplicates = await asyncio.to_thread(records.duplicates, sources.segments, job)
    pauses = await sources.jobs.pauses(job.id)
    job = await _as_it_stands(sources, job)
    running = await _running(sources, job)
    now = sources.clock.wall()
    return Figures(
        about=replace(
            _essentials(job, asked),
            running=running,
            paused_s=pauses.total_s(now),
            made_at=now,
            gathered_s=sources.clock.monotonic() - began,
        ),
        counters=job.counters,
        timeline=story.told(running=running),
        statuses=tuple(Share(str(status), count) for status, count in statuses.items()),
        depths=_depths(sorts),
        content_types=records.content_types.shares(TOP),
        hosts=records.hosts.shares(TOP),
        sections=records.tree.section(SECTIONS),
        times=records.times.histogram(),
        sizes=records.sizes.histogram(),
        slowest=records.slowest.ordered(),
        biggest=records.biggest.ordered(),
        failures=_by_reason(sorts, "failed"),
        broken=wanted.broken(BROKEN),
        links_read=asked.read_links,
        unread=reader.unread,
        redirects=records.hops.told(TOP, failed, known),
        duplicates=duplicates,
        left_out=_left_out(sorts, job),
    )


async def _as_it_stands(sources: Sources, job: Job) -> Job:
    """The job now; JobHeld if what was read of it is gone."""
    now = await sources.ledger.job(job.id)
    if now.run != job.run or (await sources.jobs.unfinished()).get(job.id) in {"restart", "remove"}:
        raise JobHeld(
            f"job {job.short_id} was restarted or removed while it was read; ask for its report again"
        )
    return now


async def _failures(jobs: Jobs, job: Job) -> list[Failure]:
    found: list[Failure] = []
    async for some in jobs.failures(job.id):
        found += some[: MOST_FAILED - len(found)]
        if len(found) >= MOST_FAILED:
            break
    return found


async def _running(sources: Sources, job: Job) -> bool:
    holder = await sources.jobs.holder(job.id)
    return holder is not None and sources.workers.lives(holder.worker_id) is not False


# -- the passes


async def _story(sources: Sources, job: Job) -> Story:
    events = await sources.jobs.events(job.id, _EVENTS)
    story = Story(claims_of(reversed(events)))
    after = 0
    while commits := await sources.ledger.commits(job.id, after=after, limit=_COMMITS):
        for commit in commits:
            story.add(commit)
        after = commits[-1].number
        await asyncio.sleep(0)
    return story


async def _records(sources: Sources, job: Job, on_progress: OnProgress) -> "Records":
    records = Records()
    counters = job.counters
    total, read = counters.done + counters.redirected + counters.consulted + counters.failed, 0
    async for rows in _pages(sources.ledger, job, _ROWS):
        for row in rows:
            records.add(row, sources.see(row))
        read += len(rows)
        on_progress("reading rows", read, max(total, read))
        await asyncio.sleep(0)
    return records


async def _read_links(
    sources: Sources, job: Job, reader: Reader, wanted: Wanted, on_progress: OnProgress
) -> None:
    read = 0
    async for rows in _pages(sources.ledger, job, _BODIES):
        linking = [row for row in rows if _may_lead(row, sources.see(row))]
        await asyncio.to_thread(reader.note, linking, wanted)
        read += len(rows)
        on_progress("reading pages", read, max(job.counters.done, read))


def _may_lead(row: RecordRow, seen: Seen) -> bool:
    """A page that has links, or a sitemap and the like, which is there for nothing else."""
    return seen.links > 0 if seen.kind == "page" else row.status == ItemStatus.CONSULTED


async def _pages(ledger: Ledger, job: Job, limit: int) -> AsyncIterator[list[RecordRow]]:
    after = 0
    while rows := await ledger.records(job.id, after=after, limit=limit):
        yield rows
        after = rows[-1].item.id


async def _known(ledger: Ledger, job: Job, urls: list[str]) -> dict[str, str | None]:
    """Those of the addresses that are items, with why they were shut out."""
    known: dict[str, str | None] = {}
    for start in range(0, len(urls), _ROWS):
        by_fingerprint = {fingerprint(url): url for url in urls[start : start + _ROWS]}
        found = await ledger.known(job.id, list(by_fingerprint))
        known |= {by_fingerprint[one]: reason for one, reason in found.items()}
    return known


class Records:
    """What the records come to, row by row."""

    def __init__(self) -> None:
        self.content_types = Tallied(1_000)
        self.hosts = Tallied(10_000)
        self.times = Classes(_TIMES_MS)
        self.sizes = Classes(_SIZES)
        self.slowest: Largest[Top] = Largest(TOP)
        self.biggest: Largest[Top] = Largest(TOP)
        self.tree = Tree()
        self.hops = Hops()
        self._copies: dict[Any, list[Any]] = {}
        self._duplicates = 0
        self._duplicate_bytes = 0
        self._uncounted = 0

    def add(self, row: RecordRow, seen: Seen) -> None:
        """The next row."""
        if seen.kind == "redirect":
            self.hops.add(seen.status, seen.url, seen.target)
        if seen.kind != "page":
            return
        self.content_types.add(seen.content_type or "not said", seen.size)
        self.hosts.add(origin(seen.url), seen.size)
        self.tree.add(seen.url, seen.size)
        self.times.add(seen.elapsed_ms)
        self.sizes.add(seen.size)
        for largest, weight in ((self.slowest, seen.elapsed_ms), (self.biggest, seen.size)):
            if largest.admits(weight):
                top = Top(seen.url, seen.title, seen.status, seen.content_type, seen.size, seen.elapsed_ms)
                largest.add(weight, top)
        if row.shares is not None:
            self._copy(row, seen)

    def _copy(self, row: RecordRow, seen: Seen) -> None:
        self._duplicates += 1
        self._duplicate_bytes += seen.size
        group = self._copies.get(row.shares)
        if group is None:
            if len(self._copies) >= MOST_GROUPS:
                self._uncounted += 1
                return
            group = self._copies[row.shares] = [0, seen.size]
        group[0] += 1
        if len(group) < 2 + EXAMPLES:
            group.append(seen.url)

    def duplicates(self, segments: Segments, job: Job) -> Duplicates:
        """The largest groups; what each is a copy of is read from where its body lies."""
        largest = sorted(self._copies.items(), key=lambda group: -group[1][0])[:TOP]
        groups = []
        for place, (count, size, *examples) in largest:
            try:
                url = segments.read(job, place).url
            except DamagedRecord:
                url = ""
            groups.append(Copies(url, count, size, tuple(examples)))
        return Duplicates(self._duplicates, self._duplicate_bytes, tuple(groups), self._uncounted)


# -- what follows from it


def _depths(sorts: list[Sort]) -> tuple[Depth, ...]:
    depths: dict[int, dict[str, int]] = {}
    for sort in sorts:
        counts = depths.setdefault(sort.depth, {})
        counts[sort.status] = counts.get(sort.status, 0) + sort.count
    return tuple(Depth(depth, **counts) for depth, counts in sorted(depths.items()))


def _by_reason(sorts: list[Sort], status: str) -> tuple[Share, ...]:
    shares: dict[str, Share] = {}
    for sort in sorts:
        if sort.status == status:
            shares[sort.reason] = _more(shares.get(sort.reason), sort)
    return tuple(sorted(shares.values(), key=lambda share: (-share.count, share.label)))


def _more(share: Share | None, sort: Sort) -> Share:
    if share is None:
        return Share(sort.reason, sort.count, example=sort.example)
    return replace(share, count=share.count + sort.count)


def _left_out(sorts: list[Sort], job: Job) -> tuple[Share, ...]:
    shares = _by_reason(sorts, "skipped")
    if job.counters.external:
        shares = (*shares, Share("external, only counted", job.counters.external))
    return shares


def _essentials(job: Job, asked: Asked) -> Essentials:
    spec: Mapping[str, Any] = job.spec
    counters, active_s = job.counters, job.active_s
    return Essentials(
        job=job.public_id,
        short_id=job.short_id,
        name=job.name,
        run=job.run,
        status=job.status.value,
        reason=job.reason,
        running=False,
        start_urls=tuple(spec.get("start_urls", ()))[:TOP],
        asked=asked.words,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        active_s=job.active_s,
        paused_s=0.0,
        commits=job.commit_no,
        checkpoint_items=job.checkpoints.items,
        concurrency=job.pace.concurrency,
        pages_per_s=counters.done / active_s if active_s else None,
        bytes_per_s=counters.bytes / active_s if active_s else None,
        version=asked.version,
        made_at=0.0,
        gathered_s=0.0,
    )
