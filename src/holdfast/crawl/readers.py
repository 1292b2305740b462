"""Who reads which body: a small table by MIME type."""

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.crawl import html
from holdfast.crawl.charset import by_label, decoded, detect, of_content_type
from holdfast.crawl.document import Document, Kind


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
    if content_type.strip().lower().startswith("text/"):
        return _TEXT
    return _OTHER


def read(body: bytes, content_type: str, charset: str | None = None) -> Document:
    """The document in a body. `charset` is what an earlier reading found out."""
    return reader_for(content_type, body).read(body, charset or of_content_type(content_type))


def text(body: bytes, content_type: str, charset: str | None = None) -> str:
    """What a reader sees of HTML, the characters of text/*, nothing of anything else."""
    return reader_for(content_type, body).text(body, charset or None)


def _unread(body: bytes, charset: str | None) -> Document:  # noqa: ARG001 - a reader's signature
    return Document(Kind.OTHER, charset=by_label(charset) or "")


def _no_text(body: bytes, charset: str | None) -> str:  # noqa: ARG001 - a reader's signature
    return ""


def _characters(body: bytes, charset: str | None) -> str:
    return decoded(body, detect(body, charset, html=False))


_HTML = Reader(html.parse, html.visible_text)
_TEXT = Reader(_unread, _characters)
_OTHER = Reader(_unread, _no_text)
