"""The segments as they lie on the disk: the bytes of each commit and every response, whatever the rows say.

What the rows say is folded into a sum for each segment, as is what the scan finds. Where the sums agree each
committed response belongs to exactly one row; only where they don't, that segment's places are compared.
"""

import asyncio
import struct
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice

from holdfast.domain.commit import Location
from holdfast.domain.job import Job
from holdfast.engine.tools import Tools
from holdfast.engine.verify_report import Report
from holdfast.ports.ledger import Discrepancy, RecordRow, SegmentState
from holdfast.ports.segments import DamagedRecord, Reading

READINGS = 100
"""Responses read in one go, off the loop."""
ROWS = 100
"""Rows read in one go; those of one item come together."""


@dataclass(slots=True)
class Places:
    """A set of places as its size and a sum that doesn't depend on their order."""

    count: int = 0
    total: int = 0

    def add(self, location: Location) -> None:
        """One more place; the same one twice gives another sum."""
        packed = struct.pack("<qq", location.offset, location.length)
        self.count += 1
        self.total += int.from_bytes(blake2b(packed, digest_size=16).digest(), "little")


@dataclass(slots=True)
class Scanned:
    """What the segments hold by themselves."""

    places: dict[str, Places]
    segments: list[SegmentState]


async def check_segments(tools: Tools, job: Job, report: Report) -> Scanned:
    """Each segment: its length, the checksum of each commit's bytes, and every record in it."""
    scanned = Scanned({}, await tools.ledger.segments(job.id, run=job.run))
    for segment in scanned.segments:
        size = await asyncio.to_thread(tools.segments.size, job, segment.name)
        if size < segment.committed:
            what = f"has {size} bytes" if size else "is missing or empty"
            report.add(Discrepancy("segment", segment.name, f"{what}, {segment.committed} are committed"))
        if segment.lent:
            continue  # only bodies in it are this run's, and each is read with its row
        for span in await tools.ledger.spans(job.id, segment.name, 0, run=job.run):
            if span.crc is None:
                continue
            crc = await asyncio.to_thread(tools.segments.crc, job, segment.name, span.start, span.end)
            if crc is not None and crc != span.crc:
                place = f"bytes {span.start} to {span.end} aren't those that commit {span.number} wrote"
                report.add(Discrepancy("segment", segment.name, place))
        report.bytes += min(size, segment.committed)
        places = scanned.places[segment.name] = Places()
        if not size:
            continue  # said already, if anything of it is committed
        async for reading in _scan(tools, job, segment, report):
            if isinstance(reading, DamagedRecord):
                report.add(
                    Discrepancy("segment", segment.name, str(reading).removeprefix(f"{segment.name}, "))
                )
            else:
                places.add(reading.location)
    return scanned


async def check_places(
    tools: Tools, job: Job, report: Report, scanned: Scanned, placed: Mapping[str, Places]
) -> None:
    """Each committed response belongs to exactly one row."""
    for segment in scanned.segments:
        if segment.lent:
            continue
        if scanned.places[segment.name] != placed.get(segment.name, Places()):
            await _compare(tools, job, report, segment)
    known = {segment.name for segment in scanned.segments}
    for name in sorted(set(placed) - known):
        report.add(Discrepancy("segment", name, "has records, but the ledger has no such segment"))


async def _compare(tools: Tools, job: Job, report: Report, segment: SegmentState) -> None:
    rows: Counter[int] = Counter()
    async for page in pages_of_records(tools, job, report):
        rows.update(
            row.location.offset
            for row in page
            if row.location is not None and row.location.segment == segment.name
        )
    for offset, count in rows.items():
        if count > 1:
            subject = f"{segment.name}, byte {offset}"
            report.add(
                Discrepancy("response", subject, f"one stored response is the record of {count} items")
            )
    laid_aside = await tools.ledger.laid_aside(job.id, segment.name, run=job.run)
    async for reading in _scan(tools, job, segment, None):
        if isinstance(reading, DamagedRecord) or reading.location.offset in rows:
            continue
        if reading.location.offset in laid_aside:
            report.laid_aside += 1
        else:
            place = reading.location
            where = f"bytes {place.offset} to {place.offset + place.length} of segment {place.segment}"
            report.add(Discrepancy("response", reading.url, f"is stored in {where}, and no row claims it"))


async def _scan(
    tools: Tools, job: Job, segment: SegmentState, report: Report | None
) -> AsyncIterator[Reading | DamagedRecord]:
    """The responses of a segment without their payloads being kept, some at a time off the loop."""
    readings = tools.segments.scan(job, segment.name, segment.committed)
    while batch := await asyncio.to_thread(_some, readings):
        if report is not None:
            report.progress.more(len(batch))
        for reading in batch:
            yield reading


def _some(readings: Iterator[Reading | DamagedRecord]) -> list[Reading | DamagedRecord]:
    return [_bare(reading) for reading in islice(readings, READINGS)]


def _bare(reading: Reading | DamagedRecord) -> Reading | DamagedRecord:
    if isinstance(reading, DamagedRecord):
        return reading
    return replace(reading, headers=(), payload=b"", body=b"")


async def pages_of_records(tools: Tools, job: Job, report: Report) -> AsyncIterator[list[RecordRow]]:
    """All records by item, some at a time; those of one item always come together."""
    after, limit = 0, ROWS
    while True:
        try:
            rows = await tools.ledger.records(job.id, after=after, limit=limit, run=job.run)
        except ValueError as error:
            subject = f"records of the items after {after}"
            report.add(Discrepancy("record", subject, f"can't be read: {error}"))
            return
        if len(rows) == limit:
            # The last item may have more records than came with this page.
            whole = [row for row in rows if row.item.id != rows[-1].item.id]
            if not whole:
                limit *= 2
                continue
            rows = whole
        if not rows:
            return
        yield rows
        after, limit = rows[-1].item.id, ROWS


def empty_places() -> defaultdict[str, Places]:
    """Places by segment, none yet."""
    return defaultdict(Places)
