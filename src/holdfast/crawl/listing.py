"""Sitemaps and feeds: what is read only for the addresses in it.

| root element | is | addresses |
| --- | --- | --- |
| urlset | a sitemap | url > loc, with its lastmod |
| sitemapindex | a sitemap of sitemaps | sitemap > loc |
| rss, RDF | a feed (RSS 2.0, 1.0 and older) | item > link |
| feed | a feed (Atom) | entry > link[href], if its rel is alternate or none |

Expat reads them as a stream, piece by piece, and stops at the bounds. A declaration of an entity ends the reading at
once, no other document is ever fetched, and what is broken XML is read on by pattern: a stray `&` in a query is the
most common mistake in sitemaps.
"""

import html
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from xml.parsers import expat

from holdfast.crawl.charset import as_utf8, by_label, detect
from holdfast.crawl.document import Document, Entry, Kind

MAX_ENTRIES: Final = 50_000
"""So many addresses of one document are read: what the sitemap protocol allows."""
MAX_UNPACKED_BYTES: Final = 64 * 1024 * 1024
"""So much of a packed sitemap is unpacked: more than the 50 MB that the protocol allows."""
MAX_ADDRESS_CHARS: Final = 16_384

_PIECE: Final = 64 * 1024
_GZIP: Final = b"\x1f\x8b"
_DECLARED = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
_W3C_DATE = re.compile(
    r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)?)?"
)
_LOC = re.compile(
    rb"<(?:sm:)?loc\s*+>\s*+(?:<!\[CDATA\[)?([^<\]]{1,16384}+)(?:\]\]>)?\s*+</(?:sm:)?loc\s*+>"
    rb"(?:\s*+<(?:sm:)?lastmod\s*+>\s*+([0-9T:.Z+-]{4,40}+)\s*+</)?",
    re.IGNORECASE,
)
_LINE = re.compile(rb"^[\xef\xbb\xbf \t]*+(https?://\S{1,16384}+)[ \t\r]*+$", re.IGNORECASE | re.MULTILINE)
_LINK = re.compile(
    rb"<link\s*+>\s*+(?:<!\[CDATA\[)?([^<\]]{1,16384}+)(?:\]\]>)?\s*+</link\s*+>", re.IGNORECASE
)


def unpacked(body: bytes, most: int = MAX_UNPACKED_BYTES) -> bytes:
    """The body, out of gzip if it is packed; as much of it as can be unpacked and fits."""
    if not body.startswith(_GZIP):
        return body
    pieces: list[bytes] = []
    size = 0
    while body.startswith(_GZIP) and size < most:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            while size < most and not unpacker.eof and body:
                piece = unpacker.decompress(body, min(_PIECE * 16, most - size))
                body = unpacker.unconsumed_tail
                pieces.append(piece)
                size += len(piece)
        except zlib.error:
            break
        if not unpacker.eof:
            break
        body = unpacker.unused_data
    return b"".join(pieces)


def is_packed_listing(body: bytes) -> bool:
    """Whether gzip holds a sitemap or a feed, by what its first bytes unpack to."""
    return body.startswith(_GZIP) and root_of(unpacked(body[:8192], 4096)) in _ROOTS


def root_of(body: bytes) -> str:
    """The name of the root element without its prefix, as far as the first 4 KiB show it; empty if they don't."""
    match = _ROOT.match(body[:4096].lstrip(b"\xef\xbb\xbf \t\r\n"))
    return "" if match is None else match[1].decode("ascii", "replace").rpartition(":")[2]


# Atomic groups: whatever stands there, no byte is looked at more than a few times.
_ROOT = re.compile(
    rb"(?:(?><\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*+>)\s*+)*+<([A-Za-z_][\w.:-]*+)", re.DOTALL | re.IGNORECASE
)
_ROOTS: Final = frozenset({"urlset", "sitemapindex", "rss", "RDF", "feed"})


def read_sitemap(body: bytes, charset: str | None) -> Document:
    """Whatever stands where a sitemap should: an XML one or a feed, packed or not; else one URL per line."""
    body = unpacked(body)
    head = as_utf8(body[:1024], _charset(body[:1024], charset)).lstrip()
    return read_xml(body, charset) if head.startswith(b"<") else _read_lines(body, charset)


def read_xml(body: bytes, charset: str | None) -> Document:
    """A sitemap or feed; other XML without addresses. Of a packed body what is in it."""
    body = unpacked(body)
    charset = _charset(body, charset)
    root = root_of(as_utf8(body[:8192], charset))
    if root not in _ROOTS:
        return Document(Kind.XML, charset=charset)
    text = as_utf8(body, charset)
    if root in {"urlset", "sitemapindex"}:
        found = _Found(MAX_ENTRIES)
        _parse(text, _Sitemap(found), lambda at: _rest(text, at, _LOC, found))
        if root == "sitemapindex":
            nested = [entry.url for entry in found.entries]
            return Document(Kind.SITEMAP, sitemaps=nested, cut=found.cut, charset=charset)
        return Document(Kind.SITEMAP, entries=found.entries, cut=found.cut, charset=charset)
    found = _Found(MAX_ENTRIES)
    _parse(text, _Feed(found), lambda at: _rest(text, at, _LINK, found))
    return Document(Kind.FEED, title=found.title, entries=found.entries, cut=found.cut, charset=charset)


