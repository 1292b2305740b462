"""Where a response leads: told by the same functions when it is handled and when it is read again."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from holdfast.crawl.directives import MAX_HEADER_CHARS, directives, links_of
from holdfast.crawl.document import Directives, Document, Entry, Kind
from holdfast.crawl.html import FEED_TYPES
from holdfast.crawl.readers import is_page, read, read_as
from holdfast.crawl.robots import MAX_ROBOTS_BYTES
from holdfast.domain.url import MAX_URL_BYTES, authority, join
from holdfast.pipelines.site.discovery import FEED, LLMS, NESTING, PAGE, ROBOTS_TXT, SITEMAP, nested
from holdfast.pipelines.site.judge import Judge, SkipReason
from holdfast.pipelines.site.spec import SiteSpec

MAX_HEADER_LINKS: Final = 100
_SITEMAP_LINE = re.compile(rb"^[ \t]*+sitemap[ \t]*+:[ \t]*+(\S{1,8192}+)", re.IGNORECASE | re.MULTILINE)


class Answer(NamedTuple):
    """A stored or fresh response with a body, as far as it matters to what it says."""

    url: str
    kind: str
    """That of its item."""
    headers: Iterable[tuple[str, str]]
    body: bytes
    content_type: str
    charset: str | None = None
    """What an earlier reading found out."""
    document: Document | None = None
    """What the body says, where that is known and need not be read."""


@dataclass(slots=True)
class Leads:
    """What a response says of itself, and every address in it. URLs are as written, relative to `base`."""

    document: Document
    base: str
    consulted: bool = False
    """It is no page to us: it was read for the addresses in it."""
    listing: bool = True
    """Its addresses are a list that somebody made, rather than the links of a page."""
    said: Directives = field(default_factory=Directives)
    canonical: str | None = None
    links: list[str] = field(default_factory=list)
    shunned: list[str] = field(default_factory=list)
    """Links that we are asked not to follow."""
    entries: list[Entry] = field(default_factory=list)
    """Pages that it lists."""
    sources: list[tuple[str, str, str | None]] = field(default_factory=list)
    """What is to be consulted in turn: its canonical URL, its kind, and why it isn't if that is settled."""


def leads_of(spec: SiteSpec, token: str, answer: Answer) -> Leads:
    """All that follows from the bytes and the spec alone. `token` is the name by which pages speak of us."""
    return _READ[answer.kind.partition(":")[0]](spec, token, answer)


def judge_source(judge: Judge, url: str, kind: str, depth: int, named_by: str) -> SkipReason | None:
    """Whether a sitemap or feed is consulted: include and exclude are about pages, and don't count.

    One on another host than who names it is consulted where that host belongs to the crawl, or robots.txt names it.
    """
    if kind != SITEMAP and authority(url) != authority(named_by) and not judge.inside(url):
        return SkipReason.EXTERNAL
    if len(url) > MAX_URL_BYTES:
        return SkipReason.TOO_LONG
    return SkipReason.DEPTH if judge.too_deep(depth) else None


def _page(spec: SiteSpec, token: str, answer: Answer) -> Leads:
    document = answer.document or read(answer.body, answer.content_type, answer.charset)
    if document.lists:
        return _listed(answer, document)
    url = answer.url
    # A <base> that leads elsewhere than the web is ignored, as browsers do.
    base = (join(url, document.base_href) if document.base_href else None) or url
    unwanted = document.kind is Kind.HTML and not spec.mime.keeps(answer.content_type, answer.body)
    leads = Leads(document, base, consulted=unwanted, listing=False)
    links, feeds, canonical = document.links, document.feeds, document.canonical
    tagged = False
    for name, value in answer.headers:
        lowered = name.lower()
        if lowered == "x-robots-tag":
            tagged = True
        elif lowered == "link":
            named = _of_header(url, value)
            links = links + named.links
            feeds = feeds + named.feeds
            canonical = canonical or named.canonical
    if tagged or document.robots:
        leads.said = directives(document.robots, answer.headers, token)
    leads.canonical = join(base, canonical) if canonical else None
    if spec.discovery.follow_nofollow:
        leads.links = links + document.shunned if document.shunned else links
    elif leads.said.nofollow:
        leads.shunned = links + document.shunned
    else:
        leads.links, leads.shunned = links, document.shunned
    if spec.discovery.feeds:
        leads.sources = [(feed, FEED, None) for href in feeds if (feed := join(base, href)) is not None]
    return leads


@dataclass(slots=True)
class _Named:
    """What a Link header names."""

    links: list[str] = field(default_factory=list)
    feeds: list[str] = field(default_factory=list)
    canonical: str | None = None


def _of_header(url: str, value: str) -> _Named:
    named = _Named()
    for href, relations, kind in links_of(value[:MAX_HEADER_CHARS])[:MAX_HEADER_LINKS]:
        target = join(url, href)
        if target is None:
            continue
        if "canonical" in relations:
            named.canonical = target
        elif relations & {"next", "prev"}:
            named.links.append(target)
        elif "alternate" in relations and kind in FEED_TYPES:
            named.feeds.append(target)
    return named


def _robots_txt(spec: SiteSpec, token: str, answer: Answer) -> Leads:  # noqa: ARG001 - one of a table
    lines = _SITEMAP_LINE.findall(answer.body[:MAX_ROBOTS_BYTES].replace(b"\r", b"\n"))
    named = dict.fromkeys(join(answer.url, line.decode("utf-8", "replace")) for line in lines)
    leads = Leads(Document(Kind.TEXT, charset="utf-8"), answer.url, consulted=True)
    leads.sources = [(url, SITEMAP, None) for url in named if url is not None]
    return leads


def _sitemap(spec: SiteSpec, token: str, answer: Answer) -> Leads:  # noqa: ARG001 - one of a table
    if is_page(answer.content_type, answer.body):
        # Sites that answer everything with a page.
        return Leads(Document(Kind.HTML), answer.url, consulted=True)
    return _listed(answer, read_as(Kind.SITEMAP, answer.body, answer.content_type, answer.charset))


def _feed(spec: SiteSpec, token: str, answer: Answer) -> Leads:  # noqa: ARG001 - one of a table
    return _listed(answer, read_as(Kind.FEED, answer.body, answer.content_type, answer.charset))


def _llms(spec: SiteSpec, token: str, answer: Answer) -> Leads:  # noqa: ARG001 - one of a table
    leads = Leads(Document(Kind.HTML), answer.url, consulted=True)
    if not is_page(answer.content_type, answer.body):
        leads.document = read_as(Kind.MARKDOWN, answer.body, answer.content_type, answer.charset)
        leads.entries = [Entry(href) for href in leads.document.links]
    return leads


def _listed(answer: Answer, document: Document) -> Leads:
    leads = Leads(document, answer.url, consulted=True, entries=document.entries)
    kind, too_deep = nested(answer.kind)
    skip = NESTING if too_deep else None
    for href in document.sitemaps:
        url = join(answer.url, href)
        if url is not None:
            leads.sources.append((url, kind, skip))
    return leads


_READ: Final[dict[str, Callable[[SiteSpec, str, Answer], Leads]]] = {
    PAGE: _page,
    ROBOTS_TXT: _robots_txt,
    SITEMAP: _sitemap,
    FEED: _feed,
    LLMS: _llms,
}
