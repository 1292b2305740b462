"""What a reader sees: held against a walk that is slow and plain."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode
from tests.kit.server import generated

from holdfast.crawl import text
from holdfast.crawl.text import line_of, text_of

PYTHON_DOC = Path("/usr/share/doc/python3-doc/html")
WEIGHTS = text._WEIGHT
HIDDEN, PARAGRAPH, LINE, CELL = (text._HIDDEN, text._PARAGRAPH, text._LINE, text._CELL)


def plain(tree: LexborHTMLParser) -> str:
    """The text by the rules alone: every piece with the breaks before and behind it, then all of them put together."""
    out = [""]
    gap = 0
    for piece, pause in pieces(tree.body or tree.root, pre=False):
        gap = max(gap, pause)
        if piece.strip():
            if gap and out[-1]:
                out[-1] = out[-1].rstrip(" ")
                out.append(["", "\t", "\n", "\n\n"][gap])
            out.append(piece.lstrip(" ") if gap or not "".join(out) else piece)
            gap = 0
        elif piece and not gap and "".join(out) and (piece != " " or not out[-1].endswith(" ")):
            out.append(piece)
    return "".join(out).strip()


def pieces(node: LexborNode, *, pre: bool) -> Iterator[tuple[str, int]]:
    if node.tag == "-text":
        written = node.text_content or ""
        yield (written if pre else re.sub(r"\s+", " ", written)), 0
        return
    weight = WEIGHTS.get(node.tag, 0)
    if weight != HIDDEN:
        yield "", weight
        for child in node.iter(include_text=True):
            yield from pieces(child, pre=pre or node.tag == "pre")
        yield "", weight


def test_paragraphs_lines_and_cells():
    body = "<p>a</p><p>b<br>c</p><ul><li>d<li>e</ul><table><tr><td>f<td>g<tr><td>h</table>i"
    assert text_of(LexborHTMLParser(body)) == "a\n\nb\nc\n\nd\ne\n\nf\tg\nh\n\ni"


def test_highlighted_code_keeps_its_lines_and_its_indentation():
    body = "<pre><b>def</b> <i>f</i>():\n    <b>return</b>\n\n<i>x</i>  <i>y</i></pre>"
    assert text_of(LexborHTMLParser(body)) == "def f():\n    return\n\nx  y"


def test_one_element_on_one_line():
    tree = LexborHTMLParser("<p>a <b>b</b>c<br>d</p><script>s( 1 )</script><title>T</title><pre>x\n y</pre>")
    assert [line_of(tree.css_first(name)) for name in ("p", "b", "script", "pre")] == [
        "a bc d",
        "b",
        "s( 1 )",
        "x y",
    ]


def test_one_element_is_read_up_to_a_bound():
    tree = LexborHTMLParser("<div>" + "<b>x</b>" * 10_000 + "</div>")
    assert len(line_of(tree.css_first("div"), 101)) == 50


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 10_000 + "deep",
        "<b>" * 50_000 + "<p>deep",
        "<b><script></script>" * 20_000 + "<p>deep",
        "<b>" * 20_000 + "<script></script></b>" * 20_000 + "<p>deep",
    ],
    ids=["breaks", "no breaks", "hidden", "hidden on the way back"],
)
def test_what_is_nested_deeply_is_read_in_one_go(body):
    steps = 0

    class Counted:
        """A node that counts how often its surroundings are asked for."""

        def __init__(self, node):
            self.node = node

        @property
        def next(self):
            nonlocal steps
            steps += 1
            return self.node.next

        @property
        def parent(self):
            return None if self.node.parent is None else Counted(self.node.parent)

        def __getattr__(self, name):
            return getattr(self.node, name)

        def traverse(self, **how):
            return map(Counted, self.node.traverse(**how))

    tree = LexborHTMLParser(body)
    assert text.text_below(Counted(tree.body)) == "deep"
    assert steps < 4 * body.count("<")


TAGS = [
    "p",
    "div",
    "b",
    "i",
    "a",
    "pre",
    "br",
    "li",
    "ul",
    "table",
    "tr",
    "td",
    "th",
    "script",
    "svg",
    "title",
]
TAGS += [
    "select",
    "option",
    "textarea",
    "template",
    "noscript",
    "h1",
    "body",
    "html",
    "head",
    "hr",
    "x-y",
    "math",
]
TEXTS = [
    "x",
    "  ",
    "\n",
    " y ",
    "a b\n c",
    " ",
    "\u2003z",
    "&nbsp;",
    "\x1c",
    "q\t",
    "<",
    "&#0;",
    "é ",
    "\x85",
    "<!-- -->",
]
PARTS = st.sampled_from([*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), *TEXTS])


@given(st.lists(PARTS, max_size=40).map("".join))
def test_any_page_as_by_the_rules(body):
    tree = LexborHTMLParser(body)
    assert text_of(tree) == plain(tree)


@pytest.mark.skipif(not PYTHON_DOC.is_dir(), reason="Debian's python3-doc is not installed")
def test_real_pages_as_by_the_rules():
    for path in sorted(PYTHON_DOC.glob("**/*.html"))[::8]:
        tree = LexborHTMLParser(path.read_bytes())
        assert text_of(tree) == plain(tree), path


def test_generated_pages_as_by_the_rules():
    for answer in generated(60).answers.values():
        tree = LexborHTMLParser(answer.body)
        assert text_of(tree) == plain(tree)
