"""Reading segments: one record by its place, or all of them in order."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from isal import isal_zlib

from holdfast.domain.commit import Location
from holdfast.ports.segments import DamagedRecord, Reading
from holdfast.web.warc.files import unreadable
from holdfast.web.warc.parse import GZIP, VERSION_LINE, IsalError, inflate, reading

_MAGIC: Final = b"\x1f\x8b\x08"
_FEED: Final = 16 * 1024
"""So much at once for a decompressor that has to find a record's end: what it leaves over is copied."""
_BUFFER: Final = 1024 * 1024
_GONE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
"""No file is there; any other error of the system may pass."""


def read(path: Path, location: Location, cap: int) -> Reading:
    """The exchange at that place of the file; DamagedRecord, which names the place, if it isn't one.

    StorageFailed when the file is there and can't be read now (too many open files, say): that is no damage.
    """
    try:
        found = reading(inflate(_member_at(path, location), cap), location)
    except _GONE as error:
        raise DamagedRecord(_at(location, str(error.strerror or error))) from error
    except OSError as error:
        raise unreadable(error, path) from error
    except DamagedRecord as error:
        raise DamagedRecord(_at(location, str(error))) from error
    if found is None:
        raise DamagedRecord(_at(location, "neither a response nor a revisit"))
    return found


def scan(path: Path, segment: str, committed: int, cap: int) -> Iterator[Reading | DamagedRecord]:
    """Every response and revisit in the first `committed` bytes, in order.

    A damaged record stands in its place. Where its end can't be told, the walk goes on at the next WARC
    record that is whole.
    """
    try:
        with path.open("rb", buffering=_BUFFER) as file:
            yield from _Walk(file, segment, committed, cap).readings()
    except _GONE as error:
        yield DamagedRecord(_at(Location(segment, 0, committed), str(error.strerror or error)))
    except OSError as error:
        raise unreadable(error, path) from error


def _at(location: Location, what: str) -> str:
    return f"{location.segment}, bytes {location.offset} to {location.offset + location.length}: {what}"


def _member_at(path: Path, location: Location) -> bytes:
    if location.offset < 0 or location.length <= 0:
        raise DamagedRecord("no such range")
    with path.open("rb", buffering=0) as file:
        if location.offset + location.length > os.fstat(file.fileno()).st_size:
            raise DamagedRecord("the file ends before")
        file.seek(location.offset)
        data = file.read(location.length)
        while len(data) < location.length:  # one call gives 2 GiB at most, and the file may be shorter by now
            more = file.read(location.length - len(data))
            if not more:
                raise DamagedRecord("the file ends before")
            data += more
        return data


class _Walk:
    """One pass over a segment, member by member."""

    def __init__(self, file: BinaryIO, segment: str, committed: int, cap: int) -> None:
        self._file = file
        self._segment = segment
        self._committed = committed
        self._cap = cap

    def readings(self) -> Iterator[Reading | DamagedRecord]:
        offset = 0
        while offset < self._committed:
            try:
                record, length = self._member(offset)
            except DamagedRecord as error:
                end = self._next_whole(offset + 1)
                yield DamagedRecord(_at(Location(self._segment, offset, end - offset), str(error)))
                offset = end
                continue
            location = Location(self._segment, offset, length)
            offset += length
            try:
                found = reading(record, location)
            except DamagedRecord as error:
                yield DamagedRecord(_at(location, str(error)))
                continue
            if found is not None:
                yield found

    def _member(self, offset: int) -> tuple[bytes, int]:
        """What the gzip member that begins there holds, and its length."""
        stream = isal_zlib.decompressobj(GZIP)
        pieces: list[bytes] = []
        size, position = 0, offset
        self._file.seek(offset)
        while not stream.eof:
            fed = self._file.read(min(_FEED, self._committed - position))
            if not fed:
                raise DamagedRecord("the segment ends within a record")
            position += len(fed)
            while True:
                try:
                    piece = stream.decompress(fed, self._cap - size + 1)
                except IsalError as error:
                    raise DamagedRecord(f"not a gzip member: {error}") from None
                pieces.append(piece)
                size += len(piece)
                if size > self._cap:
                    raise DamagedRecord(f"more than the {self._cap} bytes that one record may have")
                fed = stream.unconsumed_tail
                if not fed:
                    break
        return b"".join(pieces), position - len(stream.unused_data) - offset

    def _next_whole(self, start: int) -> int:
        """Where the next whole WARC record begins; the committed length if none follows."""
        position = start
        while position < self._committed:
            self._file.seek(position)
            window = self._file.read(min(_BUFFER, self._committed - position))
            if not window:
                break
            found = window.find(_MAGIC)
            while found >= 0:
                if self._is_record(position + found):
                    return position + found
                found = window.find(_MAGIC, found + 1)
            position += max(len(window) - len(_MAGIC) + 1, 1)
        return self._committed

    def _is_record(self, offset: int) -> bool:
        try:
            return self._member(offset)[0].startswith(VERSION_LINE)
        except DamagedRecord:
            return False
