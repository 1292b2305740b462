"""A file that grows line by line while others read it, and how it is taken up again.

Whoever writes it holds a lock on it (flock, which dies with the process). A file is taken up where it stands, cut back
to the length that is known; or a new one is written under a hidden name, and takes the name once it holds what it
should. So nobody's late write can reach a file that somebody else goes on with: as long as it is locked, nobody does.
"""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from isal import isal_zlib

from holdfast.domain.commit import Streamed
from holdfast.output.target import sync_folder
from holdfast.ports.faults import FaultPoint, reached

_PIECE: Final = 1024 * 1024
_MODE: Final = 0o644


class Unfit(Exception):
    """A file that can't be taken up where the ledger left it; the message says what is the matter with it."""


class InUse(Unfit):
    """Another process writes to the file."""


class GrowingFile:
    """A file that this object alone writes. Every method may raise OSError."""

    def __init__(self, path: Path, fd: int, hidden: Path | None = None) -> None:
        self._path = path
        self._fd = fd
        self._hidden = hidden
        self.bytes = 0
        self.crc = 0

    @classmethod
    def taken_up(cls, path: Path, note: Streamed) -> Self:
        """The file that stands there, cut back to what the note knows of it; Unfit, or InUse, if that can't be."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            raise Unfit("is gone") from None
        try:
            _lock(fd)
            _refuse_unfit(fd, note)
            os.ftruncate(fd, note.bytes)
            os.lseek(fd, note.bytes, os.SEEK_SET)
        except BaseException:
            os.close(fd)
            raise
        file = cls(path, fd)
        file.bytes, file.crc = note.bytes, note.crc
        return file

    @classmethod
    def new(cls, path: Path) -> Self:
        """An empty one under a hidden name, which takes the file's own by `appear`."""
        hidden = path.with_name(f".{path.name}.{os.getpid()}.part")
        with suppress(FileNotFoundError):
            hidden.unlink()
        fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        _lock(fd)
        return cls(path, fd, hidden)

    @property
    def in_place(self) -> bool:
        """It has its name: what is in it, readers see."""
        return self._hidden is None

    def append(self, data: bytes) -> None:
        """Write whole lines."""
        reached(FaultPoint.MID_ROWS, (self._fd, data))
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        self.bytes += len(data)
        self.crc = isal_zlib.crc32(data, self.crc)

    def cut_back(self, note: Streamed) -> None:
        """Take back what was appended since."""
        os.ftruncate(self._fd, note.bytes)
        os.lseek(self._fd, note.bytes, os.SEEK_SET)
        self.bytes, self.crc = note.bytes, note.crc

    def appear(self) -> None:
        """Take the file's name, in the place of whatever has it."""
        if self._hidden is not None:
            self._hidden.replace(self._path)
            self._hidden = None

    def still_there(self) -> bool:
        """Whether the name still leads to it."""
        if self._hidden is not None:
            return True
        try:
            named = self._path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(self._fd))

    def sync(self) -> None:
        """Make it survive a power cut, its name included."""
        os.fsync(self._fd)
        sync_folder(self._path.parent)

    def close(self) -> None:
        """Let go of it, and of the lock. One that never took its name leaves nothing behind."""
        with suppress(OSError):
            os.close(self._fd)
        if self._hidden is not None:
            with suppress(OSError):
                self._hidden.unlink(missing_ok=True)


def _lock(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InUse("is still being written by another process") from None


def _refuse_unfit(fd: int, note: Streamed) -> None:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise Unfit("is no plain file")
    if found.st_size < note.bytes:
        raise Unfit(f"is shorter than the {note.bytes} bytes that were written to it")
    if _crc(fd, note.bytes) != note.crc:
        raise Unfit("doesn't hold what was written to it")


def _crc(fd: int, length: int) -> int:
    crc, left = 0, length
    while left:
        piece = os.read(fd, min(_PIECE, left))
        if not piece:
            break
        crc = isal_zlib.crc32(piece, crc)
        left -= len(piece)
    return crc
