"""Whether a page shows nothing without its scripts: told by what it holds, before any browser has seen it.

A page is ordinary until it shows otherwise. It has to have scripts, and either nothing to see and nowhere to go, or
little of both beside an empty element that a framework fills, or beside the remark that it needs JavaScript.
"""

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from holdfast.crawl.charset import as_utf8
from holdfast.crawl.document import Document, Kind
from holdfast.crawl.text import text_of

MOST_LINKS: Final = 5
NOTHING: Final = 40
"""Fewer characters than that, spaces aside, are nothing to see: `Loading, please wait ...`."""
LITTLE: Final = 400
_PICTURE: Final = 40
"""Counts as so many characters: pictures, forms and the like are there to be seen."""
_LEAST_SCRIPT: Final = 20
"""Characters of a script that may do something."""

_SCRIPTED: Final = re.compile(rb"<script[\s>]", re.IGNORECASE)
_ALIVE: Final = re.compile(
    rb"<script[\s>]|[\s\"'/]on[a-z]+\s*=|javascript:|http-equiv\s*=\s*[\"']?refresh|shadowrootmode",
    re.IGNORECASE,
)
_SEEN: Final = (
    "img, picture, video, audio, iframe, frame, object, embed, input, textarea, select, button, pre"
)
_ROOTS: Final = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #app-root, #react-root, #react-app, #vue-app, #svelte, #q-app, #ember, "
    "#main-app, #mount, #application, [ng-app], [ng-version], [data-reactroot], [data-app], app-root, my-app"
)
_RUNNABLE: Final = frozenset({"", "module", "text/javascript", "application/javascript", "text/babel"})


def may_change(body: bytes) -> bool:
    """Whether showing a page can make another one of it: it has something that runs, or that only a browser unfolds."""
    return _ALIVE.search(body) is not None


def is_hollow(body: bytes, document: Document) -> bool:
    """`document` is what reading the body gave."""
    if document.kind is not Kind.HTML or len(document.links) + len(document.shunned) > MOST_LINKS:
        return False
    if not _SCRIPTED.search(body):
        return False
    tree = LexborHTMLParser(as_utf8(body, document.charset))
    if not any(_runs(script) for script in tree.css("script")):
        return False
    seen = len("".join(text_of(tree).split())) + _PICTURE * _pictures(tree)
    if seen < NOTHING and not document.links:
        return True
    return seen < LITTLE and (_has_empty_root(tree) or _asks_for_scripts(tree))


def _runs(script: LexborNode) -> bool:
    attributes = script.attrs
    if (attributes.get("type") or "").strip().lower() not in _RUNNABLE:
        return False
    return bool(attributes.get("src")) or len(script.text() or "") >= _LEAST_SCRIPT


def _pictures(tree: LexborHTMLParser) -> int:
    return sum(not _unseen(node) for node in tree.css(_SEEN))


def _unseen(node: LexborNode) -> bool:
    """It stands where only a browser without scripts would show it, or is told not to be seen."""
    if (node.attrs.get("type") or "").lower() == "hidden":
        return True
    above = node.parent
    while above is not None:
        if above.tag == "noscript":
            return True
        above = above.parent
    return False


def _has_empty_root(tree: LexborHTMLParser) -> bool:
    return any(len((root.text() or "").strip()) < NOTHING for root in tree.css(_ROOTS))


def _asks_for_scripts(tree: LexborHTMLParser) -> bool:
    return any("javascript" in (node.text() or "").lower() for node in tree.css("noscript"))
