"""Where a page's bytes name other addresses, so that those can be changed and every other byte stays as it is.

A scanner of tags and attributes as browsers read them (WHATWG, tokenization), on the bytes themselves: that needs an
encoding in which ASCII stands for itself. A page in one of the few others becomes one in UTF-8.
"""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.entities import html5
from typing import Final

from holdfast.crawl.charset import as_utf8, declared, decoded, detect

Place = Callable[[str], str | None]
"""What to write for an address as it was written; None leaves it. ASCII, without spaces, quotes and angle brackets."""

_NOT_ASCII: Final = frozenset({"utf-16be", "utf-16le", "iso-2022-jp", "replacement"})
_BOM: Final = b"\xef\xbb\xbf"

_NAME: Final = re.compile(rb"[A-Za-z][^\t\n\f\r />]*")
_ATTRIBUTE: Final = re.compile(
    rb"[\t\n\f\r /]*"
    rb"(?:(?P<end>>)|(?P<name>[^\t\n\f\r />][^\t\n\f\r />=]*)"
    rb"(?:[\t\n\f\r ]*=[\t\n\f\r ]*"
    rb"""(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\t\n\f\r >"'][^\t\n\f\r >]*)|(?=>)))?)"""
)
_COMMENT_END: Final = re.compile(rb"--!?>")
_RAW: Final = frozenset({"script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe"})
"""Elements in which no tag is one but their own end."""
_ONE: Final = frozenset(
    {"href", "xlink:href", "src", "action", "formaction", "poster", "background", "cite", "longdesc"}
)
_SEVERAL: Final = frozenset({"srcset", "imagesrcset"})
_REFRESH: Final = re.compile(
    r"^(\s*[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?)(['\"]?)(.+?)(['\"]?)(\s*)$", re.IGNORECASE | re.DOTALL
)
_MAX_REFRESH_BYTES: Final = 4096
_CANDIDATE: Final = re.compile(r"([\s,]*)([^\s,](?:\S*[^\s,])?)((?:\s+[^,()]*(?:\([^)]*\))?[^,()]*)?,?)")
_ENTITY: Final = re.compile(r"&(#[0-9]+;?|#[xX][0-9A-Fa-f]+;?|[A-Za-z][A-Za-z0-9]*;?)(?=(=?))")
_CSS_URL: Final = re.compile(
    rb"""(?P<before>url\([\t\n\f\r ]*|@import[\t\n\f\r ]+(?=["']))"""
    rb"""(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'"""
    rb"""|&(?:quot|apos|\#0*3[49]);(?P<entity>[^<>"'()\t\n\f\r ]*?)&(?:quot|apos|\#0*3[49]);"""
    rb"""|(?P<bare>[^"'()\t\n\f\r ]+))""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """An address in a page: where its bytes stand, what they say, and how a new one is put there."""

    start: int
    end: int
    address: str
    escaped: bool = True
    """An ampersand has to be written as an entity."""


@dataclass(frozen=True, slots=True)
class Markup:
    """A page that can be edited, and the addresses in it, in order."""

    data: bytes
    references: tuple[Reference, ...]
    base: tuple[int, int] | None
    """Where the first base[href] has its value."""
    base_address: str = ""
    """And what it says."""

    def with_places(self, place: Place) -> bytes:
        """The page with every address for which `place` has another one. A base is emptied: none needs it then."""
        edits = [(*self.base, b"")] if self.base is not None else []
        for reference in self.references:
            new = place(reference.address)
            if new is not None:
                text = new.replace("&", "&amp;") if reference.escaped else new
                edits.append((reference.start, reference.end, text.encode("ascii")))
        return _edited(self.data, edits)


def markup(body: bytes, charset: str | None) -> Markup:
    """The HTML page in a body, whose encoding is told or, as a browser would, found.

    A page whose own bytes don't say how they are to be read says it from here on: nobody else does once it is a file.
    """
    encoding = detect(body, charset)
    if encoding in _NOT_ASCII:
        return _scanned(_BOM + as_utf8(body, encoding), "utf-8")
    if declared(body) == encoding or body.isascii():
        return _scanned(body, encoding)
    if encoding == "utf-8":
        return _scanned(_BOM + body, encoding)
    return _scanned(_with_meta(body, encoding), encoding)


def stylesheet(body: bytes, charset: str | None) -> Markup:
    """The same for CSS, whose bytes are never added to."""
    encoding = detect(body, charset, html=False)
    references = () if encoding in _NOT_ASCII else tuple(_in_css(body, 0, encoding, escaped=False))
    return Markup(body, references, None)


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for start, end, text in sorted(edits):
        pieces += (data[at:start], text)
        at = end
    return b"".join((*pieces, data[at:]))


_HEAD: Final = re.compile(rb"^\s*(?:<!doctype[^>]*>\s*)?(?:<html[^>]*>\s*)?(?:<head[^>]*>)?", re.IGNORECASE)


def _with_meta(body: bytes, encoding: str) -> bytes:
    head = _HEAD.match(body)
    at = head.end() if head else 0
    return body[:at] + f'<meta charset="{encoding}">'.encode() + body[at:]


def _scanned(data: bytes, encoding: str) -> Markup:
    references: list[Reference] = []
    base: tuple[int, int] | None = None
    for tag, attributes in _tags(data):
        if tag == "-css":
            start, end = attributes[""]
            references += _in_css(data[start:end], start, encoding, escaped=False)
            continue
        if tag == "base":
            base = base or attributes.get("href")
            continue
        for name, (start, end) in attributes.items():
            if name in _ONE or (name == "data" and tag == "object"):
                references.append(Reference(start, end, _value(data[start:end], encoding).strip()))
            elif name in _SEVERAL:
                references += _in_list(data, start, end, encoding)
            elif name == "style":
                references += _in_css(data[start:end], start, encoding, escaped=True)
            elif name == "content" and tag == "meta" and _is_refresh(data, attributes):
                references += _in_refresh(data, start, end, encoding)
    said = "" if base is None else _value(data[slice(*base)], encoding).strip()
    return Markup(data, tuple(references), base, said)


def _tags(data: bytes) -> Iterator[tuple[str, dict[str, tuple[int, int]]]]:
    """Start tags with where each of their attributes has its value; the text of a style as `-css`."""
    at = 0
    while (at := data.find(b"<", at)) >= 0:
        if data.startswith(b"<!--", at):
            at = _after_comment(data, at)
        elif data[at + 1 : at + 2] in {b"!", b"?"}:
            at = _after(data, at, b">")
        elif data[at + 1 : at + 2] == b"/":
            name = _NAME.match(data, at + 2)
            _, at = _attributes(data, name.end()) if name else ({}, _after(data, at, b">"))
        elif name := _NAME.match(data, at + 1):
            tag = name.group().decode("latin-1").lower()
            attributes, at = _attributes(data, name.end())
            yield tag, attributes
            if tag == "plaintext":
                return
            if tag in _RAW:
                end = _end_of(tag, data, at)
                if tag == "style":
                    yield "-css", {"": (at, end)}
                at = end
        else:
            at += 1


def _attributes(data: bytes, at: int) -> tuple[dict[str, tuple[int, int]], int]:
    """The first attribute of each name, and where the tag has ended."""
    found: dict[str, tuple[int, int]] = {}
    while match := _ATTRIBUTE.match(data, at):
        at = match.end()
        if match["end"] is not None:
            return found, at
        for quoting in ("double", "single", "bare"):
            if match[quoting] is not None:
                found.setdefault(match["name"].decode("latin-1").lower(), match.span(quoting))
    # It never ends: a browser drops such a tag.
    return {}, len(data)


def _after(data: bytes, at: int, what: bytes) -> int:
    end = data.find(what, at)
    return len(data) if end < 0 else end + len(what)


def _after_comment(data: bytes, at: int) -> int:
    for short in (b"<!-->", b"<!--->"):
        if data.startswith(short, at):
            return at + len(short)
    end = _COMMENT_END.search(data, at + 4)
    return end.end() if end else len(data)


def _end_of(tag: str, data: bytes, at: int) -> int:
    end = re.compile(rb"</" + tag.encode() + rb"(?=[\t\n\f\r />])", re.IGNORECASE).search(data, at)
    return end.start() if end else len(data)


# -- values


def _value(raw: bytes, encoding: str) -> str:
    text = decoded(raw, encoding)
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    """As browsers read it in an attribute: `&copy=1` and `&copyright` aren't one, `&copy;` is."""
    name = entity[1]
    if name.startswith("#") or (name.endswith(";") and name in html5):
        return html.unescape(f"&{name}")
    return entity[0] if entity[2] or name not in html5 else html5[name]


def _is_refresh(data: bytes, attributes: dict[str, tuple[int, int]]) -> bool:
    start, end = attributes.get("http-equiv", (0, 0))
    return data[start:end].strip().lower() == b"refresh"


def _in_refresh(data: bytes, start: int, end: int, encoding: str) -> Iterator[Reference]:
    # Latin-1 keeps the count of bytes: what is matched here is ASCII but for the address itself.
    match = _REFRESH.match(data[start:end].decode("latin-1")) if end - start <= _MAX_REFRESH_BYTES else None
    if match and "=" in match[1]:
        begin, stop = start + match.start(3), start + match.end(3)
        yield Reference(begin, stop, _value(data[begin:stop], encoding).strip())


def _in_list(data: bytes, start: int, end: int, encoding: str) -> Iterator[Reference]:
    for match in _CANDIDATE.finditer(data[start:end].decode("latin-1")):
        begin, stop = start + match.start(2), start + match.end(2)
        yield Reference(begin, stop, _value(data[begin:stop], encoding))


def _in_css(css: bytes, offset: int, encoding: str, *, escaped: bool) -> Iterator[Reference]:
    for match in _CSS_URL.finditer(css):
        for quoting in ("double", "single", "entity", "bare"):
            raw = match[quoting]
            if raw:
                start, end = match.span(quoting)
                text = _value(raw, encoding) if escaped else decoded(raw, encoding)
                yield Reference(offset + start, offset + end, text.strip(), escaped)
