"""What a reader sees of HTML. Nothing here raises for what a page contains.

One walk over the tree, in the order in which it was written: lexbor hands out node after node, and each element that
makes a break remembers at which node it will have ended. So a page of a thousand elements costs some hundred
microseconds, and one that is nested deeper than Python recurses is read like any other.
"""

from itertools import islice
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_LINE_NODES: Final = 3_000

_HIDDEN: Final = -1
_CELL: Final = 1
_LINE: Final = 2
_PARAGRAPH: Final = 3
_BREAKS: Final = ("", "\t", "\n", "\n\n")
"""What parts two texts, by weight: the heaviest of the breaks between them counts."""

_WEIGHT: Final[dict[str | None, int]] = {
    **dict.fromkeys((
        "script", "style", "noscript", "template", "head", "title", "iframe", "object", "svg", "math", "canvas",
        "audio", "video", "select", "datalist", "textarea",
    ), _HIDDEN),
    **dict.fromkeys((
        "address", "article", "aside", "blockquote", "body", "details", "dialog", "div", "dl", "fieldset",
        "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "main", "menu",
        "nav", "ol", "p", "pre", "section", "summary", "table", "ul",
    ), _PARAGRAPH),
    **dict.fromkeys(("br", "caption", "dd", "dt", "figcaption", "legend", "li", "option", "tr"), _LINE),
    **dict.fromkeys(("td", "th"), _CELL),
}  # fmt: skip


def breaks(tag: str | None) -> bool:
    """Whether an element of that name stands apart from the text around it."""
    return _WEIGHT.get(tag, 0) > 0


def is_hidden(tag: str | None) -> bool:
    """Whether no reader sees what is in an element of that name."""
    return _WEIGHT.get(tag, 0) == _HIDDEN


def text_of(tree: LexborHTMLParser) -> str:
    """What a reader sees of a page: paragraphs parted by empty lines, list items and rows by line breaks.

    Scripts, styles, templates, noscript and the head are left out; <pre> keeps its line breaks.
    """
    root = tree.body or tree.root
    return "" if root is None else text_below(root)


def line_of(element: LexborNode, most: int = MAX_LINE_NODES) -> str:
    """What a reader sees of one element, on one line; of one that no reader sees, such as a script, what it holds.

    `most` bounds the elements and texts that are read: elements within elements may all be asked for.
    """
    text = element.text() if is_hidden(element.tag) else text_below(element, most)
    return " ".join(text.split())


def text_below(root: LexborNode, most: int | None = None) -> str:  # noqa: C901, PLR0912 - no call for each node
    """As text_of, for one element and what is in it; `most` as for line_of."""
    out: list[str] = []
    gap = pre = 0
    # Of the open elements that make a break, the innermost last: itself, the node behind it, its break, whether <pre>.
    # The root is one as well: behind it there is nothing.
    at = (root.mem_id, 0, 0, False)
    open_ = [at]
    hidden_until = 0
    for node in islice(root.traverse(include_text=True), most):
        here = node.mem_id
        if hidden_until:
            if here != hidden_until:
                continue
            hidden_until = 0
        while here == at[1]:
            _, _, weight, was_pre = open_.pop()
            pre -= was_pre
            gap = max(gap, weight)
            at = open_[-1]
        tag = node.tag
        if tag == "-text":
            text = node.text_content or ""
            if not pre:
                text = _folded(text)
            if not text or text.isspace():
                if text and out and not gap and (pre or not out[-1].endswith(" ")):
                    out.append(text)
                continue
            if gap:
                if out:
                    out[-1] = out[-1].rstrip(" ")
                    out.append(_BREAKS[gap])
                text = text.lstrip(" ")
                gap = 0
            elif not out:
                text = text.lstrip(" ")
            out.append(text)
        elif weight := _WEIGHT.get(tag, 0):
            if weight == _HIDDEN:
                hidden_until = _behind(node, at)
                if not hidden_until:
                    break
                continue
            gap = max(gap, weight)
            is_pre = tag == "pre"
            pre += is_pre
            at = (here, _behind(node, at), weight, is_pre)
            open_.append(at)
    return "".join(out).strip()


def _folded(text: str) -> str:
    """Each run of white space as one space."""
    words = text.split()
    if not words:
        return " " if text else ""
    folded = " ".join(words)
    if len(folded) == len(text):
        return folded
    before, after = text[0].isspace(), text[-1].isspace()
    return f"{' ' if before else ''}{folded}{' ' if after else ''}"


def _behind(node: LexborNode, around: tuple[int, int, int, bool]) -> int:
    """The first node behind the whole of that one; 0 if there is none below the root.

    `around` is the innermost open element that makes a break: nothing is climbed twice, however deep.
    """
    at: LexborNode | None = node
    while at is not None and at.mem_id != around[0]:
        behind = at.next
        if behind is not None:
            return behind.mem_id
        at = at.parent
    return around[1]
