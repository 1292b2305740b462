"""The rows of a site crawl, as they are exported."""

from typing import Any

from holdfast.output.export import Table
from holdfast.output.formats import ColumnType
from holdfast.pipelines.site.rows import COLUMNS, page_row
from holdfast.ports.ledger import RecordRow
from holdfast.ports.segments import Reading

_TYPES = {
    "status": ColumnType.WHOLE,
    "depth": ColumnType.WHOLE,
    "size": ColumnType.WHOLE,
    "links": ColumnType.WHOLE,
    "elapsed_ms": ColumnType.REAL,
    "fetched_at": ColumnType.TIME,
}


def _row(record: RecordRow, reading: Reading | None) -> dict[str, Any]:
    return page_row(record.item.url, record.item.depth, record.parent_url, record.data, reading)


PAGES = Table("page", {name: _TYPES.get(name, ColumnType.TEXT) for name in COLUMNS}, _row)
