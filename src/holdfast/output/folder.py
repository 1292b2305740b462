"""A folder that appears whole or not at all: filled under a hidden name beside it, then put in its place at once.

What stands there already is replaced only if it is an export of ours, which a marker file in it says, or if it is
empty. Nobody else's folder is ever touched.
"""

import ctypes
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Final

from holdfast.domain.errors import StorageFailed, UsageError
from holdfast.output.target import refused, sync_folder
from holdfast.ports.faults import FaultPoint, reached

MARKER: Final = ".holdfast-export"
"""Says that all of a folder is ours. Locked while it is being filled."""
_PART: Final = ".part"
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2


def check_folder(path: Path) -> None:
    """UsageError if a folder can't be written there; asked before hours of crawling, not after them."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UsageError(f"{path} is no directory; name one that is to be made")
    if path.is_dir() and not _ours(path) and any(path.iterdir()):
        raise UsageError(
            f"{path} holds something that Holdfast didn't export, and won't be touched; name a new directory"
        )
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"there is no directory {folder} to make {path.name} in; make it, or name another")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"can't write to the directory {folder}; change its permissions, or name another")


@contextmanager
def whole_folder(path: Path, about: Mapping[str, object]) -> Iterator[Path]:
    """Fill the folder that is given; it takes its name at the end of the block, and only if nothing was raised.

    What a kill leaves behind is a hidden folder beside, which the next export of that name removes. `about` is written
    into the marker. StorageFull and StorageFailed say what the disk refused.
    """
    place = path.absolute()
    _sweep(place)
    temporary = place.with_name(f".{place.name}.{os.getpid()}{_PART}")
    try:
        temporary.mkdir()
        with _marked(temporary, about):
            yield temporary
            os.sync()
            reached(FaultPoint.MID_EXPORT, temporary)
            _put(temporary, place, path)
    except OSError as error:
        raise refused(error, path) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _marked(folder: Path, about: Mapping[str, object]) -> Iterator[None]:
    with (folder / MARKER).open("x", encoding="utf-8") as marker:
        fcntl.flock(marker, fcntl.LOCK_EX)
        json.dump(about, marker)
        marker.write("\n")
        marker.flush()
        yield


def _ours(folder: Path) -> bool:
    return (folder / MARKER).is_file()


def _put(temporary: Path, place: Path, path: Path) -> None:
    """The new folder in the place of the old one, which then has the temporary name."""
    with suppress(OSError):
        # Onto nothing, or onto an empty folder.
        temporary.rename(place)
        sync_folder(place.parent)
        return
    if not _ours(place):
        raise StorageFailed(f"{path} came to be meanwhile, and holds something else; name a new directory")
    _exchange(temporary, place)
    sync_folder(place.parent)


def _exchange(one: Path, other: Path) -> None:
    """Swap two names in one step where the system can; else in two, between which the old folder is beside, hidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    swap = getattr(libc, "renameat2", None)
    if swap is not None:
        if swap(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
            return
        number = ctypes.get_errno()
        if number not in {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}:
            raise OSError(number, os.strerror(number), os.fspath(other))
    aside = one.with_name(f"{one.name}.old")
    other.rename(aside)
    one.rename(other)
    aside.rename(one)


def _sweep(place: Path) -> None:
    """Remove what earlier exports of that name left that were killed: their markers are locked by nobody."""
    for left in place.parent.glob(f".{escape(place.name)}.*{_PART}"):
        with suppress(OSError), (left / MARKER).open("r", encoding="utf-8") as marker:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
