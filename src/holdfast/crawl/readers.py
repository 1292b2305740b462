"""Who reads which body: a small table by MIME type."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from holdfast.crawl import html, pdf, plain
from holdfast.crawl.charset import by_label, of_content_type
from holdfast.crawl.document import Document, Kind

BIG_BODY_BYTES: Final = 512 * 1024
"""From here on a body is read off the loop."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads bodies of one kind. Neither function raises for what a body contains.

    Both take the decoded body and the label of its charset, from the Content-Type or from an earlier reading.
    """

    read: Callable[[bytes, str | None], Document]
    """What it says of itself and where it leads."""
    text: Callable[[bytes, str | None], str]
    """The characters that a person reads."""


def reader_for(content_type: str, body: bytes) -> Reader:
    """Who reads a body with that Content-Type; without one, its first bytes decide."""
    if html.is_html(content_type, body):
        return _HTML
    essence = essence_of(content_type)
    reader = _BY_TYPE.get(essence)
    if reader is not None:
        return reader
    if essence.endswith(("+xml", "+json")):
        return _XML if essence.endswith("+xml") else _JSON
    if essence.startswith("text/"):
        return _TEXT
    if essence in _VAGUE and body.startswith(pdf.MAGIC):
        return _PDF
    return _XML if essence in _VAGUE and _is_packed_listing(body) else _OTHER


def is_pdf(content_type: str, body: bytes) -> bool:
    """Whether it is read as a PDF, which takes longer than a loop may be held."""
    return reader_for(content_type, body) is _PDF


def takes_long(body: bytes) -> bool:
    """Whether no loop may wait for it: what is packed may be far larger than it looks, PDFs are for a child."""
    return len(body) > BIG_BODY_BYTES or body.startswith(b"\x1f\x8b") or pdf.may_be_one(body)


def essence_of(content_type: str) -> str:
    """The MIME type alone: `text/html` of `Text/HTML; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


def read(body: bytes, content_type: str, charset: str | None = None) -> Document:
    """The document in a body. `charset` is what an earlier reading found out."""
    return reader_for(content_type, body).read(body, charset or of_content_type(content_type))


def read_as(kind: Kind, body: bytes, content_type: str, charset: str | None = None) -> Document:
    """The document in a body that is held to be of that kind, whatever its Content-Type says."""
    return _BY_KIND[kind](body, charset or of_content_type(content_type))


def is_page(content_type: str, body: bytes) -> bool:
    """Whether it is HTML, by its Content-Type and by what it begins with: servers say text/plain of many things."""
    return html.is_html(content_type, body) and html.is_html("", body)


def text(body: bytes, content_type: str, charset: str | None = None) -> str:
    """What a reader sees of HTML and PDF, the characters of text, XML and JSON, nothing of anything else."""
    return reader_for(content_type, body).text(body, charset or None)


def _unread(body: bytes, charset: str | None) -> Document:  # noqa: ARG001 - a reader's signature
    return Document(Kind.OTHER, charset=by_label(charset) or "")


def _no_text(body: bytes, charset: str | None) -> str:  # noqa: ARG001 - a reader's signature
    return ""


def _read_xml(body: bytes, charset: str | None) -> Document:
    # Few crawls meet any: expat is loaded by the first.
    from holdfast.crawl import listing  # noqa: PLC0415

    return listing.read_xml(body, charset)


def _read_sitemap(body: bytes, charset: str | None) -> Document:
    from holdfast.crawl import listing  # noqa: PLC0415 - likewise

    return listing.read_sitemap(body, charset)


def _read_pdf(body: bytes, charset: str | None) -> Document:  # noqa: ARG001 - a reader's signature
    return pdf.SHARED.read(body)


def _text_of_pdf(body: bytes, charset: str | None) -> str:  # noqa: ARG001 - a reader's signature
    return pdf.SHARED.text(body)


def _is_packed_listing(body: bytes) -> bool:
    from holdfast.crawl import listing  # noqa: PLC0415 - likewise

    return listing.is_packed_listing(body)


_HTML: Final = Reader(html.parse, html.visible_text)
_TEXT: Final = Reader(plain.read_text, plain.characters)
_MARKDOWN: Final = Reader(plain.read_markdown, plain.characters)
_JSON: Final = Reader(plain.read_json, plain.characters)
_XML: Final = Reader(_read_xml, plain.characters)
_PDF: Final = Reader(_read_pdf, _text_of_pdf)
_OTHER: Final = Reader(_unread, _no_text)
_VAGUE: Final = frozenset({"", "application/gzip", "application/x-gzip", "application/octet-stream"})
_BY_KIND: Final = {
    Kind.SITEMAP: _read_sitemap,
    Kind.FEED: _read_xml,
    Kind.MARKDOWN: plain.read_markdown,
}
_BY_TYPE: Final = {
    "application/pdf": _PDF,
    "application/x-pdf": _PDF,
    "text/markdown": _MARKDOWN,
    "text/x-markdown": _MARKDOWN,
    "text/xml": _XML,
    "application/xml": _XML,
    "application/json": _JSON,
    "text/json": _JSON,
    "application/x-ndjson": _JSON,
    "application/jsonl": _JSON,
}
