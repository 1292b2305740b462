"""A job's rows as JSON lines, written while it runs, each exactly once, whatever kills it.

The file's rows stand in the order of the commits. A commit stands first; then its rows are appended; the commit after
it notes how far the file had come. So after a crash the file is as long as the ledger says, or longer: it is cut back
to what is noted, and the rows of later commits are appended anew. docs/explanation/promise.md has the protocol.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson

from holdfast.domain.commit import Location, Streamed, exchanges
from holdfast.domain.item import Handled
from holdfast.domain.job import Job
from holdfast.output.export import Source, Table, refuse_emptied, stored_body
from holdfast.output.formats import sound
from holdfast.output.growing import GrowingFile, InUse, Unfit
from holdfast.output.target import refused
from holdfast.ports.faults import FaultPoint, reached
from holdfast.ports.ledger import RecordRow
from holdfast.ports.segments import DamagedRecord, Exchange, Reading

log = logging.getLogger(__name__)

ENDING: Final = ".jsonl"
_COMMITS: Final = 20
"""Commits whose rows are read from the ledger at a time when catching up."""
_PIECE: Final = 1024 * 1024
_BIG: Final = 1024 * 1024
"""The text of a larger body is made on a thread: so long nobody else's page may wait."""
_LOOKS: Final = 60
"""How often a file is tried that another process writes to: one whose claim has just ended may be at its last rows."""
_LOOK_S: Final = 0.05
_NOWHERE: Final = Location("", 0, 0)


class Stream:
    """Implements ports.rows.RowStream. `finish` brings it to its end when the run is over."""

    def __init__(self, source: Source, job: Job, table: Table, path: Path) -> None:
        self._source = source
        self._job = job
        self._table = table
        # A symbolic link stays one: what it points to grows.
        self._path = path.resolve()
        self._shown = path
        self._file: GrowingFile | None = None
        # Rows that are made otherwise are another file, though it has the same name: it is begun anew.
        self._noted_as = f"{self._path}#{table.version}" if table.version else str(self._path)
        self._stands = Streamed(self._noted_as, 0, 0, 0, 0)
        self._given_up = False
        self.damaged: list[str] = []
        """Rows that stand in the file without text, because the stored body is damaged."""

    @property
    def path(self) -> Path:
        """As it was named."""
        return self._shown

    # -- while the job runs

    @property
    def standing(self) -> Streamed | None:
        """What the file holds, once it has its name."""
        return self._stands if self._file is not None and self._file.in_place else None

    async def catch_up(self, until: int, *, over: Callable[[], bool]) -> None:
        """Take the file up, or begin it anew, and append what is missing. One that fails is left to `finish`."""
        try:
            await self._catch_up(until, over)
        except OSError as error:
            self._give_up(f"can't be written ({error.strerror or error})")

    async def follow(self, until: int, handled: Sequence[Handled]) -> None:
        """Append the rows of a commit that has just been made."""
        file = self._file
        if file is None or not file.in_place:
            return
        try:
            if not file.still_there():
                self._give_up("was moved or replaced")
                return
            await self._append(file, until, _in_memory(handled))
        except OSError as error:
            self._give_up(f"can't be written ({error.strerror or error})")

    # -- at the end

    async def finish(self, job: Job) -> Streamed:
        """All rows of a job that nobody works on any more, on the disk. Raises StorageFull or StorageFailed."""
        try:
            if self._file is not None and not self._file.still_there():
                self.close()
            file = await self._catch_up(job.commit_no, over=lambda: False)
            await asyncio.to_thread(file.sync)
        except OSError as error:
            raise refused(error, self._shown) from error
        await refuse_emptied(self._source, job)
        await self._source.ledger.note_streamed(job.id, job.run, self._stands)
        return self._stands

    def close(self) -> None:
        """Let go of the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    # -- inside

    def _give_up(self, what: str) -> None:
        log.warning("%s %s: its rows are written when the crawl ends", self._shown, what)
        self.close()

    async def _catch_up(self, until: int, over: Callable[[], bool]) -> GrowingFile:
        if self._file is None:
            self._file = await self._opened()
        file = self._file
        while self._stands.commit_no < until and not over():
            await self._append(file, min(until, self._stands.commit_no + _COMMITS), {})
            await asyncio.sleep(0)
        if self._stands.commit_no >= until:
            file.appear()
        return file

    async def _opened(self) -> GrowingFile:
        note = await self._source.ledger.streamed(self._job.id, self._noted_as)
        if note is not None:
            try:
                file = await self._taken_up(note)
            except Unfit as unfit:
                log.warning("%s %s: it is written anew, whole", self._shown, unfit)
            else:
                self._stands = note
                return file
        elif self._path.exists() and self._path.stat().st_size:
            log.warning("%s holds something else than this run of the job wrote: it is replaced", self._shown)
        self._stands = Streamed(self._noted_as, 0, 0, 0, 0)
        return GrowingFile.new(self._path)

    async def _taken_up(self, note: Streamed) -> GrowingFile:
        for _ in range(_LOOKS):
            try:
                return await asyncio.to_thread(GrowingFile.taken_up, self._path, note)
            except InUse:
                await asyncio.sleep(_LOOK_S)
        return GrowingFile.taken_up(self._path, note)

    async def _append(self, file: GrowingFile, until: int, bodies: Mapping[int, Reading]) -> None:
        """The rows of the next commits, up to one of them; all or, where that fails, none."""
        records = await self._source.ledger.written(
            self._job.id, after=self._stands.commit_no, until=until, kind=self._table.kind
        )
        lines: list[bytes] = []
        size = 0
        try:
            for number, record in enumerate(records, 1):
                lines.append(line := await self._line(record, bodies.get(record.item.id)))
                size += len(line)
                if size >= _PIECE:
                    file.append(b"".join(lines))
                    lines, size = [], 0
                if not number % 50:
                    await asyncio.sleep(0)
            if lines:
                file.append(b"".join(lines))
        except BaseException:
            file.cut_back(self._stands)
            raise
        rows = self._stands.rows + len(records)
        self._stands = Streamed(self._stands.path, until, file.bytes, file.crc, rows)
        reached(FaultPoint.AFTER_ROWS, self._stands)

    async def _line(self, record: RecordRow, reading: Reading | None) -> bytes:
        if record.data.get("size", 0) > _BIG:
            return await asyncio.to_thread(self._row, record, reading)
        return self._row(record, reading)

    def _row(self, record: RecordRow, reading: Reading | None) -> bytes:
        if reading is None:
            try:
                reading = stored_body(self._source.segments, self._job, record)
            except DamagedRecord as error:
                self.damaged.append(f"{record.item.url}: {error}")
        return orjson.dumps(sound(self._table.row_of(record, reading)), option=orjson.OPT_APPEND_NEWLINE)


def _in_memory(handled: Sequence[Handled]) -> dict[int, Reading]:
    """Bodies that needn't be read back, by item: those that came unencoded. The others were dropped when decoded."""
    bodies = {}
    for entry in handled:
        for record in exchanges((entry,)):
            kept: Exchange = record.exchange
            response = kept.response
            # Of a page that has not changed there is no body here: it lies where it lay.
            if response.body is response.payload and kept.original is None:
                bodies[entry.item.id] = Reading(
                    location=_NOWHERE,
                    url=response.url,
                    status=response.status,
                    headers=response.headers,
                    payload=response.payload,
                    body=response.body,
                    revisit=False,
                    digest=kept.digest,
                )
    return bodies
