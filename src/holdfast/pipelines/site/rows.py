"""The row of a page, as it is exported. Its text is derived from the stored body here and nowhere else."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from holdfast.crawl.readers import text
from holdfast.ports.segments import Reading

COLUMNS = (
    "url",
    "status",
    "depth",
    "parent",
    "title",
    "content_type",
    "fetched_at",
    "sha256",
    "size",
    "text",
    "links",
    "lang",
    "description",
    "canonical",
    "charset",
    "http_version",
    "elapsed_ms",
    "duplicate_of",
)
"""The columns of a page row, in order."""


def page_row(
    item_url: str,
    depth: int,
    parent_url: str | None,
    data: Mapping[str, Any],
    reading: Reading | None,
    *,
    duplicate_of: str | None = None,
) -> dict[str, Any]:
    """The row of a page record. `reading` has to hold the payload itself; without one the text is empty.

    `duplicate_of` is the address under which the very same body is stored.
    """
    derived = {
        "duplicate_of": duplicate_of,
        "url": item_url,
        "depth": depth,
        "parent": parent_url,
        "fetched_at": _iso(data["fetched_at"]),
        "content_type": data["content_type"].partition(";")[0].strip().lower(),
        "text": "" if reading is None else text(reading.body, data["content_type"], data["charset"]),
    }
    return {column: derived[column] if column in derived else data[column] for column in COLUMNS}


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
