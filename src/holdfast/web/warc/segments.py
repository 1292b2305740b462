"""All segments of a home."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from isal import isal_zlib

from holdfast.domain.commit import Location
from holdfast.domain.errors import StorageFailed
from holdfast.domain.job import Durability, Job
from holdfast.domain.lease import Lease
from holdfast.ports.clock import Clock
from holdfast.ports.segments import DamagedRecord, Reading
from holdfast.web.warc import reader
from holdfast.web.warc.files import storage_error, sync_folder, sync_path, unreadable
from holdfast.web.warc.names import REMOVED, is_segment_name, job_folder, segments_folder
from holdfast.web.warc.records import NewId
from holdfast.web.warc.writer import Making, WarcWriter

SEGMENT_BYTES: Final = 256 * 1024 * 1024
RECORD_BYTES: Final = 128 * 1024 * 1024
_PIECE: Final = 1024 * 1024


def _random_ids() -> Iterator[str]:
    """Random UUIDs (version 4). uuid.uuid4 asks the kernel for each, twice per page; this one for 256 at a time."""
    while True:
        digits = os.urandom(256 * 16).hex()
        for at in range(0, len(digits), 32):
            variant = "89ab"[int(digits[at + 16], 16) & 3]
            yield (
                f"{digits[at : at + 8]}-{digits[at + 8 : at + 12]}-4{digits[at + 13 : at + 16]}"
                f"-{variant}{digits[at + 17 : at + 20]}-{digits[at + 20 : at + 32]}"
            )


class WarcSegments:
    """Segments as WARC 1.1 files under a home, one gzip member per record. Implements the port Segments.

    `record_bytes` bounds what reading one record may take of memory: more than the fetcher's body cap.
    """

    def __init__(
        self,
        home: Path,
        clock: Clock,
        *,
        new_id: NewId | None = None,
        segment_bytes: int = SEGMENT_BYTES,
        record_bytes: int = RECORD_BYTES,
    ) -> None:
        self._home = home
        self._making = Making(clock, new_id or _random_ids().__next__, segment_bytes)
        self._record_bytes = record_bytes

    def __reduce__(self) -> tuple[Callable[..., "WarcSegments"], tuple[Path, Clock]]:
        # What reads them elsewhere needs no more.
        return partial(WarcSegments, record_bytes=self._record_bytes), (self._home, self._making.clock)

    def writer(self, job: Job, lease: Lease, durability: Durability) -> WarcWriter:
        """A writer for this claim. Nothing is created before its first append."""
        return WarcWriter(job_folder(self._home, job), job, lease, durability, self._making)

    def read(self, job: Job, location: Location) -> Reading:
        """The exchange at that place; DamagedRecord if it isn't a whole one, StorageFailed if it can't be read now."""
        if not is_segment_name(location.segment):
            raise DamagedRecord(f"{location.segment!r} is no segment's name")
        return reader.read(job_folder(self._home, job) / location.segment, location, self._record_bytes)

    def scan(self, job: Job, segment: str, committed: int) -> Iterator[Reading | DamagedRecord]:
        """Every response and revisit up to the committed length, in order; the damaged in their places."""
        return reader.scan(self._path(job, segment), segment, committed, self._record_bytes)

    def size(self, job: Job, segment: str) -> int:
        """The file's length; 0 if it is missing."""
        path = self._path(job, segment)
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise unreadable(error, path) from error

    def crc(self, job: Job, segment: str, start: int, end: int) -> int | None:
        """CRC-32 of that range; None where the file is shorter.

        StorageFailed when it can't be read for another reason: what can't be seen now isn't therefore lost.
        """
        path = self._path(job, segment)
        checksum, left = 0, end - start
        try:
            with path.open("rb", buffering=0) as file:
                file.seek(start)
                while left:
                    piece = file.read(min(_PIECE, left))
                    if not piece:
                        return None
                    checksum = isal_zlib.crc32(piece, checksum)
                    left -= len(piece)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable(error, path) from error
        return checksum

    def settle(self, job: Job, segment: str) -> None:
        """Synced; see the port. StorageFailed where it can't be."""
        path = self._path(job, segment)
        try:
            sync_path(path)
        except FileNotFoundError:
            return  # nothing of it is there to be kept: whoever reads it says so
        except OSError as error:
            raise storage_error(error, path) from error

    def link(self, source: Job, target: Job, names: Sequence[str]) -> None:
        """Hard links; see the port. One that is there already is left as it is."""
        folder = job_folder(self._home, target)
        path = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in names:
                path = self._path(source, name)
                if not path.exists():
                    continue  # torn down to nothing: the first claim finds that, and what lay in it is fetched again
                with suppress(FileExistsError):
                    (folder / name).hardlink_to(path)
                sync_path(path)
            for above in (folder, folder.parent, folder.parent.parent):
                sync_folder(above)
        except OSError as error:
            raise storage_error(error, path) from error

    def discard(self, job: Job, names: Sequence[str]) -> None:
        """Deleted; see the port."""
        for name in names:
            path = self._path(job, name)
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise StorageFailed(
                    f"can't delete {path} ({error.strerror or error}): check its permissions, "
                    "then run the same command again"
                ) from error

    def remove(self, job: Job) -> None:
        """Delete all segments of the job, and what an earlier removal that broke off has left.

        The folder is renamed first: half-deleted segments are never found under their job's name.
        """
        folder = segments_folder(self._home)
        try:
            if job_folder(self._home, job).exists():
                job_folder(self._home, job).rename(folder / f"{REMOVED}{job.public_id}-{uuid.uuid4().hex}")
            for left in folder.glob(f"{REMOVED}*"):
                shutil.rmtree(left, ignore_errors=True)  # another process may be at it as well
        except OSError as error:
            sentence = (
                f"can't delete the segments of {job.public_id} ({error}): check the permissions in {folder}"
            )
            raise StorageFailed(sentence) from error

    def free_bytes(self) -> int:
        """Room left for ordinary users on the disk that holds the segments, or will."""
        place = segments_folder(self._home).absolute()
        while not place.exists() and place != place.parent:
            place = place.parent
        room = os.statvfs(place)
        return room.f_bavail * room.f_frsize

    def _path(self, job: Job, segment: str) -> Path:
        if not is_segment_name(segment):
            raise StorageFailed(
                f"{segment!r} is no segment's name: the ledger is damaged; restore it from a backup"
            )
        return job_folder(self._home, job) / segment
