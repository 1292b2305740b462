"""Microdata, as the HTML standard reads it: items with their types and properties, nested, and continued by itemref."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from holdfast.crawl.text import line_of
from holdfast.domain.url import join

MAX_ITEMS: Final = 1_000
MAX_VALUES: Final = 2_000
MAX_STEPS: Final = 500_000
"""Elements that are looked at, those that several items refer to again for each."""
MAX_LINE_NODES: Final = 1_000
"""Elements and texts that are read for one value: properties may be nested in each other."""
MAX_DEPTH: Final = 30
MAX_CHARS: Final = 50_000
MAX_ALL_CHARS: Final = 4_000_000

_URLS: Final = {
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    **dict.fromkeys(("a", "area", "link"), "href"),
    "object": "data",
}
_VALUES: Final = {"meta": "content", "data": "value", "meter": "value"}


def microdata(tree: LexborHTMLParser, base: str) -> list[Any] | None:
    """The items that are no property of another: {"type": [...], "id": ..., "properties": {name: [values]}}.

    URLs are absolute. An item within itself is left out, as is what goes beyond bounds that no real page reaches.
    """
    reading = _Reading(tree, base)
    tops = [node for node in tree.css("[itemscope]") if "itemprop" not in node.attributes]
    return [reading.item(node, ()) for node in tops[:MAX_ITEMS]] or None


@dataclass(slots=True)
class _Reading:
    tree: LexborHTMLParser
    base: str
    values: int = MAX_VALUES
    chars: int = MAX_ALL_CHARS
    steps: int = MAX_STEPS
    by_id: dict[str, LexborNode] | None = None

    def item(self, node: LexborNode, within: tuple[int, ...]) -> dict[str, Any]:
        attributes = node.attributes
        found: dict[str, Any] = {}
        types = (attributes.get("itemtype") or "").split()
        if types:
            found["type"] = [self._cut(one) for one in types[:10]]
        if attributes.get("itemid"):
            found["id"] = self._url(attributes["itemid"] or "")
        properties: dict[str, list[Any]] = {}
        within = (*within, node.mem_id)
        for one in self._properties(node):
            if self.values <= 0:
                break
            value = self._value(one, within)
            for name in (one.attributes.get("itemprop") or "").split():
                if value is None or self.values <= 0:
                    break
                self.values -= 1
                properties.setdefault(self._cut(name), []).append(value)
        found["properties"] = properties
        return found

    def _properties(self, item: LexborNode) -> Iterator[LexborNode]:
        """The elements that are properties of that item, its own and those of what it refers to."""
        seen = {item.mem_id}
        referred = list(self._referred(item.attributes.get("itemref") or ""))
        # With a stack of our own: a page may be nested deeper than Python recurses.
        waiting = [*reversed(referred), *reversed(list(item.iter()))]
        while waiting and self.steps > 0:
            node = waiting.pop()
            self.steps -= 1
            if node.mem_id in seen:
                continue
            seen.add(node.mem_id)
            attributes = node.attributes
            if "itemprop" in attributes:
                yield node
            # What is in an item of its own belongs to that.
            if "itemscope" not in attributes:
                waiting += reversed(list(node.iter()))

    def _referred(self, ids: str) -> Iterator[LexborNode]:
        if not ids:
            return
        if self.by_id is None:
            self.by_id = {}
            for node in self.tree.css("[id]"):
                self.by_id.setdefault(node.attributes.get("id") or "", node)
        for one in ids.split()[:100]:
            if one in self.by_id:
                yield self.by_id[one]

    def _value(self, node: LexborNode, within: tuple[int, ...]) -> object:
        attributes = node.attributes
        if "itemscope" in attributes:
            inside = node.mem_id in within or len(within) >= MAX_DEPTH
            return None if inside else self.item(node, within)
        tag = node.tag or ""
        if tag in _URLS:
            return self._url(attributes.get(_URLS[tag]) or "")
        if tag in _VALUES:
            return self._cut(attributes.get(_VALUES[tag]) or "")
        if tag == "time" and attributes.get("datetime") is not None:
            return self._cut(attributes["datetime"] or "")
        return self._cut(line_of(node, MAX_LINE_NODES))

    def _url(self, written: str) -> str:
        written = written.strip()
        return self._cut(join(self.base, written) or written) if written else ""

    def _cut(self, text: str) -> str:
        text = text[: min(MAX_CHARS, max(0, self.chars))]
        self.chars -= len(text)
        return text
