"""Rows as JSON lines, while a crawl runs: made here as long as that is little, by another process once it is much.

A polite crawl makes its rows beside; one in a hurry would spend half of its time on them. The other process reads
records that it is handed and the segments, and writes nothing: if it dies, rows are made here again.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Final

import orjson

from holdfast.domain.errors import StorageFailed
from holdfast.domain.job import Job
from holdfast.output.crew import WORTH_IT, Crew, crew, hands
from holdfast.output.export import RowOf, stored_body
from holdfast.output.formats import sound
from holdfast.ports.ledger import RecordRow
from holdfast.ports.segments import DamagedRecord, Reading, Segments

log = logging.getLogger(__name__)

HELP_AFTER_S: Final = 1.0
"""So long rows are made here before anybody is asked to help, ..."""
HELP_SHARE: Final = 0.1
"""... and only if it is more than that of the time since the first."""
_PIECE: Final = 1024 * 1024
_BATCH: Final = 4 * 1024 * 1024
"""Bodies that are handed on at a time come to no more, but for a single one."""
_BIG: Final = 1024 * 1024
"""The row of a larger body is made on a thread: so long nobody else's page may wait."""
_SLOW: Final = frozenset({"pdf"})
"""So is that of a body which takes another program to be read."""
_TURN: Final = 50
"""Rows that are made here before others have their turn."""


class LineMaker:
    """Makes the lines of a job's records."""

    def __init__(self, segments: Segments, job: Job, row_of: RowOf) -> None:
        self._make = partial(_lines_of, segments, job, row_of)
        self._began = 0.0
        self._spent_s = 0.0
        self._helper: Crew | None = None
        self._exit = ExitStack()
        self.damaged: list[str] = []
        """Rows that were made without text, because the stored body is damaged."""

    @property
    def has_help(self) -> bool:
        """Rows are made by somebody else: they needn't be waited for."""
        return self._helper is not None

    async def ask_for_help(self) -> None:
        """Begin to have rows made by another process, if they take too much time here, and there is a core for it."""
        elapsed = perf_counter() - (self._began or perf_counter())
        enough = self._spent_s >= HELP_AFTER_S and self._spent_s >= HELP_SHARE * elapsed
        if self._helper is None and enough and hands(WORTH_IT):
            self._helper = await asyncio.to_thread(lambda: self._exit.enter_context(crew(1, self._make)))

    async def pieces(
        self, records: Sequence[RecordRow], bodies: Mapping[int, Reading]
    ) -> AsyncGenerator[bytes, None]:
        """The lines of the records, in their order. Bodies that are at hand (by item) needn't be read."""
        if self._helper is None:
            async for piece in self._made_here(records, bodies):
                yield piece
            return
        for batch in _batches(records):
            yield await self._made_there(batch, self._helper)

    def close(self) -> None:
        """Let go of whoever helped."""
        self._helper = None
        self._exit.close()

    async def _made_there(self, batch: Sequence[RecordRow], helper: Crew) -> bytes:
        try:
            lines, damaged = await asyncio.to_thread(lambda: (helper.give(batch) + helper.take())[0])
        except StorageFailed as error:
            log.info("rows are made by the crawl itself again: %s", error)
            self.close()
            lines, damaged = await asyncio.to_thread(self._make, batch)
        self.damaged += damaged
        return bytes(lines)

    async def _made_here(
        self, records: Sequence[RecordRow], bodies: Mapping[int, Reading]
    ) -> AsyncGenerator[bytes, None]:
        began = perf_counter()
        self._began = self._began or began
        lines: list[bytes] = []
        size = 0
        for number, record in enumerate(records, 1):
            make = partial(self._make, (record,), bodies)
            slow = record.data.get("size", 0) > _BIG or record.data.get("kind") in _SLOW
            line, damaged = await asyncio.to_thread(make) if slow else make()
            self.damaged += damaged
            lines.append(line)
            size += len(line)
            if size >= _PIECE:
                yield b"".join(lines)
                lines, size = [], 0
            if not number % _TURN:
                await asyncio.sleep(0)
        if lines:
            yield b"".join(lines)
        self._spent_s += perf_counter() - began


def _batches(records: Sequence[RecordRow]) -> Iterator[list[RecordRow]]:
    batch: list[RecordRow] = []
    size = 0
    for record in records:
        batch.append(record)
        size += record.data.get("size", 0)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_NONE: Final[Mapping[int, Reading]] = {}


def _lines_of(
    segments: Segments,
    job: Job,
    row_of: RowOf,
    records: Sequence[RecordRow],
    bodies: Mapping[int, Reading] = _NONE,
) -> tuple[bytes, list[str]]:
    """The lines, and which of the stored bodies they should have been made of are damaged."""
    lines: list[bytes] = []
    damaged: list[str] = []
    for record in records:
        reading = bodies.get(record.item.id)
        if reading is None:
            try:
                reading = stored_body(segments, job, record)
            except DamagedRecord as error:
                damaged.append(f"{record.item.url}: {error}")
        lines.append(orjson.dumps(sound(row_of(record, reading)), option=orjson.OPT_APPEND_NEWLINE))
    return b"".join(lines), damaged
