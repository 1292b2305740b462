"""The rows of a site crawl, as they are exported and reported."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.crawl.fields import Field
from holdfast.crawl.structured import COLUMNS as STRUCTURED
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Job
from holdfast.output.cdxj import Entry
from holdfast.output.export import Table
from holdfast.output.formats import ColumnType
from holdfast.output.report.figures import Seen
from holdfast.output.tree import Tree
from holdfast.pipelines.plugin.rows import ROW, row_of
from holdfast.pipelines.plugin.spec import PluginSpec
from holdfast.pipelines.site.markdown import MarkdownFiles
from holdfast.pipelines.site.mirror import Mirror
from holdfast.pipelines.site.places import Facts, Lookup
from holdfast.pipelines.site.rows import COLUMNS, Whence, extractor, page_row
from holdfast.pipelines.site.spec import KIND, SiteSpec
from holdfast.ports.ledger import Ledger, RecordRow
from holdfast.ports.segments import Reading

_TYPES = {
    "status": ColumnType.WHOLE,
    "depth": ColumnType.WHOLE,
    "size": ColumnType.WHOLE,
    "links": ColumnType.WHOLE,
    "elapsed_ms": ColumnType.REAL,
    "fetched_at": ColumnType.TIME,
    "noindex": ColumnType.FLAG,
    "rendered": ColumnType.FLAG,
    **dict.fromkeys(STRUCTURED, ColumnType.JSON),
}
_BY_NAME = {
    "text": ColumnType.TEXT,
    "whole": ColumnType.WHOLE,
    "real": ColumnType.REAL,
    "flag": ColumnType.FLAG,
    "json": ColumnType.JSON,
}


def rows(job: Job, more: Sequence[str] = ()) -> Table:
    """What the job is there for: the pages of a crawl, the records of a pipeline of one's own."""
    return pages(job, more) if job.kind == KIND else records(job, more)


def records(job: Job, more: Sequence[str] = ()) -> Table:
    """What somebody's own pipeline made of its pages. No plugin is needed for that."""
    if more:
        raise UsageError(f"--field is for crawls; the columns of {job.kind!r} are what its pipeline makes")
    columns = PluginSpec.from_json(job.spec).columns
    types = {"url": ColumnType.TEXT} | {name: _BY_NAME[of_type] for name, of_type in columns.items()}
    return Table(ROW, types, _RecordRow(tuple(columns)), unit="record")


@dataclass(frozen=True, slots=True)
class _RecordRow:
    """Makes those rows, in whatever process."""

    columns: tuple[str, ...]

    def __call__(self, record: RecordRow, reading: Reading | None) -> dict[str, Any]:
        del reading
        return row_of(self.columns, record.item.url, record.data)


def pages(job: Job, more: Sequence[str] = ()) -> Table:
    """The pages of a job, with its fields; `more` adds some, or puts others in the place of those of their names."""
    own = SiteSpec.from_json(job.spec).fields if job.kind == KIND else ()
    row = _PageRow((*own, *more))
    wanted = row.wanted
    columns = {name: _TYPES.get(name, ColumnType.TEXT) for name in COLUMNS}
    columns |= {field.name: _type(field) for field in wanted.fields}
    return Table("page", columns, row, _version(wanted.fields))


class _PageRow:
    """Makes the rows. What was asked for travels to other processes; what finds it is made anew there."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        self._fields = fields
        self.wanted = extractor(fields)

    def __call__(self, record: RecordRow, reading: Reading | None) -> dict[str, Any]:
        item = record.item
        whence = Whence(item.url, item.depth, record.parent_url, record.same_as, item.lastmod)
        return page_row(whence, record.data, reading, self.wanted)

    def __reduce__(self) -> tuple[type["_PageRow"], tuple[tuple[str, ...]]]:
        return _PageRow, (self._fields,)


def _version(fields: tuple[Field, ...]) -> str:
    return hashlib.blake2b(repr(fields).encode(), digest_size=8).hexdigest() if fields else ""


def _type(field: Field) -> ColumnType:
    if field.every:
        return ColumnType.JSON
    return ColumnType.REAL if field.number else ColumnType.TEXT


def entry_of(record: RecordRow) -> Entry:
    """What an archive says of a stored response."""
    data, facts = record.data, Facts.of(record.kind, record.data)
    return Entry(
        url=record.item.url,
        at=data["fetched_at"],
        mime=facts.essence or "application/octet-stream",
        status=data["status"],
        title=data["title"] if record.kind == "page" and facts.html else None,
        start=not record.item.depth,
    )


def tree_of(form: str, ledger: Ledger, job: Job) -> Tree:
    """The folder of files of that form, with the job's pages up to its last commit."""
    if job.kind != KIND:
        raise UsageError(f"--format {form} is for crawls; write the records of {job.kind!r} to a .jsonl, say")

    async def lookup(fingerprints: Sequence[bytes]) -> Mapping[bytes, tuple[str, Mapping[str, Any]]]:
        return await ledger.addressed(job.id, fingerprints, run=job.run, upto=job.commit_no)

    return _TREES[form](SiteSpec.from_json(job.spec), lookup)


_TREES: dict[str, Callable[[SiteSpec, Lookup], Tree]] = {"markdown": MarkdownFiles, "mirror": Mirror}


def seen(record: RecordRow) -> Seen:
    """What a report looks at in a record."""
    data = record.data
    return Seen(
        url=record.item.url,
        kind=record.kind,
        status=data.get("status", 0),
        title=data.get("title", ""),
        content_type=data.get("content_type", "").partition(";")[0].strip().lower(),
        size=data.get("size", 0),
        elapsed_ms=data.get("elapsed_ms", 0.0),
        links=data.get("links", 0),
        target=data.get("location", ""),
    )
