"""The part of a page that it is there for: without navigation, banners and footers, as far as the page marks them.

No statistics: what is taken is what a person would find by the page's own marks. <main> if there is one, else the one
<article>, else the body; less what is marked as navigation and the like, by element, role or the usual names of
classes. A name alone takes away nothing large, nor what isn't mostly links.
"""

import re
from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborNode

from holdfast.crawl.charset import as_utf8, detect
from holdfast.crawl.nesting import tree_of

_MAIN: Final = ("main, [role=main]", "article", "[itemprop=articleBody]")
_ENOUGH: Final = 0.25
"""Marked as the main part, it has at least so much of the text."""
_ASIDE: Final = (
    "nav, aside, [role=navigation], [role=banner], [role=contentinfo], [role=complementary], [role=search],"
    " [role=dialog], [role=alert], [aria-hidden=true], [hidden]"
)
_FRAME: Final = "body > header, body > footer, body > div > header, body > div > footer"
_NAMED: Final = ", ".join(
    f"{tag}[{name}]"
    for tag in ("div", "section", "ul", "ol", "p", "table", "header", "footer")
    for name in ("class", "id")
)
_NAMES: Final = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation)?|menu|sidebar|breadcrumbs?|footer|masthead|cookies?|consent|advert(?:isement)?|ads|"
    r"social|share|sharing|newsletter|subscribe|related|pagination|pager|skip|toolbar|popup|modal)(?:$|[\s_-])",
    re.IGNORECASE,
)
_SMALL: Final = 0.3
"""Of the text: what a name takes away is less."""
_LINKS: Final = 0.5
"""Of its own text: what a name takes away is more of links."""
_FEW_CHARS: Final = 160
"""So short a thing goes by its name alone."""


def article(body: bytes, charset_hint: str | None) -> LexborNode | None:
    """The element that holds the main part of an HTML body. Nothing of the page is shared with anybody else."""
    tree = tree_of(as_utf8(body, detect(body, charset_hint)))
    root = tree.body or tree.root
    if root is None:
        return None
    whole = _length(root)
    for select in _MAIN:
        found = [node for node in tree.css(select) if not _within(node, select)]
        best = max(found, key=_length, default=None)
        if best is not None and (len(found) == 1 or select == _MAIN[0]) and _length(best) >= _ENOUGH * whole:
            root = best
            break
    else:
        _drop(root.css(_FRAME), root)
    _drop(root.css(_ASIDE), root)
    _drop(list(_by_name(root)), root)
    return root


def _by_name(root: LexborNode) -> Iterator[LexborNode]:
    whole = max(1, _length(root))
    for node in root.css(_NAMED):
        attributes = node.attrs
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
        if not _NAMES.search(names):
            continue
        length = _length(node)
        in_links = sum(_length(link) for link in node.css("a"))
        if length < _SMALL * whole and (length <= _FEW_CHARS or in_links >= _LINKS * length):
            yield node


def _drop(nodes: list[LexborNode], root: LexborNode) -> None:
    kept = root.mem_id
    for node in nodes:
        if node.mem_id != kept:
            node.remove()


def _within(node: LexborNode, select: str) -> bool:
    """Whether it stands in another of its kind."""
    above = node.parent
    while above is not None and above.tag not in {"body", "html", "-document"}:
        if above.css_matches(select):
            return True
        above = above.parent
    return False


def _length(node: LexborNode) -> int:
    return len(node.text(deep=True))
