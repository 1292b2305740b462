"""Rows as Parquet. Imported only where one is written: pyarrow takes half a second."""

from collections.abc import Iterable
from datetime import datetime
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.output.formats import Columns, ColumnType, Row, flattening

_GROUP_ROWS: Final = 5_000
_GROUP_CHARS: Final = 16 * 1024 * 1024
"""A row group is written when it has so many rows or so much text: that is what bounds memory."""
_TYPES: Final = {
    ColumnType.TEXT: pa.large_string(),
    ColumnType.WHOLE: pa.int64(),
    ColumnType.REAL: pa.float64(),
    ColumnType.FLAG: pa.bool_(),
    ColumnType.TIME: pa.timestamp("ms", tz="UTC"),
    ColumnType.JSON: pa.large_string(),
}


class ParquetRows:
    """Writes row groups; `close` writes what is left and the footer, without which the file is none."""

    def __init__(self, file: BinaryIO, columns: Columns) -> None:
        self._columns = columns
        self._flat = flattening(columns)
        self._schema = pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd")
        self._waiting: list[Row] = []
        self._chars = 0

    def write(self, rows: Iterable[Row]) -> None:
        """Append these rows."""
        for row in map(self._flat, rows):
            self._waiting.append(row)
            self._chars += sum(len(value) for value in row.values() if isinstance(value, str))
            if len(self._waiting) >= _GROUP_ROWS or self._chars >= _GROUP_CHARS:
                self._flush()

    def close(self) -> None:
        """Finish the file."""
        try:
            self._flush()
        finally:
            self._writer.close()

    def _flush(self) -> None:
        if not self._waiting:
            return
        arrays = [
            pa.array([_value(row[name], kind) for row in self._waiting], _TYPES[kind])
            for name, kind in self._columns.items()
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._waiting, self._chars = [], 0


def _value(value: object, kind: ColumnType) -> object:
    return datetime.fromisoformat(value) if kind is ColumnType.TIME and isinstance(value, str) else value
