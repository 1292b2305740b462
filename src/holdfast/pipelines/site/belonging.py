"""What belongs to the crawl as one claim knows it: the notes, the judge that they make, the links it has reported."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from holdfast.crawl.document import Entry
from holdfast.domain.item import Found, Item
from holdfast.pipelines.site.discovery import PAGE
from holdfast.pipelines.site.families import Families
from holdfast.pipelines.site.leads import Leads
from holdfast.pipelines.site.links import NO_DATES, Link, Links
from holdfast.pipelines.site.seeds import Notes, judge_for
from holdfast.pipelines.site.spec import SiteSpec

_MANY_LINKS = 1000
Judged = TypeVar("Judged")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a response leads to, resolved and judged, and not yet reported."""

    leads: Leads
    links: list[Link]
    shunned: list[Link]
    dates: Mapping[str, str]

    @property
    def count(self) -> int:
        """How many links there are."""
        return len(self.links) + len(self.shunned)


class Belonging:
    """Grows when a start URL leads elsewhere. All that judges in a claim asks here, each time anew."""

    def __init__(
        self, spec: SiteSpec, max_depth: int | None, cursor: Mapping[str, Any], outside: Collection[str]
    ) -> None:
        self._spec = spec
        self._max_depth = max_depth
        self.notes = Notes.read(cursor)
        self.judge = judge_for(spec, max_depth, self.notes)
        self.families = Families(self.notes.barren, avoid=spec.traps.avoid)
        self._links = Links(self.judge, max_external=spec.max_external, outside=outside)

    def widen(self, target: str) -> None:
        """A start URL leads there, so that is what the crawl is about."""
        self.notes = replace(self.notes, seeds=(*self.notes.seeds, target))
        self.judge = judge_for(self._spec, self._max_depth, self.notes)
        self._links.widen(self.judge)

    def close_family(self, name: str) -> None:
        """Addresses like these gave nothing new for long."""
        self.notes = replace(self.notes, barren=(*self.notes.barren, name))

    async def gather(self, leads: Leads) -> Gathered:
        """Every address that the leads hold; many of them without holding the loop."""
        if not leads.entries and len(leads.links) + len(leads.shunned) <= _MANY_LINKS:
            links = self._links.resolve(leads.base, leads.links)
            shunned = self._links.resolve(leads.base, leads.shunned) if leads.shunned else []
            return Gathered(leads, links, _without(shunned, links), NO_DATES)
        return await self._steadily(lambda: self._gather_many(leads))

    async def _gather_many(self, leads: Leads) -> Gathered:
        links = await self._in_slices(leads.links, lambda hrefs: self._links.resolve(leads.base, hrefs))
        shunned = await self._in_slices(leads.shunned, lambda hrefs: self._links.resolve(leads.base, hrefs))
        dates: dict[str, str] = {}
        join = self.judge.joining(leads.base)

        def listed(entries: Sequence[Entry]) -> list[Link]:
            urls = dict.fromkeys(join(entry.url) for entry in entries)
            dates.update(
                {url: entry.lastmod for entry in entries if entry.lastmod and (url := join(entry.url))}
            )
            return self._links.listed(url for url in urls if url is not None)

        links += await self._in_slices(leads.entries, listed)
        links = list(dict.fromkeys(links))
        return Gathered(leads, links, _without(shunned, links), dates)

    async def _in_slices(
        self, many: Sequence[Any], resolve: Callable[[Sequence[Any]], list[Link]]
    ) -> list[Link]:
        found: dict[Link, None] = {}
        for start in range(0, len(many), _MANY_LINKS):
            found |= dict.fromkeys(resolve(many[start : start + _MANY_LINKS]))
            await asyncio.sleep(0)
        return list(found)

    async def _steadily(self, work: Callable[[], Awaitable[Judged]]) -> Judged:
        """Again, where a redirect widened the scope meanwhile: such verdicts are out of date."""
        while True:
            judge = self.judge
            done = await work()
            if judge is self.judge:
                return done

    def report(self, gathered: Gathered, item: Item) -> tuple[tuple[Found, ...], int]:
        """What is new of it in this claim, and how many external links were only counted.

        Must be called in the same breath as the outcome is returned: from here on it counts as reported.
        """
        parent, depth = (item.id, item.url), depth_below(item)
        leads, links = gathered.leads, self._links
        findings, unkept = links.report(
            gathered.links, None if leads.listing else leads.base, parent, depth, gathered.dates
        )
        if gathered.shunned:
            more, uncounted = links.report_shunned(gathered.shunned, parent, depth)
            findings, unkept = findings + more, unkept + uncounted
        if leads.sources:
            more, uncounted = links.report_sources(leads.sources, parent, depth)
            findings, unkept = more + findings, unkept + uncounted
        return tuple(findings), unkept

    def keep(self, finding: Found) -> None:
        """A finding that is reported whatever its verdict."""
        self._links.keep(finding)


def depth_below(item: Item) -> int:
    """The depth of what an item leads to: a page's links are one deeper, a sitemap's as deep as itself."""
    return item.depth + 1 if item.kind == PAGE else item.depth


def _without(shunned: list[Link], links: list[Link]) -> list[Link]:
    """The same address may be a link to be followed elsewhere on the page."""
    if not shunned:
        return shunned
    followed = set(links)
    return [link for link in shunned if link not in followed]
