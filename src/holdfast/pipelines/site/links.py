"""From the hrefs of a page to findings; and the memory that keeps a commit from repeating what is known.

Most links of a page have been on the pages before it. The memory holds what this claim has reported already,
so that such a link costs one dict lookup and the commit doesn't carry it again. It may forget (then a link is
reported once more, which changes nothing), but it must never claim too much. So it relies on one thing: every
outcome that a handler returned is committed, in the order in which they were returned, or the claim ends.
"""

from collections.abc import Iterable, Sequence

from holdfast.domain.item import Found
from holdfast.domain.url import fingerprint, origin
from holdfast.pipelines.site.judge import Judge, SkipReason, Verdict
from holdfast.pipelines.site.traps import Trap, loop_below, sessionless

MAX_REMEMBERED = 200_000
"""So many links, and so many spellings of links, are remembered: 70 MB when all are in use."""

_NEVER = 1 << 30
_ANYWHERE = ("/", "http://", "https://")


def found(url: str, depth: int, parent_id: int | None, reason: Verdict | None) -> Found:
    """A finding, with what follows from its URL."""
    skip = None if reason is None else reason.value
    return Found(url, fingerprint(url), origin(url), depth, parent_id=parent_id, skip=skip)


def all_findings(
    base: str, hrefs: Iterable[str], judge: Judge, parent: tuple[int, str], depth: int
) -> list[Found]:
    """What the links of a page lead to, without any memory: each URL once, but for the page itself.

    `parent` is the page's item id and URL, `depth` that of the links.
    """
    parent_id, own = parent
    urls = dict.fromkeys(url for url in map(judge.joining(base), hrefs) if url is not None)
    verdicts = {url: judge.judge(url, depth) for url in urls}
    for url in urls:
        if verdicts[url] is Trap.SESSION:
            bare = sessionless(url)
            verdicts.setdefault(bare, judge.judge(bare, depth))
    below = loop_below(base, verdicts) if judge.avoids_traps else None
    if below is not None:
        for url, verdict in verdicts.items():
            if verdict in {None, SkipReason.DEPTH} and url.startswith(below) and url not in judge.seeds:
                verdicts[url] = Trap.LOOP
    return [found(url, depth, parent_id, verdict) for url, verdict in verdicts.items() if url != own]


class Link:
    """A link as this claim knows it."""

    __slots__ = ("depth", "reason", "url")

    def __init__(self, url: str, reason: Verdict | None) -> None:
        self.url = url
        self.reason = reason
        """Why it isn't followed, as far as that doesn't depend on depth."""
        self.depth = _NEVER
        """The least depth at which it was reported."""


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
        if self._sessions:
            for link in list(seen):
                if link.reason is Trap.SESSION:
                    bare = sessionless(link.url)
                    seen[self._young.get(bare) or self._known(bare)] = None
        return list(seen)

    def report(
        self, links: Sequence[Link], base: str, parent: tuple[int, str], depth: int
    ) -> tuple[tuple[Found, ...], int]:
        """Those not reported at that depth or a lesser one in this claim; and how many were only counted.

        `base` is what the links of their page are relative to.

        Must be called in the same breath as the outcome is returned: from here on they count as reported.
        """
        parent_id, own = parent
        judge = self._judge
        too_deep = judge.too_deep(depth)
        below = loop_below(base, (link.url for link in links)) if judge.avoids_traps else None
        findings: list[Found] = []
        unkept = 0
        for link in links:
            if link.depth <= depth or link.url == own:
                continue
            url, reason = link.url, link.reason
            if reason is SkipReason.EXTERNAL:
                if url in self._outside:
                    continue
                if len(self._outside) >= self._max_external:
                    unkept += 1
                    continue
                self._outside.add(url)
            elif reason is None and below is not None and url.startswith(below) and url not in judge.seeds:
                # So it is on this page alone: another one that names it is to be heard, however deep it lies.
                findings.append(found(url, depth, parent_id, Trap.LOOP))
                continue
            elif reason is None and too_deep and url not in judge.seeds:
                reason = SkipReason.DEPTH
            link.depth = depth
            findings.append(found(url, depth, parent_id, reason))
        return tuple(findings), unkept

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
