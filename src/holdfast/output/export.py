"""A job's results into one file, in memory that doesn't grow with them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from holdfast.domain.errors import JobHeld, StorageFailed
from holdfast.domain.job import Job
from holdfast.output.crew import crew, hands
from holdfast.output.formats import WARC, Columns, Row, ending_of, open_rows
from holdfast.output.target import whole_file
from holdfast.ports.jobs import Jobs
from holdfast.ports.ledger import Ledger, RecordRow
from holdfast.ports.segments import DamagedRecord, Reading, Segments

_PAGE: Final = 200
"""Records read at a time: few enough that no reader keeps a snapshot for long."""
_PIECE: Final = 1024 * 1024

RowOf = Callable[[RecordRow, Reading | None], Row]
"""It travels to other processes: it can be pickled."""
OnProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Table:
    """What the rows of a job look like, and which of its records they come from."""

    kind: str
    columns: Columns
    row_of: RowOf
    version: str = ""
    """Tells apart tables that make other rows of the same records."""
    unit: str = "page"
    """What a row is called before a person."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where results are read from."""

    jobs: Jobs
    ledger: Ledger
    segments: Segments
    segment_path: Callable[[Job, str], Path]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written. A row whose body is damaged stands in the file without its text."""

    path: Path
    count: int
    unit: str
    bytes: int
    damaged: tuple[str, ...] = ()


async def export(source: Source, job: Job, table: Table, path: Path, on_progress: OnProgress) -> Exported:
    """Write the job's results as they are now; `on_progress` is told how many rows (or bytes) are written.

    The format is told by the name's ending. Whatever is raised, a file that stood there before is untouched.
    """
    ending = ending_of(path)
    if ending == WARC:
        with whole_file(path) as file:
            count = await _segments_into(file, source, job, on_progress)
            size = file.tell()
            await refuse_emptied(source, job)
        return Exported(path, count, "segment", size)
    damaged: list[str] = []
    count = 0
    with whole_file(path) as file:
        with open_rows(ending, file, table.columns) as rows:
            async with aclosing(_made(source, job, table)) as batches:
                async for made, broken in batches:
                    await asyncio.to_thread(rows.write, made)
                    damaged += broken
                    count += len(made)
                    on_progress(count)
        size = file.tell()
        await refuse_emptied(source, job)
    return Exported(path, count, table.unit, size, tuple(damaged))


async def refuse_emptied(source: Source, job: Job) -> None:
    """JobHeld if the job was restarted or removed while it was read: the file would hold but a part of it."""
    kept = job.run in {run.number for run in await source.jobs.runs(job.id)}
    if not kept or (await source.jobs.unfinished()).get(job.id) in {"restart", "remove"}:
        raise JobHeld(
            f"job {job.short_id} was restarted or removed while it was exported, or this run of it was; "
            "the file stands as it was before"
        )


async def warc_bytes(source: Source, job: Job) -> int:
    """How much a WARC export of the job will write."""
    return sum(segment.committed for segment in await source.ledger.segments(job.id, run=job.run))


async def pages_of(
    ledger: Ledger, job: Job, kind: str | None, *, upto: int | None = None
) -> AsyncIterator[list[RecordRow]]:
    """All records (of a kind) by item id, some at a time; `upto`: those of the commits up to that one."""
    after = 0
    while page := await ledger.records(job.id, after=after, limit=_PAGE, kind=kind, run=job.run, upto=upto):
        yield page
        after = page[-1].item.id


async def _made(source: Source, job: Job, table: Table) -> AsyncGenerator[tuple[list[Row], list[str]], None]:
    """The rows, page by page in order, and which of their bodies are damaged. Several processes make many of them."""
    make = partial(_rows_of, source.segments, job, table.row_of)
    size = hands(job.counters.done)
    with crew(size, make) as several:
        async for page in pages_of(source.ledger, job, table.kind):
            if not size:
                yield await asyncio.to_thread(make, page)
                continue
            for result in await asyncio.to_thread(several.give, page):
                yield result
        while results := await asyncio.to_thread(several.take):
            yield results[0]


def _rows_of(
    segments: Segments, job: Job, row_of: RowOf, page: Sequence[RecordRow]
) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []
    damaged: list[str] = []
    for record in page:
        try:
            reading = stored_body(segments, job, record)
        except DamagedRecord as error:
            damaged.append(f"{record.item.url}: {error}")
            reading = None
        rows.append(row_of(record, reading))
    return rows, damaged


def stored_body(segments: Segments, job: Job, record: RecordRow) -> Reading | None:
    """The stored exchange; for an exact duplicate, the one whose body it shares; or what a browser made of it."""
    return None if record.body is None else segments.read(job, record.body)


async def _segments_into(file: BinaryIO, source: Source, job: Job, on_progress: OnProgress) -> int:
    """The committed bytes of all segments, one after the other: each is a series of whole gzip members.

    Those lent come first: what a revisit stands for is in the file, and before it.
    """
    # One that a repair cut down to nothing may be gone altogether.
    segments = [segment for segment in await source.ledger.segments(job.id, run=job.run) if segment.committed]
    written = 0
    for segment in segments:
        written = await asyncio.to_thread(
            _copy, source.segment_path(job, segment.name), segment.committed, file, written, on_progress
        )
    return len(segments)


def _copy(path: Path, length: int, file: BinaryIO, written: int, on_progress: Callable[[int], Any]) -> int:
    for piece in committed_pieces(path, length):
        file.write(piece)
        written += len(piece)
        on_progress(written)
    return written


def committed_pieces(path: Path, length: int) -> Iterator[bytes]:
    """The first `length` bytes of a segment. What fails in here is the segment's fault, not the new file's."""
    left = length
    try:
        with path.open("rb", buffering=0) as segment:
            while left and (piece := segment.read(min(_PIECE, left))):
                yield piece
                left -= len(piece)
    except OSError as error:
        raise StorageFailed(
            f"can't read the segment {path} ({error.strerror or error}); `holdfast verify` says what is missing"
        ) from error
    if left:
        raise StorageFailed(
            f"the segment {path} ends {left} bytes early; `holdfast verify` says what is missing"
        )
