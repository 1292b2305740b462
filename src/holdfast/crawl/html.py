"""What a page says of itself and where it leads, read by lexbor; and, apart from that, what a reader sees.

Links are a[href], area[href], frame[src], iframe[src] and link[rel=next|prev][href]: what a reader can
follow, or is shown as a document of its own. Not links: images, scripts, styles, forms, other <link>s.
Broken HTML is read like a browser reads it; nothing here raises for what a page contains.
"""

from collections import Counter
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from holdfast.crawl.charset import as_utf8, detect
from holdfast.crawl.document import Document, Kind
from holdfast.crawl.nesting import tree_of
from holdfast.crawl.text import text_of

MAX_TITLE_CHARS = 1000
MAX_DESCRIPTION_CHARS = 5000
MAX_LANG_CHARS = 64


_OPENINGS = (b"<!doctype html", b"<html", b"<head", b"<body")


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a body with that Content-Type is to be read as HTML; without one, its first bytes decide."""
    essence = content_type.partition(";")[0].strip().lower()
    if essence:
        return essence in {"text/html", "application/xhtml+xml"}
    return body[:512].lstrip(b"\xef\xbb\xbf \t\r\n\f")[:14].lower().startswith(_OPENINGS)


def parse(body: bytes, charset_hint: str | None = None) -> Document:
    """Read a decoded body. `charset_hint` is the charset label of the Content-Type."""
    charset = detect(body, charset_hint)
    tree = tree_of(as_utf8(body, charset))
    head = _read_head(tree)
    root = tree.root
    links, shunned = _links(tree)
    if shunned:
        # An href that stands in another anchor without that is followed.
        links = list((Counter(links) - Counter(shunned)).keys())
    return Document(
        Kind.HTML,
        title=_line(head.title, MAX_TITLE_CHARS),
        lang=_line(root.attrs.get("lang") if root is not None else None, MAX_LANG_CHARS),
        description=_line(head.description, MAX_DESCRIPTION_CHARS),
        canonical=head.canonical,
        base_href=base_href(tree),
        links=list(dict.fromkeys(links + head.pagination)),
        shunned=shunned,
        feeds=head.feeds,
        robots=tuple(head.robots),
        charset=charset,
    )


def visible_text(body: bytes, charset_hint: str | None = None) -> str:
    """What a reader sees of a page: see crawl.text."""
    return text_of(tree_of(as_utf8(body, detect(body, charset_hint))))


@dataclass(slots=True)
class _Head:
    title: str | None = None
    description: str | None = None
    canonical: str | None = None
    pagination: list[str] = field(default_factory=list)
    feeds: list[str] = field(default_factory=list)
    robots: list[tuple[str, str]] = field(default_factory=list)


_WHITE = " \t\n\r\f"
# Names of meta elements that are no robot's: most are one of these, and their contents need no look.
_NO_ROBOTS = frozenset(
    {"", "viewport", "generator", "author", "keywords", "theme-color", "twitter:card", "referrer"}
)
FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
MAX_FEEDS = 10
MAX_ROBOTS = 20


def _links(tree: LexborHTMLParser) -> tuple[list[str], list[str]]:
    """All links, and those that are not to be followed, each time that they stand there."""
    # A lookup by tag costs a quarter of a CSS query, and a node's attributes all at once no more than one of them.
    links: list[str] = []
    shunned: list[str] = []
    for tag in ("a", "area"):
        for node in tree.tags(tag):
            attributes = node.attributes
            href = attributes.get("href")
            if href is None:
                continue
            href = href.strip(_WHITE)
            links.append(href)
            rel = attributes.get("rel")
            if rel and "nofollow" in rel.lower().split():
                shunned.append(href)
    for tag in ("iframe", "frame"):
        links += [src.strip(_WHITE) for node in tree.tags(tag) if (src := node.attrs.get("src")) is not None]
    return links, shunned


def base_href(tree: LexborHTMLParser) -> str | None:
    """The href of the first base[href]."""
    for node in tree.tags("base"):
        href = node.attrs.get("href")
        if href is not None:
            return href.strip(_WHITE)
    return None


def _read_head(tree: LexborHTMLParser) -> _Head:
    head = _Head()
    node = tree.head.first_child if tree.head is not None else None
    while node is not None:
        _note(head, node)
        node = node.next
    if head.title is None:
        # Something that a head may not hold has closed it early: its rest is in the body then.
        for node in tree.css("body :is(title, meta, link)"):
            _note(head, node)
    return head


def _note(head: _Head, node: LexborNode) -> None:
    tag = node.tag
    if tag == "title":
        # An SVG may have a title of its own.
        if head.title is None and (node.parent is None or node.parent.tag != "svg"):
            head.title = node.text()
    elif tag == "meta":
        name = (node.attrs.get("name") or "").strip().lower()
        if name == "description":
            if head.description is None:
                head.description = node.attrs.get("content")
        elif name not in _NO_ROBOTS and len(head.robots) < MAX_ROBOTS:
            head.robots.append((name, (node.attrs.get("content") or "")[:MAX_DESCRIPTION_CHARS]))
    elif tag == "link":
        _note_link(head, node)


def _note_link(head: _Head, node: LexborNode) -> None:
    href = node.attrs.get("href")
    if not href:
        return
    rel = (node.attrs.get("rel") or "").lower().split()
    if "canonical" in rel and head.canonical is None:
        head.canonical = href.strip(_WHITE)
    elif "next" in rel or "prev" in rel:
        head.pagination.append(href.strip(_WHITE))
    elif "alternate" in rel and len(head.feeds) < MAX_FEEDS and _names_a_feed(node):
        head.feeds.append(href.strip(_WHITE))


def _names_a_feed(node: LexborNode) -> bool:
    return (node.attrs.get("type") or "").strip().lower() in FEED_TYPES


def _line(text: str | None, limit: int) -> str:
    # Cut first: a title may be as large as a body.
    return " ".join(text[: 4 * limit].split())[:limit] if text else ""
