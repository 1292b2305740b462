"""Plain text, Markdown and JSON: kept with their characters; of Markdown the links as well."""

import re
from typing import Final

from holdfast.crawl.charset import decoded, detect
from holdfast.crawl.document import Document, Kind

MAX_LINKS: Final = 50_000
MAX_TITLE_CHARS: Final = 1000

# [text](url "title"), <url>, [label]: url. No input makes them look back: each class excludes what ends it.
_INLINE = re.compile(
    r"\]\(\s{0,9}(?:<([^<>\n]{1,8192}+)>|([^\s()<>]{1,8192}+(?:\([^\s()<>]{0,512}\)[^\s()<>]{0,512})?))"
)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]{1,8192}+)>", re.IGNORECASE)
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]{1,512}+\]:[ \t]{1,9}<?([^\s<>]{1,8192}+)>?", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]{1,9}(.{1,2000})$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def characters(body: bytes, charset: str | None) -> str:
    """The characters of a text."""
    return decoded(body, detect(body, charset, html=False))


def read_text(body: bytes, charset: str | None) -> Document:
    """A text: no links, since nothing says where one would end."""
    return Document(Kind.TEXT, charset=detect(body, charset, html=False))


def read_json(body: bytes, charset: str | None) -> Document:
    """JSON, as it is."""
    return Document(Kind.JSON, charset=detect(body, charset, html=False))


def read_markdown(body: bytes, charset: str | None) -> Document:
    """Markdown: its first heading, and its links outside of fenced code."""
    charset = detect(body, charset, html=False)
    text = _without_code(decoded(body, charset))
    heading = _HEADING.search(text)
    places: list[tuple[int, str]] = []
    for pattern in (_INLINE, _AUTOLINK, _REFERENCE):
        for match in pattern.finditer(text):
            places.append((match.start(), next(group for group in match.groups() if group)))
            if len(places) >= MAX_LINKS:
                break
    links = list(dict.fromkeys(href for _, href in sorted(places)))
    return Document(
        Kind.MARKDOWN,
        title="" if heading is None else " ".join(heading[1].strip("# \t").split())[:MAX_TITLE_CHARS],
        links=links[:MAX_LINKS],
        cut=len(places) >= MAX_LINKS,
        charset=charset,
    )


def _without_code(text: str) -> str:
    """The text without what stands between fences; an open one goes to the end."""
    pieces: list[str] = []
    start = 0
    fence = ""
    for match in _FENCE.finditer(text):
        if not fence:
            pieces.append(text[start : match.start()])
            fence = match[1]
        elif match[1].startswith(fence):
            fence = ""
            start = match.end()
    if not fence:
        pieces.append(text[start:])
    return "\n".join(pieces)
