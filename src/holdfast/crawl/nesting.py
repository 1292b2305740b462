"""Pages that are nested deeper than any reader could want, made shallow before they are parsed.

The parser looks up the stack of open elements at each block that begins, so a page of a million open <div>s would take
it minutes, and the whole process waits. Browsers cut such trees at 512 levels; we keep what is in them: only the tags
that would go deeper are left out, so that every link and every word is still there.
"""

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser

MAX_LEVELS: Final = 2_000
_HARMLESS: Final = 8_000
"""So many tags are parsed in a tenth of a second, however they are nested. Few pages have more."""
# Not <li>, <dd>, <dt>, <p>: the next one closes the one before, closed or not.
_SHORTEST: Final = len(b"<p>")
_BLOCK: Final = re.compile(
    rb"<(/?)(?:div|ul|ol|dl|menu|dir|section|article|aside|nav|main|header|footer|figure|figcaption|blockquote"
    rb"|center|address|details|summary|fieldset|hgroup|dialog|search|pre|listing|form)(?=[\s/>])[^>]*>?",
    re.IGNORECASE,
)


def tree_of(body: bytes) -> LexborHTMLParser:
    """The tree of an HTML body in UTF-8, as browsers would make it, in a time that grows with its length."""
    return LexborHTMLParser(shallow(body))


def shallow(body: bytes) -> bytes:
    """The body, without the tags of blocks that lie deeper than MAX_LEVELS within others."""
    if len(body) < _SHORTEST * _HARMLESS or body.count(b"<") <= _HARMLESS:
        return body
    level = 0

    def judged(tag: re.Match[bytes]) -> bytes:
        nonlocal level
        if not tag[1]:
            level += 1
            return tag[0] if level <= MAX_LEVELS else b""
        level = max(0, level - 1)
        return tag[0] if level < MAX_LEVELS else b""

    return _BLOCK.sub(judged, body) if _is_deep(body) else body


def _is_deep(body: bytes) -> bool:
    """Whether any block lies so deep, as far as its tags say: one that is never closed counts to the end."""
    level = 0
    for tag in _BLOCK.finditer(body):
        level += -1 if tag[1] else 1
        if level > MAX_LEVELS:
            return True
        level = max(0, level)
    return False
