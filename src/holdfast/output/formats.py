"""The formats of rows, told by a file's ending."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import orjson

from holdfast.domain.errors import UsageError

Row = Mapping[str, Any]
WARC: Final = ".warc.gz"
WACZ: Final = ".wacz"
CDXJ: Final = ".cdxj"
ARCHIVES: Final = (WARC, WACZ, CDXJ)
"""Endings of files that hold stored responses, or say where they lie, and no rows."""
_GZIP_LEVEL: Final = 2
"""isal's own scale: about zlib's 6 in size at a fifth of its cost."""


class ColumnType(Enum):
    """What a column holds. Any value may be None."""

    TEXT = "text"
    WHOLE = "whole number"
    REAL = "number"
    TIME = "ISO 8601 time in UTC"
    JSON = "JSON value"
    """Plain values with texts that UTF-8 can hold. In JSON lines itself, elsewhere as its text."""
    FLAG = "true or false"


Columns = Mapping[str, ColumnType]


class RowWriter(Protocol):
    """Writes rows in the order given."""

    def write(self, rows: Iterable[Row]) -> None:
        """Append these rows; each has exactly the columns that the writer was opened with."""


Opened = AbstractContextManager[RowWriter]


def ending_of(path: Path) -> str:
    """The known ending of the file's name; UsageError names those that are known."""
    name = path.name.lower()
    for ending in (*_WRITERS, *ARCHIVES):
        if name.endswith(ending) and name != ending:
            return ending
    known = ", ".join((*_WRITERS, *ARCHIVES))
    raise UsageError(
        f"can't tell the format of {path.name!r} by its ending; use one of: {known}; "
        "or, for a directory, --format markdown or --format mirror"
    )


def open_rows(ending: str, file: BinaryIO, columns: Columns) -> Opened:
    """A writer of that format; the format's own end is written when the block ends."""
    return _WRITERS[ending](file, columns)


class _Lines:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, rows: Iterable[Row]) -> None:
        self._file.write(b"".join(orjson.dumps(sound(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows))


class _Commas:
    def __init__(self, file: BinaryIO, columns: Columns) -> None:
        self._file = file
        self._names = list(columns)
        self._flat = flattening(columns)
        self._put([self._names])

    def write(self, rows: Iterable[Row]) -> None:
        self._put([_cell(whole[name]) for name in self._names] for whole in map(self._flat, rows))

    def _put(self, lines: Iterable[list[Any]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\r\n").writerows(lines)
        self._file.write(text.getvalue().encode())


def _cell(value: object) -> object:
    """As in JSON, where Python would write its own words."""
    return str(value).lower() if isinstance(value, bool) else value


@contextmanager
def _jsonl(file: BinaryIO, columns: Columns) -> Iterator[RowWriter]:  # noqa: ARG001 - JSON names its columns in each row
    yield _Lines(file)


@contextmanager
def _jsonl_gz(file: BinaryIO, columns: Columns) -> Iterator[RowWriter]:  # noqa: ARG001 - likewise
    from isal import igzip

    # No name and no time: the same rows give the same file.
    packed: BinaryIO = igzip.IGzipFile("", "wb", _GZIP_LEVEL, file, 0)  # type: ignore[no-untyped-call, assignment]
    with packed:
        yield _Lines(packed)


@contextmanager
def _csv(file: BinaryIO, columns: Columns) -> Iterator[RowWriter]:
    yield _Commas(file, columns)


@contextmanager
def _parquet(file: BinaryIO, columns: Columns) -> Iterator[RowWriter]:
    from holdfast.output.parquet import ParquetRows

    writer = ParquetRows(file, columns)
    try:
        yield writer
    finally:
        writer.close()


_WRITERS: Final[Mapping[str, Callable[[BinaryIO, Columns], Opened]]] = {
    ".jsonl": _jsonl,
    ".jsonl.gz": _jsonl_gz,
    ".csv": _csv,
    ".parquet": _parquet,
}


def flattening(columns: Columns) -> Callable[[Row], Row]:
    """For formats without nested values: makes rows sound, with their JSON as text."""
    nested = [name for name, kind in columns.items() if kind is ColumnType.JSON]

    def flat(row: Row) -> Row:
        texts = {name: orjson.dumps(row[name]).decode() for name in nested if row[name] is not None}
        return sound({**row, **texts} if texts else row)

    return flat


def sound(row: Row) -> Row:
    """The row with texts that UTF-8 can hold: a lone surrogate, which is no character, becomes U+FFFD."""
    try:
        for value in row.values():
            if isinstance(value, str):
                value.encode()
    except UnicodeEncodeError:
        return {name: _sound_text(value) if isinstance(value, str) else value for name, value in row.items()}
    return row


def _sound_text(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
