"""CDXJ: one line for each stored response, sorted by address and time, that says where it lies.

org,example)/docs 20260102030405 {"url": ..., "status": ..., "offset": ..., "length": ..., "filename": ...}
"""

import heapq
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final, Self

import orjson

from holdfast.domain.commit import Location
from holdfast.domain.job import Job
from holdfast.output.export import Exported, OnProgress, Source, pages_of, refuse_emptied
from holdfast.output.formats import CDXJ, WARC, sound
from holdfast.output.surt import surt
from holdfast.output.target import whole_file
from holdfast.ports.ledger import RecordRow, SegmentState
from holdfast.ports.segments import RENDERED

_IN_MEMORY: Final = 50_000
"""Lines that are sorted at a time; more are sorted on the disk."""

Placed = Callable[[Location], tuple[str, int]]
"""The file in which a stored response will lie, and where in it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What an archive's index and list of pages say of a response."""

    url: str
    at: float
    mime: str
    status: int
    title: str | None = None
    """Of a page that a reader may want to begin with; None for anything else."""
    start: bool = False


EntryOf = Callable[[RecordRow], Entry]


async def export_cdxj(
    source: Source, job: Job, entry_of: EntryOf, path: Path, on_progress: OnProgress
) -> Exported:
    """An index of the file that an export of the same name with the ending .warc.gz gives."""
    segments = {segment.name: segment for segment in await source.ledger.segments(job.id, run=job.run)}
    placed = concatenated(segments.values(), path.name[: -len(CDXJ)] + WARC)
    with whole_file(path) as file, SortedLines(path.parent) as lines:
        count = 0
        for run in runs_of(job):
            async for record, place in stored(source, run):
                # Of an earlier run that file has what this one stands on.
                if place.segment in segments:
                    lines.add(line_of(entry_of(record), record, *placed(place)))
                    count += 1
                    on_progress(count)
        file.writelines(lines)
        size = file.tell()
        await refuse_emptied(source, job)
    return Exported(path, count, "response", size)


def runs_of(job: Job) -> list[Job]:
    """The job as each of its runs up to this one."""
    return [replace(job, run=run) for run in range(1, job.run + 1)]


async def segments_of(source: Source, runs: Iterable[Job]) -> dict[str, SegmentState]:
    """The segments of those runs that hold anything, by name: a later run may have been lent an earlier one's."""
    return {
        segment.name: segment
        for run in runs
        for segment in await source.ledger.segments(run.id, run=run.run)
        if segment.committed
    }


async def stored(source: Source, job: Job) -> AsyncIterator[tuple[RecordRow, Location]]:
    """All responses of the job up to its last commit, and where they lie in the segments.

    What a browser made of one is none: who asks for that address is to get the response, and run its scripts.
    """
    async for page in pages_of(source.ledger, job, None, upto=job.commit_no):
        for record in page:
            if record.location is not None and record.kind != RENDERED:
                yield record, record.location


def concatenated(segments: Iterable[SegmentState], name: str) -> Placed:
    """Where responses lie once the segments' committed bytes stand one after the other."""
    bases: dict[str, int] = {}
    length = 0
    for segment in segments:
        bases[segment.name] = length
        length += segment.committed
    return lambda place: (name, bases[place.segment] + place.offset)


def line_of(entry: Entry, record: RecordRow, file: str, offset: int) -> bytes:
    """The line of a response that lies there."""
    assert record.location is not None  # noqa: S101 - whoever calls has just placed it
    at = datetime.fromtimestamp(entry.at, UTC)
    said = {
        "url": entry.url,
        "mime": entry.mime if record.revisit_of is None else "warc/revisit",
        "status": str(entry.status),
        "digest": f"sha256:{(record.digest or b'').hex()}",
        "length": str(record.location.length),
        "offset": str(offset),
        "filename": file,
    }
    return f"{surt(entry.url)} {at:%Y%m%d%H%M%S} ".encode() + orjson.dumps(sound(said)) + b"\n"


class SortedLines:
    """Lines that come in any order and leave sorted, in bounded memory. Its files on the disk vanish by themselves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: list[bytes] = []
        self._runs: list[IO[bytes]] = []
        self._files = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._files.close()

    def add(self, line: bytes) -> None:
        """One more, with its line break."""
        self._lines.append(line)
        if len(self._lines) >= _IN_MEMORY:
            run = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed with all others
            self._files.enter_context(run)
            run.writelines(sorted(self._lines))
            self._runs.append(run)
            self._lines = []

    def __iter__(self) -> Iterator[bytes]:
        for run in self._runs:
            run.seek(0)
        return heapq.merge(*self._runs, sorted(self._lines))
