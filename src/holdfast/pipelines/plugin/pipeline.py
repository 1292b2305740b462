"""A plugin as the engine knows pipelines: its first items, and what a stored page gives when it is visited again."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from holdfast.crawl.setbacks import ROBOTS
from holdfast.domain.errors import UsageError
from holdfast.domain.item import Found, Item, Record
from holdfast.domain.job import Job, Limits
from holdfast.domain.url import MAX_URL_BYTES, fingerprint_as, join_location, origin
from holdfast.pipelines.plugin.finding import made
from holdfast.pipelines.plugin.spec import PluginSpec
from holdfast.pipelines.plugin.visiting import Visited, VisitFailed, Visitor
from holdfast.plugin import Page, Pipeline
from holdfast.ports.pipeline import Revised, Verdict
from holdfast.ports.segments import Reading

PAGE = "page"
"""The record of a page, with its evidence; what its visit gave stands behind it."""
TOO_DEEP = "depth"
TOO_LONG = "too_long"


def found(lead: tuple[str, str], stage: int, depth: int, parent: int | None, max_depth: int | None) -> Found:
    """A lead as a finding. The same address is an item of each kind as which it is named."""
    kind, url = lead
    skip = TOO_DEEP if max_depth is not None and depth > max_depth else None
    skip = TOO_LONG if len(url) > MAX_URL_BYTES else skip
    return Found(url, fingerprint_as(kind, url), origin(url), depth, kind, parent, skip, stage=stage)


def findings(visited: Visited, visitor: Visitor, item: Item, max_depth: int | None) -> list[Found]:
    """What a page leads to."""
    return [
        found(lead, visitor.stages[lead[0]], item.depth + 1, item.id, max_depth) for lead in visited.leads
    ]


def redirected_to(target: str, visitor: Visitor, item: Item) -> Found:
    """What a redirect leads to: as deep, and of the same kind."""
    return found((item.kind, target), visitor.stages.get(item.kind, 0), item.depth, item.id, None)


class PluginPipeline:
    """Jobs of one kind that somebody else wrote."""

    def __init__(self, plugin: type[Pipeline]) -> None:
        self._plugin = plugin
        self._made: tuple[Mapping[str, Any], Visitor] | None = None

    @property
    def kind(self) -> str:
        """As its author named it."""
        return self._plugin.kind

    @property
    def phases(self) -> tuple[str, ...]:
        """In their order."""
        return self._plugin.phases

    def visitor(self, spec: Mapping[str, Any]) -> Visitor:
        """What visits for a job; made once for many pages."""
        if self._made is None or self._made[0] != spec:
            options = PluginSpec.from_json(spec).options
            self._made = spec, Visitor(made(self._plugin, options))
        return self._made[1]

    def seeds(self, spec: Mapping[str, Any], limits: Limits) -> list[Found]:
        """What `start` gives."""
        visitor = self.visitor(spec)
        try:
            leads = visitor.first_leads()
        except VisitFailed as error:
            raise UsageError(f"the pipeline {self.kind!r} can't begin: {error}") from error
        return [found(lead, visitor.stages[lead[0]], 0, None, limits.max_depth) for lead in leads]

    @property
    def judged(self) -> frozenset[str]:
        """Where an item leads is its pipeline's to say; only its depth is judged."""
        return frozenset({TOO_DEEP})

    def revised(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Revised:
        """Start addresses are added; what robots.txt shut out comes back once it is no longer asked."""
        was, asked = PluginSpec.from_json(old), PluginSpec.from_json(new)
        start_urls = tuple(dict.fromkeys((*was.start_urls, *asked.start_urls)))
        asks_no_more = asked.ignore_robots and not was.ignore_robots
        return Revised(
            spec=replace(asked, start_urls=start_urls).to_json(),
            readmitted=frozenset({ROBOTS} if asks_no_more else ()),
            begins=len(start_urls) > len(was.start_urls),
        )

    def verdict(
        self,
        spec: Mapping[str, Any],  # noqa: ARG002 - depth is all that is judged
        limits: Limits,
        cursor: Mapping[str, Any],  # noqa: ARG002 - likewise
    ) -> Verdict:
        """By depth alone."""

        def verdict(_url: str, depth: int, _kind: str) -> str | None:
            too_deep = limits.max_depth is not None and depth > limits.max_depth
            return TOO_DEEP if too_deep else None

        return verdict

    def relink(
        self,
        job: Job,
        cursor: Mapping[str, Any],  # noqa: ARG002 - there are no notes
        item: Item,
        record: Record,
        reading: Reading | None,
    ) -> Iterable[Found]:
        """Where the stored page leads when it is visited again. VisitFailed if that raises, or gives other records."""
        visitor = self.visitor(job.spec)
        if record.kind == "redirect":
            headers = () if reading is None else reading.headers
            stored = next((value for key, value in headers if key.lower() == "location"), "")
            target = join_location(item.url, stored) or record.data["location"]
            return (redirected_to(target, visitor, item),)
        if record.kind != PAGE or reading is None:
            return ()
        page = Page(item.url, item.kind, record.data["status"], reading.headers, reading.body)
        visited = visitor.visit(page)
        if not item.rejudge and visited.digest != record.data["records_sha256"]:
            raise VisitFailed("visiting it again gives other records than are stored")
        return findings(visited, visitor, item, job.limits.max_depth)