def _read_lines(body: bytes, charset: str | None) -> Document:
    charset = detect(body, charset, html=False)
    found = _Found(MAX_ENTRIES)
    with suppress(_Enough):
        for match in _LINE.finditer(as_utf8(body, charset)):
            found.add(match[1].decode("utf-8", "replace"), None)
    return Document(Kind.SITEMAP, entries=found.entries, cut=found.cut, charset=charset)


def _charset(body: bytes, hint: str | None) -> str:
    declared = _DECLARED.match(body[:256].lstrip(b"\xef\xbb\xbf"))
    own = by_label(declared[1].decode("ascii")) if declared else None
    # What could be read byte by byte up to its declaration isn't UTF-16, whatever that says.
    own = None if own is not None and own.startswith("utf-16") else own
    return detect(body, by_label(hint) or own, html=False)


class _Enough(Exception):
    """Nothing more is read: the bounds are reached, or what comes is not to be read."""


class _Found:
    """Collects addresses, each once, up to a number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: set[str] = set()
        self.entries: list[Entry] = []
        self.title = ""
        self.cut = False

    def add(self, url: str, lastmod: str | None) -> None:
        """One more; _Enough where there is room for none."""
        url = url.strip()
        if not url or url in self._seen or len(url) > MAX_ADDRESS_CHARS:
            return
        if len(self.entries) >= self._most:
            self.cut = True
            raise _Enough
        self._seen.add(url)
        dated = lastmod is not None and _W3C_DATE.fullmatch(lastmod := lastmod.strip()) is not None
        self.entries.append(Entry(url, lastmod if dated else None))


class _Handlers:
    """What expat calls. Text is collected only between the tags of an element that matters."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.EntityDeclHandler = self._refuse
        self._pieces: list[str] = []
        self._size = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        raise NotImplementedError

    def end(self, name: str) -> None:
        """An element ends."""
        raise NotImplementedError

    def collect(self) -> None:
        """Keep the text from here on, up to `text`."""
        self._pieces = []
        self._size = 0
        self.parser.CharacterDataHandler = self._more

    def text(self) -> str:
        """What was collected since `collect`; nothing if that wasn't called."""
        self.parser.CharacterDataHandler = None
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)

    def _more(self, text: str) -> None:
        self._size += len(text)
        if self._size <= MAX_ADDRESS_CHARS:
            self._pieces.append(text)

    def _refuse(self, *_: object) -> None:
        # Entities are for expansion bombs and for other people's files; no sitemap needs one of its own.
        raise _Enough


class _Sitemap(_Handlers):
    """urlset and sitemapindex. Extensions (image:loc) have a prefix that the root hasn't."""

    def __init__(self, found: _Found) -> None:
        super().__init__()
        self._found = found
        self._prefix: str | None = None
        self._loc = ""
        self._lastmod: str | None = None
        self._wanted: set[str] = set()
        self._one: set[str] = set()

    def start(self, name: str, attributes: dict[str, str]) -> None:  # noqa: ARG002 - as expat calls it
        if self._prefix is None:
            self._prefix = name[: -len(name.rpartition(":")[2])]
            self._wanted = {self._prefix + "loc", self._prefix + "lastmod"}
            self._one = {self._prefix + "url", self._prefix + "sitemap"}
        elif name in self._wanted:
            self.collect()
        elif name in self._one:
            self._loc, self._lastmod = "", None

    def end(self, name: str) -> None:
        if name in self._wanted:
            if name.endswith("loc"):
                self._loc = self.text()
            else:
                self._lastmod = self.text()
        elif name in self._one:
            self._found.add(self._loc, self._lastmod)
            self._loc = ""


class _Feed(_Handlers):
    """RSS and Atom."""

    def __init__(self, found: _Found) -> None:
        super().__init__()
        self._found = found
        self._within = False
        self._link = ""
        self._updated: str | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        if local in {"item", "entry"}:
            self._within, self._link, self._updated = True, "", None
        elif local == "link" and self._within:
            href = attributes.get("href")
            if href is None:
                self.collect()
            elif not self._link and attributes.get("rel", "alternate") == "alternate":
                self._link = href
        elif (local == "updated" and self._within) or (local == "title" and not self._found.title):
            self.collect()

    def end(self, name: str) -> None:
        local = name.rpartition(":")[2]
        if local in {"item", "entry"}:
            self._within = False
            self._found.add(self._link, self._updated)
        elif local == "link" and self._within:
            self._link = self._link or self.text()
        elif local == "updated" and self._within:
            self._updated = self.text()
        elif local == "title" and not self._found.title and not self._within:
            self._found.title = " ".join(self.text().split())[:1000]


def _parse(text: bytes, handlers: _Handlers, broken: Callable[[int], None]) -> None:
    """Feed the parser piece by piece; from where it finds the XML broken, `broken` goes on."""
    parser = handlers.parser
    try:
        for start in range(0, len(text), _PIECE):
            parser.Parse(text[start : start + _PIECE], start + _PIECE >= len(text))
    except _Enough:
        return
    except (expat.ExpatError, ValueError):
        broken(max(0, parser.ErrorByteIndex))


def _rest(text: bytes, at: int, pattern: re.Pattern[bytes], found: _Found) -> None:
    """What the pattern finds from the element on in which the XML is broken."""
    start = max(text.rfind(b"<loc", 0, at), text.rfind(b"<link", 0, at), 0)
    with suppress(_Enough):
        for match in pattern.finditer(text, start):
            url = html.unescape(match[1].decode("utf-8", "replace"))
            dated = match[2].decode("ascii") if pattern.groups > 1 and match[2] else None
            found.add(url, dated)
