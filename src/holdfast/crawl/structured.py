"""What a page says of itself for machines: JSON-LD, OpenGraph (with Twitter's cards) and microdata.

Much of it is broken, and some of it is hostile. What can't be read is left out, all of it is bounded, and nothing here
raises for what a page contains. All values are plain JSON of texts that UTF-8 can hold.
"""

import json
import math
import re
from typing import Any, Final

import orjson
from selectolax.lexbor import LexborHTMLParser

from holdfast.crawl.content import Content
from holdfast.crawl.html import base_href
from holdfast.crawl.microdata import microdata
from holdfast.domain.url import join

COLUMNS: Final = ("json_ld", "open_graph", "microdata")
MAX_BLOCKS: Final = 100
MAX_BLOCK_CHARS: Final = 1_000_000
MAX_ALL_CHARS: Final = 4_000_000
MAX_DEPTH: Final = 60
MAX_PROPERTIES: Final = 500
MAX_PROPERTY_CHARS: Final = 10_000

_VOCABULARIES: Final = (
    "og:",
    "article:",
    "book:",
    "profile:",
    "music:",
    "video:",
    "product:",
    "fb:",
    "twitter:",
)
_OPENINGS: Final = ("<!--", "//<![CDATA[", "/*<![CDATA[*/", "<![CDATA[", "// <![CDATA[", "/* <![CDATA[ */")
_ENDINGS: Final = ("-->", "//]]>", "/*]]>*/", "]]>", "// ]]>", "/* ]]> */", ";", "//")
_LAST_COMMA: Final = re.compile(r",(\s*[\]}])")


def structured(content: Content | None, url: str) -> dict[str, Any]:
    """A column each; None where the page at that URL has nothing of the kind."""
    if content is None or content.searched is None:
        return dict.fromkeys(COLUMNS)
    tree, html = content.searched, content.html.lower()
    return {
        "json_ld": json_ld(tree) if b"ld+json" in html else None,
        "open_graph": open_graph(tree) if b"<meta" in html else None,
        "microdata": microdata(tree, base_of(tree, url)) if b"itemscope" in html else None,
    }


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """What relative URLs in the page are relative to."""
    href = base_href(tree)
    return (join(url, href) if href else None) or url


def json_ld(tree: LexborHTMLParser) -> list[Any] | None:
    """The objects of all blocks, in order. A list in a block is its objects; a @graph stays as it is."""
    found: list[Any] = []
    left = MAX_ALL_CHARS
    for node in tree.css("script[type*='ld+json' i]")[:MAX_BLOCKS]:
        text = node.text()
        left -= len(text)
        if len(text) > MAX_BLOCK_CHARS or left < 0:
            continue
        value = read_json(text)
        found += [
            one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict) and one
        ]
    return found or None


def read_json(text: str) -> Any:  # noqa: ANN401 - any JSON
    """A JSON value as people write it: between comment or CDATA marks, line breaks in texts, a comma behind the last.

    None for what is none even so.
    """
    try:
        return plain(orjson.loads(text))
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        pass
    bare = _unwrapped(text)
    for attempt in (bare, _LAST_COMMA.sub(r"\1", bare)):
        try:
            return plain(json.loads(attempt, strict=False))
        except (ValueError, RecursionError):
            continue
    return None


def _unwrapped(text: str) -> str:
    """Without the marks that keep scripts from old browsers, however many."""
    for _ in range(4):
        text = text.strip().strip("\ufeff")
        for opening in _OPENINGS:
            text = text.removeprefix(opening)
        for ending in _ENDINGS:
            text = text.removesuffix(ending)
    return text


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:  # noqa: ANN401 - any JSON
    """The value as every format can hold it. What is nested deeper than anybody means it is cut off."""
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    return _plain_group(value, depth) if depth else None


def _plain_group(value: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [plain(one, depth - 1) for one in value]
    if isinstance(value, dict):
        return {plain(key): plain(one, depth - 1) for key, one in value.items()}
    return value


def open_graph(tree: LexborHTMLParser) -> dict[str, Any] | None:
    """Each property with its content; one that is there again has a list, in order."""
    found: dict[str, Any] = {}
    count = 0
    for node in tree.tags("meta"):
        attributes = node.attributes
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        value = attributes.get("content")
        if value is None or not name.startswith(_VOCABULARIES) or len(name) > MAX_PROPERTY_CHARS:
            continue
        count += 1
        if count > MAX_PROPERTIES:
            break
        value = value.strip()[:MAX_PROPERTY_CHARS]
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found or None
