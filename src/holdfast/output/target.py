"""A file that appears whole or not at all: written under a temporary name beside it, synced, then renamed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from holdfast.domain.errors import StorageFailed, StorageFull, UsageError
from holdfast.ports.faults import FaultPoint, reached

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_BUFFER: Final = 1024 * 1024


def check_target(path: Path) -> None:
    """UsageError if the file can't be written there; asked before hours of crawling, not after them."""
    folder = path.parent
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name a file in it, such as {path / 'pages.jsonl'}")
    if not folder.is_dir():
        raise UsageError(f"there is no directory {folder} to write {path.name} to; make it, or name another")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"can't write to the directory {folder}; change its permissions, or name another file"
        )


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write here; the file takes its name at the end of the block, and only if nothing was raised.

    A file that stands there already is replaced by that rename and by nothing else. What a kill leaves behind
    is a hidden file named after this process. StorageFull and StorageFailed say what the disk refused.
    """
    # A symbolic link stays one: what it points to is replaced.
    place = path.resolve()
    temporary = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb", buffering=_BUFFER) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        reached(FaultPoint.MID_EXPORT, temporary)
        temporary.replace(place)
        sync_folder(place.parent)
    except OSError as error:
        raise refused(error, path) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def refused(error: OSError, path: Path) -> StorageFull | StorageFailed:
    """What the disk said, as a sentence that says what to do."""
    what = error.strerror or str(error)
    if error.errno in _NO_ROOM:
        return StorageFull(
            f"no room left to write {path}; free some space, then export again: the job is safe"
        )
    return StorageFailed(
        f"can't write {path} ({what}); check the disk and its permissions, then export again"
    )


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
