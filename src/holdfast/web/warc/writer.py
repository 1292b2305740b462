"""One claim's own segments."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from isal import isal_zlib

from holdfast.domain.commit import Appended
from holdfast.domain.job import Durability, Job
from holdfast.domain.lease import Lease
from holdfast.ports.clock import Clock
from holdfast.ports.faults import FaultPoint, reached
from holdfast.ports.segments import Exchange, Original
from holdfast.web.warc.files import AppendOnlyFile, create_next, storage_error
from holdfast.web.warc.names import segment_name
from holdfast.web.warc.records import Batch, NewId, compose, warcinfo

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Making:
    """What writers need beyond their claim."""

    clock: Clock
    new_id: NewId
    segment_bytes: int


class WarcWriter:
    """Appends a claim's exchanges.

    What waits for the disk (fsync) has a thread of its own; packing and writing don't: handing the interpreter
    back and forth cost more than it gave (docs/adr/0005).

    Ranges of one segment are contiguous from 0. An append that fails or is cancelled ends its file: the next
    one opens another, so that no range can follow bytes of which nobody knows what they are.
    """

    def __init__(
        self,
        folder: Path,
        job: Job,
        lease: Lease,
        durability: Durability,
        making: Making,
    ) -> None:
        self._folder = folder
        self._job_id = job.public_id
        self._lease = lease
        self._power = durability is Durability.POWER
        self._making = making
        self._thread = ThreadPoolExecutor(1, f"segments-c{lease.chunk_id}-e{lease.epoch}")
        self._file: AppendOnlyFile | None = None
        self._next_n = 0
        self._closed = False
        self._left: tuple[str, int] | None = None

    async def append(self, exchanges: Sequence[Exchange], known: Mapping[bytes, Original]) -> Appended:
        """Write the exchanges as one range; see the port. At least one exchange."""
        if not exchanges:
            raise ValueError("nothing to append")
        if self._power:
            return await self._in_thread(lambda: self._write(self._composed(exchanges, known)))
        batch = self._composed(exchanges, known)
        if self._too_full(len(batch.data)):
            await self._in_thread(self._leave)
        return self._write(batch)

    async def sync(self) -> tuple[str, int] | None:
        """Make what was appended to the present segment survive a power cut; see the port."""
        return await self._in_thread(self._sync)

    async def close(self) -> None:
        """Let go of the file, unsynced as it is. Closing twice does nothing more."""
        if self._closed:
            return
        self._closed = True
        await self._in_thread(self._abandon)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, work)
        except asyncio.CancelledError:
            # The thread may be at it still. Its file ends there; one thread means that this comes after it.
            loop.run_in_executor(self._thread, self._abandon)
            raise

    def _composed(self, exchanges: Sequence[Exchange], known: Mapping[bytes, Original]) -> Batch:
        return compose(exchanges, known, self._making.new_id)

    def _write(self, batch: Batch) -> Appended:
        reached(FaultPoint.BEFORE_SEGMENT)
        if self._too_full(len(batch.data)):
            self._leave()
        path = self._folder
        try:
            file = self._present_file()
            path = file.path
            start, data, base = file.size, batch.data, file.size
            if start == 0:
                info = self._warcinfo(path.name)
                data, base = info + data, len(info)
            file.write(data)
            if self._power:
                file.sync()
        except OSError as error:
            self._abandon()
            raise storage_error(error, path) from error
        except BaseException:
            self._abandon()
            raise
        left, self._left = self._left, None
        return Appended(
            segment=path.name,
            start=start,
            end=start + len(data),
            crc=isal_zlib.crc32(data),
            stored=batch.stored(path.name, base),
            synced=self._power,
            closed=left,
        )

    def _too_full(self, length: int) -> bool:
        """Whether the present file has no room for so much."""
        return self._file is not None and self._file.size + length > self._making.segment_bytes

    def _leave(self) -> None:
        """Go on in another file; this one is synced whole."""
        file = self._file
        if file is not None:
            self._sync()
            self._left = (file.path.name, file.size)
            self._abandon()

    def _present_file(self) -> AppendOnlyFile:
        """The file at hand, or a new one."""
        if self._file is None:
            self._file, self._next_n = create_next(
                self._folder, lambda n: segment_name(self._lease, n), self._next_n
            )
        return self._file

    def _warcinfo(self, segment: str) -> bytes:
        return warcinfo(segment, self._job_id, self._making.clock.wall(), self._making.new_id)

    def _sync(self) -> tuple[str, int] | None:
        file = self._file
        if file is None or file.synced_size == file.size:
            return None
        try:
            file.sync()
        except OSError as error:
            # What a failed fsync left behind can't be told; asking again would only hide it.
            self._abandon()
            raise storage_error(error, file.path) from error
        return file.path.name, file.size

    def _abandon(self) -> None:
        """Never touch the present file again."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
