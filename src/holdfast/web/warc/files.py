"""One file that is only ever appended to, and what its errors mean."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.domain.errors import HoldfastError, StorageFailed, StorageFull
from holdfast.ports.faults import FaultPoint, reached

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_MODE: Final = 0o644


def storage_error(error: OSError, path: Path) -> HoldfastError:
    """An error of the file system as a sentence that says what to do."""
    what = error.strerror or str(error)
    if error.errno in _NO_ROOM:
        return StorageFull(f"no room left to write {path} ({what}): free some space, then resume the job")
    return StorageFailed(
        f"can't write {path} ({what}): check the disk and its permissions, then resume the job"
    )


def unreadable(error: OSError, path: Path) -> StorageFailed:
    """The same for reading: what can't be seen now isn't therefore lost."""
    return StorageFailed(f"can't read {path} ({error.strerror or error}): check the disk and its permissions")


class AppendOnlyFile:
    """A file that this object made, alone writes, and never truncates. Every method may raise OSError."""

    def __init__(self, path: Path) -> None:
        """Make the file; FileExistsError if there is one by that name."""
        self.path = path
        self.size = 0
        self.synced_size = 0
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, _MODE)

    def write(self, data: bytes) -> None:
        """Append all of it, in one call where the system takes it so."""
        reached(FaultPoint.MID_RECORD, (self._fd, data))
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        self.size += len(data)

    def sync(self) -> None:
        """Make all that was written survive a power cut, the file's name included."""
        os.fsync(self._fd)
        if not self.synced_size:
            for folder in (self.path.parent, self.path.parent.parent, self.path.parent.parent.parent):
                sync_folder(folder)
        self.synced_size = self.size

    def close(self) -> None:
        """Let go of it. What close may have to say about older writes, fsync has said, or nobody asked."""
        with suppress(OSError):
            os.close(self._fd)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_path(path: Path) -> None:
    """Make what was written to a file, by whomever, survive a power cut."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def create_next(folder: Path, name: Callable[[int], str], n: int) -> tuple[AppendOnlyFile, int]:
    """A new file of the first free number from n on, and the number after it.

    A name is only taken where an older ledger was put back beside newer segments; that file stays as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            return AppendOnlyFile(folder / name(n)), n + 1
        except FileExistsError:
            n += 1
