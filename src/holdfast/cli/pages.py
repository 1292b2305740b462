"""The rows of a site crawl, as they are exported and reported."""

from dataclasses import fields
from typing import Any

from holdfast.cli.show import limits, pace
from holdfast.domain.job import Job
from holdfast.output.export import Table
from holdfast.output.formats import ColumnType
from holdfast.output.report.figures import Seen
from holdfast.pipelines.site.rows import COLUMNS, page_row
from holdfast.pipelines.site.spec import SiteSpec
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
    item = record.item
    return page_row(
        item.url, item.depth, record.parent_url, record.data, reading, duplicate_of=record.same_as
    )


PAGES = Table("page", {name: _TYPES.get(name, ColumnType.TEXT) for name in COLUMNS}, _row)


def seen(record: RecordRow) -> Seen:
    """What a report looks at in a record."""
    data = record.data
    return Seen(
        url=record.item.url,
        kind=record.kind,
        status=data["status"],
        title=data.get("title", ""),
        content_type=data["content_type"].partition(";")[0].strip().lower(),
        size=data["size"],
        elapsed_ms=data["elapsed_ms"],
        links=data.get("links", 0),
        target=data.get("location", ""),
    )


def words_of(job: Job) -> tuple[tuple[str, str], ...]:
    """What a crawl was asked for beside its start URLs: what differs from the defaults, and the bounds."""
    spec = SiteSpec.from_json(job.spec)
    words = [("scope", spec.scope.value)]
    words += [
        (field.name.replace("_", " "), _word(value))
        for field in fields(spec)
        if field.name not in {"start_urls", "scope"} and (value := getattr(spec, field.name)) != field.default
    ]
    return (*words, ("limits", limits(job)), ("pace", pace(job)))


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_word, value))
    return "yes" if value is True else str(value)
