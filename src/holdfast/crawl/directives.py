"""What a page asks of robots beyond robots.txt: meta robots, X-Robots-Tag, and the Link header."""

import re
from collections.abc import Iterable
from typing import Final

from holdfast.crawl.document import Directives

_NONE: Final = Directives()
MAX_HEADER_CHARS: Final = 16 * 1024

_FOR_ONE = re.compile(r"\s*([^\s,:;]{1,128})\s*:(?!//)(.*)", re.DOTALL)
# Directives that have a value of their own, with a colon like an agent's name.
_VALUED: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_LINK = re.compile(r"<([^<>]{0,8192}+)>((?:\s*+;[^,;\"]*+(?:\"[^\"]*+\")?+[^,;\"]*+)*+)")
_REL = re.compile(r""";\s*+rel\s*+=\s*+(?:"([^"]*+)"|([^\s;,"]++))""", re.IGNORECASE)
_TYPE = re.compile(r""";\s*+type\s*+=\s*+(?:"([^"]*+)"|([^\s;,"]++))""", re.IGNORECASE)


def token_of(user_agent: str) -> str:
    """The name by which a page may speak of us: the product of our User-Agent, in lower case."""
    return user_agent.partition("/")[0].partition(" ")[0].lower()


def directives(
    metas: Iterable[tuple[str, str]], headers: Iterable[tuple[str, str]], token: str
) -> Directives:
    """What applies to the robot of that name: what is said to all and what is said to it, the strictest of both."""
    words: list[str] = []
    for name, content in metas:
        if name in {"robots", token}:
            words += content.lower().split(",")
    for name, value in headers:
        if name.lower() == "x-robots-tag":
            words += _of_header(value[:MAX_HEADER_CHARS].lower(), token)
    if not words:
        return _NONE
    said = {word.strip() for word in words}
    none = "none" in said
    return Directives(noindex=none or "noindex" in said, nofollow=none or "nofollow" in said)


def _of_header(value: str, token: str) -> list[str]:
    """`noindex, otherbot: nofollow, noarchive`: from a name on all is said to that robot, up to the next name."""
    words = []
    mine = True
    for part in value.split(","):
        match = _FOR_ONE.match(part)
        if match is not None and match[1] not in _VALUED:
            mine = match[1] in {"*", "robots", token}
            words += [match[2]] if mine else []
        elif mine:
            words.append(part)
    return words


def links_of(value: str) -> list[tuple[str, frozenset[str], str]]:
    """The links of a Link header (RFC 8288): href, relations, type. What can't be read is left out."""
    found = []
    for match in _LINK.finditer(value[:MAX_HEADER_CHARS]):
        rel, kind = _REL.search(match[2]), _TYPE.search(match[2])
        relations = frozenset(((rel[1] or rel[2] or "") if rel else "").lower().split())
        found.append((match[1].strip(), relations, ((kind[1] or kind[2]) if kind else "").lower()))
    return found
