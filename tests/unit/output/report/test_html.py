"""Nothing that a stranger wrote becomes anything but text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from holdfast.output.report.html import Html, address, joined, shortened, tag

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></svg></table><script>alert(1)</script>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "<!--",
    "]]><svg onload=alert(1)>",
    "&lt;script&gt;",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_an_element_and_in_an_attribute(text):
    made = tag("p", text, title=text)
    tree = LexborHTMLParser(f"<body>{made}</body>")
    (paragraph,) = tree.css("body *")
    assert paragraph.tag == "p"
    assert paragraph.text() == text
    assert paragraph.attributes == {"title": text}


@given(st.text())
def test_any_text_is_one_text_node(text):
    tree = LexborHTMLParser(f"<body><p>{joined(text)}</p></body>")
    assert len(tree.css("body *")) == 1


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\u200f", "\x00", "\x1b", "\n", "\u2028", "\ud800"])
def test_what_controls_the_terminal_or_the_direction_of_writing_is_replaced(char):
    assert joined(f"a{char}b") == "a�b"
    assert tag("p", title=f"a{char}b") == '<p title="a�b"></p>'


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        " http://x/",
        "//x/",
        "http://x/\u202e",
    ],
)
def test_what_is_no_web_address_is_no_link(url):
    assert "<a" not in address(url)
    assert "href" not in tag("a", "x", href=url) or url.startswith("http://")


def test_an_address_is_a_link_that_tells_nobody_where_it_was_followed_from():
    (link,) = LexborHTMLParser(address('http://x/?a="b"&c=<d>')).css("a")
    assert link.attributes["href"] == 'http://x/?a="b"&c=<d>'
    assert set((link.attributes["rel"] or "").split()) == {"noopener", "noreferrer", "nofollow"}


def test_a_long_address_is_shortened_and_whole_in_its_title():
    url = f"http://x/{'a' * 300}/end"
    (link,) = LexborHTMLParser(address(url)).css("a")
    assert len(link.text()) <= 90
    assert link.text().endswith("/end")
    assert link.attributes["title"] == link.attributes["href"] == url


def test_an_endless_address_is_no_link_and_does_not_fill_the_page():
    assert len(address(f"http://x/{'a' * 8_000}")) < 1_300


def test_scripts_and_styles_of_elements_can_not_be_made():
    for name in ("onclick", "style", "src", "srcdoc"):
        with pytest.raises(ValueError, match=name):
            tag("p", **{name: "x"})


def test_what_was_made_here_is_not_escaped_again():
    assert tag("p", Html("<b>x</b>"), None, 7, ["<", tag("i", "y")]) == "<p><b>x</b>7&lt;<i>y</i></p>"


def test_shortened_keeps_both_ends():
    assert shortened("abcdefghijklmnop", 10) == "abcdef…nop"
    assert shortened("short", 10) == "short"
