"""The row of a page, as it is exported. Its text is derived from the stored body here and nowhere else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from holdfast.crawl.content import Content
from holdfast.crawl.fields import Extractor, read_fields
from holdfast.crawl.structured import COLUMNS as STRUCTURED
from holdfast.crawl.structured import structured
from holdfast.domain.errors import UsageError
from holdfast.ports.segments import Reading

COLUMNS = (
    "url",
    "status",
    "depth",
    "parent",
    "title",
    "kind",
    "content_type",
    "fetched_at",
    "sha256",
    "size",
    "text",
    "links",
    "lang",
    "description",
    "canonical",
    "noindex",
    "rendered",
    "lastmod",
    "charset",
    "http_version",
    "elapsed_ms",
    "duplicate_of",
    *STRUCTURED,
)
"""The columns of every page row, in order. Behind them come the fields of the job."""


def extractor(*asked: Sequence[str]) -> Extractor:
    """What finds the fields that were asked for: of a name, the last one. UsageError says which one can't be found."""
    fields = read_fields([text for texts in asked for text in texts])
    for field in fields:
        if field.name in COLUMNS:
            raise UsageError(f"each row has a column {field.name} already; give the field another name")
    return Extractor(fields)


@dataclass(frozen=True, slots=True)
class Whence:
    """How a page was found, and what it was found to be."""

    url: str
    depth: int
    parent: str | None
    duplicate_of: str | None = None
    """The address under which the very same body is stored."""
    lastmod: str | None = None
    """When it changed last, as its sitemap says."""


def page_row(
    whence: Whence, data: Mapping[str, Any], reading: Reading | None, wanted: Extractor | None = None
) -> dict[str, Any]:
    """The row of a page record. `reading` has to hold the payload itself; without one the text is empty."""
    content = None if reading is None else Content(reading.body, data["content_type"], data["charset"])
    derived = {
        "url": whence.url,
        "depth": whence.depth,
        "parent": whence.parent,
        "duplicate_of": whence.duplicate_of,
        "lastmod": whence.lastmod,
        "fetched_at": iso(data["fetched_at"]),
        "content_type": data["content_type"].partition(";")[0].strip().lower(),
        "text": "" if content is None else content.text,
        "rendered": data.get("rendered", False),
        **structured(content, whence.url),
    }
    row = {column: derived[column] if column in derived else data[column] for column in COLUMNS}
    return row if wanted is None else row | wanted.values(content)


def iso(at: float) -> str:
    """A time as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def text_of(data: Mapping[str, Any], body: bytes) -> str:
    """What a reader sees of a page."""
    return Content(body, data["content_type"], data["charset"]).text
