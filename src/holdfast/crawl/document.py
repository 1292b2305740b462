"""What reading a body gives, whatever it is written in. The readers by MIME type are in `crawl.readers`."""

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a body is to us, told by its Content-Type and, where that leaves it open, by its first bytes."""

    HTML = "html"
    OTHER = "other"
    """Kept as it is, and not read."""


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
    charset: str = ""
    """The encoding that the body was read in; with it as the hint, reading again gives the same."""
