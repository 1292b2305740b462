"""From the hrefs of a page to findings; and the memory that keeps a commit from repeating what is known.

Most links of a page have been on the pages before it. The memory holds what this claim has reported already,
so that such a link costs one dict lookup and the commit doesn't carry it again. It may forget (then a link is
reported once more, which changes nothing), but it must never claim too much. So it relies on one thing: every
outcome that a handler returned is committed, in the order in which they were returned, or the claim ends.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.domain.item import Found
from holdfast.domain.url import fingerprint, origin
from holdfast.pipelines.site.discovery import PAGE
from holdfast.pipelines.site.judge import Judge, SkipReason, Verdict
from holdfast.pipelines.site.leads import Leads, judge_source
from holdfast.pipelines.site.traps import Trap, loop_below, sessionless

MAX_REMEMBERED = 200_000
"""So many links, and so many spellings of links, are remembered: 70 MB when all are in use."""

MAX_SOURCES = 10_000
NO_DATES: Mapping[str, str] = {}

_NEVER = 1 << 30
_ANYWHERE = ("/", "http://", "https://")


def found(
    url: str,
    depth: int,
    parent_id: int | None,
    reason: Verdict | str | None,
    *,
    kind: str = PAGE,
    lastmod: str | None = None,
) -> Found:
    """A finding, with what follows from its URL."""
    skip = None if reason is None else str(reason)
    return Found(url, fingerprint(url), origin(url), depth, kind, parent_id, skip, lastmod)


def all_findings(leads: Leads, judge: Judge, parent: tuple[int, str], depth: int) -> list[Found]:
    """What a response leads to, without any memory: each URL once, but for the page itself.

    `parent` is the page's item id and URL, `depth` that of what it leads to.
    """
    parent_id, own = parent
    join = judge.joining(leads.base)
    findings: dict[str, Found] = {}

    def add(url: str | None, otherwise: SkipReason | None = None, lastmod: str | None = None) -> None:
        if url is None or url in findings:
            return
        verdict = judge.judge(url, depth)
        findings[url] = found(url, depth, parent_id, verdict or otherwise, lastmod=lastmod)
        if verdict is Trap.SESSION:
            add(sessionless(url), otherwise, lastmod)

    for href in leads.links:
        add(join(href))
    if judge.avoids_traps and not leads.listing:
        _close_loop(leads.base, findings, judge)
    for entry in leads.entries:
        add(join(entry.url), None, entry.lastmod)
    for href in leads.shunned:
        add(join(href), SkipReason.NOFOLLOW)
    sources = {
        url: found(url, depth, parent_id, skip or judge_source(judge, url, kind, depth, own), kind=kind)
        for url, kind, skip in leads.sources
    }
    return [finding for url, finding in (sources | findings | sources).items() if url != own]


def _close_loop(base: str, findings: dict[str, Found], judge: Judge) -> None:
    """Shut out what only leads round in a circle from there."""
    below = loop_below(base, findings)
    if below is None:
        return
    for url, finding in findings.items():
        if finding.skip in {None, SkipReason.DEPTH} and url.startswith(below) and url not in judge.seeds:
            findings[url] = replace(finding, skip=Trap.LOOP.value)


class Link:
    """A link as this claim knows it."""

    __slots__ = ("depth", "reason", "shunned", "url")

    def __init__(self, url: str, reason: Verdict | None) -> None:
        self.url = url
        self.reason = reason
        """Why it isn't followed, as far as that doesn't depend on depth."""
        self.depth = _NEVER
        """The least depth at which it was reported as one that may be followed."""
        self.shunned = _NEVER
        """Likewise as one that a page asks not to follow."""


_NOWHERE = Link("", None)
"""What an href that is no http(s) link leads to."""


class Links:
    """The links of a claim."""

    def __init__(self, judge: Judge, *, max_external: int, outside: Iterable[str]) -> None:
        """`outside`: the external links that are items already."""
        self._max_external = max_external
        self._judge = judge
        self._outside = set(outside)
        self._forget()

    def resolve(self, base: str, hrefs: Iterable[str]) -> list[Link]:
        """The distinct http(s) links among the hrefs of a page, in order. `base` is canonical.

        One that is shut out for its session id brings the address without it along: that is followed in its place.
        """
        table, join = self._table_for(base), self._judge.joining(base)
        seen: dict[Link, None] = {}
        for href in hrefs:
            link = table.get(href)
            if link is None:
                url = join(href)
                link = _NOWHERE if url is None else self._young.get(url) or self._known(url)
                if href.startswith(_ANYWHERE):
                    # These mean the same on every page of the origin. Others are joined each time: that costs little.
                    table[href] = link
                    self._spellings += 1
            seen[link] = None
        seen.pop(_NOWHERE, None)
        return self._with_bare(list(seen))

    def listed(self, urls: Iterable[str]) -> list[Link]:
        """The links of canonical URLs that a sitemap lists: there is one of each, so no spelling is remembered."""
        return self._with_bare([self._young.get(url) or self._known(url) for url in urls])

    def _with_bare(self, links: list[Link]) -> list[Link]:
        if not self._sessions:
            return links
        with_bare = dict.fromkeys(links)
        for link in links:
            if link.reason is Trap.SESSION:
                bare = sessionless(link.url)
                with_bare[self._young.get(bare) or self._known(bare)] = None
        return list(with_bare)

    def report(
        self,
        links: Sequence[Link],
        base: str | None,
        parent: tuple[int, str],
        depth: int,
        dates: Mapping[str, str] = NO_DATES,
    ) -> tuple[list[Found], int]:
        """Those not reported at that depth or a lesser one in this claim, or dated; and how many were only counted.

        `base` is what the links of their page are relative to; None for what a sitemap lists.

        Must be called in the same breath as the outcome is returned: from here on they count as reported.
        """
        parent_id, own = parent
        judge = self._judge
        too_deep = judge.too_deep(depth)
        news = [link for link in links if link.depth > depth or (dates and link.url in dates)]
        below = None
        if base is not None and judge.avoids_traps and any(link.reason is None for link in news):
            below = loop_below(base, (link.url for link in links))
        findings: list[Found] = []
        unkept = 0
        for link in news:
            url, reason = link.url, link.reason
            if url == own:
                continue
            if reason is SkipReason.EXTERNAL:
                if (kept := self._room_outside(url)) is not True:
                    unkept += kept is None
                    continue
            elif reason is None and below is not None and url.startswith(below) and url not in judge.seeds:
                # So it is on this page alone: another one that names it is to be heard, however deep it lies.
                findings.append(found(url, depth, parent_id, Trap.LOOP))
                continue
            elif reason is None and too_deep and url not in judge.seeds:
                reason = SkipReason.DEPTH
            link.depth = depth
            lastmod = dates.get(url) if dates else None
            findings.append(found(url, depth, parent_id, reason, lastmod=lastmod))
        return findings, unkept

    def report_shunned(
        self, links: Sequence[Link], parent: tuple[int, str], depth: int
    ) -> tuple[list[Found], int]:
        """Likewise of links that are not to be followed: whoever lets them in later is heard."""
        parent_id, own = parent
        findings: list[Found] = []
        unkept = 0
        for link in links:
            if link.depth <= depth or link.shunned <= depth or link.url == own:
                continue
            reason = self._judge.judge(link.url, depth) or SkipReason.NOFOLLOW
            if reason is SkipReason.EXTERNAL and (kept := self._room_outside(link.url)) is not True:
                unkept += kept is None
                continue
            link.shunned = depth
            findings.append(found(link.url, depth, parent_id, reason))
        return findings, unkept

    def report_sources(
        self, sources: Iterable[tuple[str, str, str | None]], parent: tuple[int, str], depth: int
    ) -> tuple[list[Found], int]:
        """Likewise of what is to be consulted."""
        parent_id, own = parent
        findings: list[Found] = []
        unkept = 0
        for url, kind, skip in sources:
            if url == own or self._sources.get(url, _NEVER) <= depth:
                continue
            reason = skip or judge_source(self._judge, url, kind, depth, own)
            if reason is SkipReason.EXTERNAL and (kept := self._room_outside(url)) is not True:
                unkept += kept is None
                continue
            if len(self._sources) >= MAX_SOURCES:
                self._sources.clear()
            self._sources[url] = depth
            findings.append(found(url, depth, parent_id, reason, kind=kind))
        return findings, unkept

    def _room_outside(self, url: str) -> bool | None:
        """Keep an external link, if it isn't kept already (False) and there is room for it (else None)."""
        if url in self._outside:
            return False
        if len(self._outside) >= self._max_external:
            return None
        self._outside.add(url)
        return True

    def keep(self, finding: Found) -> None:
        """A finding that is reported whatever its verdict, and counts like a link if it is external."""
        if finding.skip == SkipReason.EXTERNAL:
            self._outside.add(finding.url)

    def widen(self, judge: Judge) -> None:
        """Judge by a wider scope from now on."""
        self._judge = judge
        self._outside = {url for url in self._outside if judge.reason(url) is SkipReason.EXTERNAL}
        self._forget()

    def _forget(self) -> None:
        self._young: dict[str, Link] = {}
        self._old: dict[str, Link] = {}
        self._tables: dict[str, dict[str, Link]] = {}
        self._spellings = 0
        self._sessions = False
        self._sources: dict[str, int] = {}

    def _table_for(self, base: str) -> dict[str, Link]:
        """What is known of root-relative and absolute hrefs on pages of that origin."""
        if self._spellings > MAX_REMEMBERED:
            self._tables = {}
            self._spellings = 0
        key = origin(base)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = {}
            self._spellings += 1
        return table

    def _known(self, url: str) -> Link:
        link = self._old.get(url) or Link(url, self._judge.reason(url))
        if len(self._young) >= MAX_REMEMBERED // 2:
            self._old, self._young = self._young, {}
        self._young[url] = link
        self._sessions = self._sessions or link.reason is Trap.SESSION
        return link
