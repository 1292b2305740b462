"""A job's rows as JSON lines, written while it runs, each exactly once, whatever kills it.

The file's rows stand in the order of the commits. A commit stands first; then its rows are appended; the commit after
it notes how far the file had come. So after a crash the file is as long as the ledger says, or longer: it is cut back
to what is noted, and the rows of later commits are appended anew. docs/explanation/promise.md has the protocol.

Where another process makes the rows (output.lines), the file follows some commits behind.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final

from holdfast.domain.commit import Location, Streamed, exchanges
from holdfast.domain.errors import HoldfastError
from holdfast.domain.item import Handled
from holdfast.domain.job import Job
from holdfast.output.export import Source, Table, refuse_emptied
from holdfast.output.growing import GrowingFile, InUse, Unfit
from holdfast.output.lines import LineMaker
from holdfast.output.target import refused
from holdfast.ports.faults import FaultPoint, reached
from holdfast.ports.segments import Exchange, Reading

log = logging.getLogger(__name__)

ENDING: Final = ".jsonl"
_COMMITS: Final = 20
"""Commits whose rows are read from the ledger at a time when catching up."""
_LOOKS: Final = 60
"""How often a file is tried that another process writes to: one whose claim has just ended may be at its last rows."""
_LOOK_S: Final = 0.05
_NOWHERE: Final = Location("", 0, 0)
_BEHIND: Final = 50
"""Commits that the file may be behind, where another process makes its rows; then the crawl waits for it."""


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
        self._turn = asyncio.Lock()
        self._until = 0
        self._asked = asyncio.Event()
        self._moved = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._lines = LineMaker(source.segments, job, table.row_of)

    @property
    def damaged(self) -> list[str]:
        """Rows that stand in the file without text, because the stored body is damaged."""
        return self._lines.damaged

    @property
    def path(self) -> Path:
        """As it was named."""
        return self._shown

    @property
    def unit(self) -> str:
        """What a row is called before a person."""
        return self._table.unit

    # -- while the job runs

    @property
    def standing(self) -> Streamed | None:
        """What the file holds, once it has its name."""
        return self._stands if self._file is not None and self._file.in_place else None

    async def catch_up(self, until: int, *, over: Callable[[], bool]) -> None:
        """Take the file up, or begin it anew, and append what is missing. One that fails is left to `finish`."""
        try:
            await self._catch_up(until, over)
        except (OSError, HoldfastError) as error:
            self._give_up(_refusal(error))

    async def follow(self, until: int, handled: Sequence[Handled]) -> None:
        """Append the rows of a commit that has just been made."""
        file = self._file
        if file is None or not file.in_place:
            return
        try:
            if not file.still_there():
                self._give_up("was moved or replaced")
                return
            self._until = until
            if self._following is None:
                await self._append(file, until, _in_memory(handled))
                await self._lines.ask_for_help()
                if self._lines.has_help:
                    self._following = asyncio.create_task(self._follow_behind())
            else:
                self._asked.set()
                await self._not_far_behind()
        except (OSError, HoldfastError) as error:
            self._give_up(_refusal(error))

    async def _follow_behind(self) -> None:
        while (file := self._file) is not None:
            await self._asked.wait()
            self._asked.clear()
            try:
                while file is self._file and self._stands.commit_no < self._until:
                    await self._append(file, min(self._until, self._stands.commit_no + _COMMITS), {})
                    self._moved.set()
            except (OSError, HoldfastError) as error:
                self._give_up(_refusal(error))
            self._moved.set()

    async def _not_far_behind(self) -> None:
        while self._file is not None and self._until - self._stands.commit_no > _BEHIND:
            self._moved.clear()
            self._asked.set()
            await self._moved.wait()

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
        """Let go of the file, and of whoever helped."""
        if self._following is not None and self._following is not asyncio.current_task():
            self._following.cancel()
        self._following = None
        self._lines.close()
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
        async with self._turn:
            if until <= self._stands.commit_no or file is not self._file:
                return
            records = await self._source.ledger.written(
                self._job.id, after=self._stands.commit_no, until=until, kind=self._table.kind
            )
            try:
                async with aclosing(self._lines.pieces(records, bodies)) as pieces:
                    async for piece in pieces:
                        if file is not self._file:
                            return
                        file.append(piece)
            except BaseException:
                if file is self._file:
                    file.cut_back(self._stands)
                raise
            rows = self._stands.rows + len(records)
            self._stands = Streamed(self._stands.path, until, file.bytes, file.crc, rows)
            reached(FaultPoint.AFTER_ROWS, self._stands)


def _refusal(error: OSError | HoldfastError) -> str:
    said = getattr(error, "strerror", None)
    return f"can't be written ({said or error})"


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
