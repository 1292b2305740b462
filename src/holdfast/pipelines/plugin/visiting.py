"""Calls a pipeline's `visit`, and looks at everything that it gives before anybody else does."""

from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from holdfast.domain.item import digest_of
from holdfast.domain.url import join
from holdfast.pipelines.plugin.finding import kinds_of
from holdfast.plugin import Lead, Page, Pipeline

MAX_GIVEN: Final = 100_000
"""So many leads and records a page may give."""
MAX_ROWS_BYTES: Final = 16 * 1024 * 1024
"""So large its records may be together."""


class VisitFailed(ValueError):
    """The pipeline raised, or gave what can't be used."""


@dataclass(frozen=True, slots=True)
class Visited:
    """What a page gave, checked."""

    leads: tuple[tuple[str, str], ...]
    """Kinds and canonical URLs, each pair once, without the page itself."""
    rows: tuple[dict[str, Any], ...]
    """Records: plain JSON values, None where a column was left out."""
    digest: str
    """Of the records: the same page gives the same ones again."""


class Visitor:
    """Visits with one pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._columns = pipeline.columns
        self.stages = kinds_of(type(pipeline))
        """The kinds of items, with the numbers of their phases."""

    def first_leads(self) -> list[tuple[str, str]]:
        """Where the job begins: kinds and canonical URLs, each pair once. VisitFailed if there are none."""
        first = next(iter(self.stages))
        try:
            given = [Lead(one) if isinstance(one, str) else one for one in self._pipeline.start()]
        except (Exception, SystemExit) as error:
            raise VisitFailed(f"start() failed: {type(error).__name__}: {error}") from error
        leads = [self._lead(one, "about:blank", first) for one in given]
        if not leads:
            raise VisitFailed("start() gives no address")
        return list(dict.fromkeys(leads))

    def visit(self, page: Page) -> Visited:
        """What the page gives. VisitFailed for whatever its author did wrong, with what that was as its cause."""
        leads: dict[tuple[str, str], None] = {}
        rows: list[dict[str, Any]] = []
        size = 0
        for number, given in enumerate(self._given(page)):
            if number >= MAX_GIVEN:
                raise VisitFailed(f"visit() gives more than {MAX_GIVEN:,} leads and records for a page")
            if isinstance(given, Lead):
                leads[self._lead(given, page.base, page.kind)] = None
            elif given is not None:
                written = self._row(given)
                size += len(written)
                if size > MAX_ROWS_BYTES:
                    raise VisitFailed(f"the records of a page are larger than {MAX_ROWS_BYTES:,} bytes")
                rows.append(orjson.loads(written))
        leads.pop((page.kind, page.url), None)
        return Visited(tuple(leads), tuple(rows), digest_of(rows))

    def _given(self, page: Page) -> Iterator[object]:
        try:
            yield from _iterated(self._pipeline.visit(page))
        except VisitFailed:
            raise
        except (Exception, SystemExit) as error:
            # Not even sys.exit() in there is to end more than this page.
            raise VisitFailed(f"visit() raised {type(error).__name__}: {error}") from error

    def _lead(self, lead: object, base: str, kind: str) -> tuple[str, str]:
        if not isinstance(lead, Lead) or not isinstance(lead.url, str):
            raise VisitFailed(f"start() gives URLs and leads, not {lead!r:.200}")
        kind = lead.kind or kind
        if kind not in self.stages:
            raise VisitFailed(f"there is no kind of item {kind!r}; there are: {', '.join(self.stages)}")
        url = join(base, lead.url)
        if url is None:
            raise VisitFailed(f"{lead.url!r:.200} leads to no page")
        return kind, url

    def _row(self, given: object) -> bytes:
        if not isinstance(given, Mapping):
            raise VisitFailed(f"visit() gives leads and records (a dict), not {given!r:.200}")
        unknown = next((name for name in given if name not in self._columns), None)
        if unknown is not None:
            raise VisitFailed(
                f"a record has {unknown!r}, which is none of its columns: {', '.join(self._columns)}"
            )
        row = {}
        for name, of_type in self._columns.items():
            value = given.get(name)
            if of_type is float and type(value) is int:
                value = float(value)
            if value is not None and type(value) is not of_type:
                raise VisitFailed(f"the column {name!r} holds {of_type.__name__}, not {value!r:.200}")
            row[name] = value
        try:
            return orjson.dumps(row)
        except TypeError as error:
            # What JSON can't say must not be found out by the commit.
            raise VisitFailed(f"a record can't be written as JSON: {error}") from error


def _iterated(given: object) -> Iterable[object]:
    if given is None:
        return ()
    if not isinstance(given, Iterable) or isinstance(given, Mapping | str | bytes):
        if isinstance(given, Coroutine):
            given.close()
        raise VisitFailed("visit() is a generator or gives a list, and is not async")
    return given
