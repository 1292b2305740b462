"""Reading segments: one record by its place, or all of them in order."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from isal import isal_zlib

from holdfast.domain.commit import Location
from holdfast.ports.segments import DamagedRecord, Reading
from holdfast.web.warc.parse import inflate, reading

_GZIP: Final = 31
_MAGIC: Final = b"\x1f\x8b\x08"
_FEED: Final = 16 * 1024
"""So much at once for a decompressor that finds a record's end by itself: what it leaves over is copied."""
_BUFFER: Final = 1024 * 1024
_IsalError: Final[type[Exception]] = isal_zlib.error  # type: ignore[assignment]  # its stub takes it for an instance


def read(path: Path, location: Location, cap: int) -> Reading:
    """The exchange at that place of the file; DamagedRecord, with the place in its message, if it isn't a whole one."""
    try:
        if location.offset < 0 or location.length <= 0:
            raise DamagedRecord("no such range")
        with path.open("rb", buffering=0) as file:
            file.seek(location.offset)
            member = _read_exactly(file, location.length)
        found = reading(inflate(member, cap), location)
        if found is None:
            raise DamagedRecord("neither a response nor a revisit")
    except OSError as error:
        raise DamagedRecord(_at(location, str(error.strerror or error))) from error
    except DamagedRecord as error:
        raise DamagedRecord(_at(location, str(error))) from error
    return found


def scan(path: Path, segment: str, committed: int, cap: int) -> Iterator[Reading | DamagedRecord]:
    """Every response and revisit in the first `committed` bytes, in order.

    A damaged record stands in its place. Where its end can't be told, the walk goes on at the next gzip member
    within reach that is whole.
    """
    try:
        with path.open("rb") as file:
            yield from _Walk(file, segment, committed, cap).readings()
    except OSError as error:
        yield DamagedRecord(_at(Location(segment, 0, committed), str(error.strerror or error)))


def _at(location: Location, what: str) -> str:
    return f"{location.segment}, bytes {location.offset} to {location.offset + location.length}: {what}"


def _read_exactly(file: BinaryIO, length: int) -> bytes:
    pieces = []
    while length:
        piece = file.read(length)
        if not piece:
            raise DamagedRecord(f"the file ends {length} bytes too early")
        pieces.append(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
