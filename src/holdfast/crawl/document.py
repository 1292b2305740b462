"""What reading a body gives, whatever it is written in. The readers by MIME type are in `crawl.readers`."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a body is to us, told by its Content-Type and, where that leaves it open, by its first bytes."""

    HTML = "html"
    PDF = "pdf"
    TEXT = "text"
    MARKDOWN = "markdown"
    XML = "xml"
    JSON = "json"
    SITEMAP = "sitemap"
    FEED = "feed"
    OTHER = "other"
    """Kept as it is, and not read."""


class Entry(NamedTuple):
    """An address that a sitemap or a feed lists."""

    url: str
    lastmod: str | None = None
    """A W3C date, as written."""


@dataclass(frozen=True, slots=True)
class Directives:
    """What a document, or its response, asks of crawlers."""

    noindex: bool = False
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """What the crawl needs of a body. URLs are as written, not resolved."""

    kind: Kind
    title: str = ""
    lang: str = ""
    description: str = ""
    canonical: str | None = None
    """The href of link[rel=canonical]."""
    base_href: str | None = None
    """The href of the first base[href]: links are relative to it."""
    links: list[str] = field(default_factory=list)
    """Hrefs, stripped, each once: anchors in document order, then areas, frames and pagination."""
    shunned: list[str] = field(default_factory=list)
    """Likewise: those whose rel says nofollow, each time that it does."""
    feeds: list[str] = field(default_factory=list)
    """Hrefs of link[rel=alternate] with a feed's type."""
    robots: tuple[tuple[str, str], ...] = ()
    """Names, in lower case, and contents of meta elements that may speak to robots."""
    entries: list[Entry] = field(default_factory=list)
    """Of a sitemap or feed: the pages that it lists."""
    sitemaps: list[str] = field(default_factory=list)
    """Of a sitemap index: the sitemaps."""
    cut: bool = False
    """It has more than what was read."""
    unread: str = ""
    """Why nothing could be read, where that is so."""
    charset: str = ""
    """The encoding that the body was read in; with it as the hint, reading again gives the same."""

    @property
    def lists(self) -> bool:
        """Whether it is there for the addresses in it, and no page."""
        return self.kind in {Kind.SITEMAP, Kind.FEED}
