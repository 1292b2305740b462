"""Fields by XPath 1.0, evaluated by lxml on the tree that browsers see. Imported only where one is asked for.

lexbor reads the page and writes it down again, whole and in order; libxml2, whose own reading of broken HTML is
another, reads that. So `table/tbody/tr`, as a browser's inspector gives it, finds what it finds there.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from lxml import etree

from holdfast.crawl.content import Content
from holdfast.crawl.text import MAX_LINE_NODES, breaks, is_hidden
from holdfast.domain.errors import UsageError

_EMPTY = etree.HTML(b"<html><head></head><body></body></html>")


def compiled(name: str, expression: str) -> Callable[[Content], Iterator[str]]:
    """What finds the values in a page. UsageError if it is no XPath."""
    try:
        # No regular expressions of EXSLT: a page could hang those.
        find = etree.XPath(expression, regexp=False, smart_strings=False)
        find(_EMPTY)
    except (etree.XPathError, ValueError) as error:
        raise UsageError(
            f"the field {name} has no XPath that we can read: {expression!r} ({error})"
        ) from None

    def search(content: Content) -> Iterator[str]:
        root = content.dom
        if root is None:
            return iter(())
        try:
            found = find(root)
        except etree.XPathError:
            # Some pages have more nodes than libxml2 puts into one set.
            return iter(())
        return map(_value, found if isinstance(found, list) else [found])

    return search


def parsed(html: bytes) -> Any:  # noqa: ANN401 - lxml's elements have no type that we may name
    """The root of the tree, from HTML that was read and written down again."""
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True, recover=True)
    return etree.fromstring(html, parser)


def _value(found: object) -> str:
    if isinstance(found, etree._Element):  # noqa: SLF001 - the only name that it has
        # A comment has a function for its tag.
        return _text(found) if isinstance(found.tag, str) else " ".join((found.text or "").split())
    if isinstance(found, float):
        return f"{found:.15g}"
    if isinstance(found, bool):
        return str(found).lower()
    return " ".join(str(found).split())


def _text(element: Any) -> str:  # noqa: ANN401 - likewise
    """As crawl.text's line_of."""
    pieces: list[str] = []
    walk = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    for event, node in islice(walk, 2 * MAX_LINE_NODES):
        if event == "start":
            if node is not element and is_hidden(node.tag):
                walk.skip_subtree()
                continue
            pieces += (" " if breaks(node.tag) else "", node.text or "")
            continue
        if event == "end" and breaks(node.tag):
            pieces.append(" ")
        if node is not element:
            pieces.append(node.tail or "")
    return " ".join("".join(pieces).split())
