"""A page as it is kept: what was written down of it at once, text and body when they are asked for."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdfast.crawl import readers
from holdfast.engine.rejudge import read_body

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.domain.job import Job
    from holdfast.output.export import Table
    from holdfast.ports.ledger import RecordRow
    from holdfast.ports.segments import Reading


class Page:
    """One page of a job."""

    def __init__(self, home: "Home", job: "Job", record: "RecordRow", table: "Table") -> None:
        self._home, self._job, self._record, self._table = home, job, record, table

    def __repr__(self) -> str:
        return f"<Page {self.url}>"

    @property
    def url(self) -> str:
        """Its canonical URL."""
        return self._record.item.url

    @property
    def depth(self) -> int:
        """How many links deep it was found."""
        return self._record.item.depth

    @property
    def parent(self) -> str | None:
        """On which page; None for a start URL."""
        return self._record.parent_url

    @property
    def status(self) -> int:
        """The HTTP status."""
        return int(self._data["status"])

    @property
    def title(self) -> str:
        """From the HTML."""
        return str(self._data["title"])

    @property
    def content_type(self) -> str:
        """As it was sent, with its parameters."""
        return str(self._data["content_type"])

    @property
    def fetched_at(self) -> datetime:
        """When, in UTC."""
        return datetime.fromtimestamp(self._data["fetched_at"], UTC)

    @property
    def size(self) -> int:
        """Of the decoded body, in bytes."""
        return int(self._data["size"])

    @property
    def sha256(self) -> str:
        """Of the decoded body."""
        return str(self._data["sha256"])

    @cached_property
    def body(self) -> bytes:
        """The decoded body, read from its segment. DamagedRecord if it isn't there any more as it was."""
        return b"" if self._reading is None else self._reading.body

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The response's, in their order."""
        return () if self._reading is None else self._reading.headers

    @cached_property
    def text(self) -> str:
        """What a reader sees of it, made from the body."""
        return readers.text(self.body, self._data["content_type"], self._data["charset"])

    @cached_property
    def row(self) -> Mapping[str, Any]:
        """All columns of `holdfast export`, text and fields included."""
        return self._table.row_of(self._record, self._reading)

    @property
    def _data(self) -> Mapping[str, Any]:
        return self._record.data

    @cached_property
    def _reading(self) -> "Reading | None":
        return read_body(self._home.tools, self._job, self._record)
