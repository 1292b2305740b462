"""What belongs to the crawl as one claim knows it: the notes, the judge that they make, the links it has reported."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.domain.item import Found
from holdfast.pipelines.site.families import Families
from holdfast.pipelines.site.links import Link, Links
from holdfast.pipelines.site.seeds import Notes, judge_for
from holdfast.pipelines.site.spec import SiteSpec

_MANY_LINKS = 1000


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

    async def resolve(self, base: str, hrefs: Sequence[str]) -> list[Link]:
        """The distinct http(s) links among the hrefs of a page; many of them without holding the loop."""
        if len(hrefs) <= _MANY_LINKS:
            return self._links.resolve(base, hrefs)
        while True:
            judge = self.judge
            links: dict[Link, None] = {}
            for start in range(0, len(hrefs), _MANY_LINKS):
                links |= dict.fromkeys(self._links.resolve(base, hrefs[start : start + _MANY_LINKS]))
                await asyncio.sleep(0)
            # A redirect that came in between may have widened the scope: these verdicts are out of date then.
            if judge is self.judge:
                return list(links)

    def report(
        self, links: Sequence[Link], base: str, parent: tuple[int, str], depth: int
    ) -> tuple[tuple[Found, ...], int]:
        """See `Links.report`: in the same breath as the outcome is returned."""
        return self._links.report(links, base, parent, depth)

    def keep(self, finding: Found) -> None:
        """A finding that is reported whatever its verdict."""
        self._links.keep(finding)
