"""What a page says of itself, where it leads, and what a reader sees of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crawl.document import Document, Kind
from holdfast.crawl.html import MAX_TITLE_CHARS, is_html, parse, visible_text

PAGE = b"""<!DOCTYPE html><html lang="en-GB"><head><title> A
 title</title><meta name=Description content="It  says"><base href=/x/>
<link rel="shortcut canonical" href=" /c "><link rel=next href="?p=2"><link rel=stylesheet href=s.css></head>
<body><svg><title>no</title></svg><a href=" /q ">q</a><a name=z>z</a><a href>e</a><iframe src=/f></iframe>
<a href=/q>again</a><noscript><a href=/ns>n</a></noscript><map><area href=/area></map><img src=/i.png>"""


def test_a_page():
    assert parse(PAGE) == Document(
        Kind.HTML,
        title="A title",
        lang="en-GB",
        description="It says",
        canonical="/c",
        base_href="/x/",
        links=["/q", "/ns", "/area", "/f", "?p=2"],
        charset="utf-8",
    )


def test_an_empty_href_is_kept_for_what_base_makes_of_it():
    assert parse(b"<a href=''>").links == [""]


def test_a_head_that_was_closed_early_is_read_on_in_the_body():
    page = parse(b"<head><noscript><img src=x></noscript><title>T</title><link rel=canonical href=/c></head>")
    assert (page.title, page.canonical) == ("T", "/c")


def test_an_svg_title_is_not_the_pages():
    assert parse(b"<svg><title>no</title></svg>").title == ""


def test_what_a_page_says_is_bounded():
    assert len(parse(b"<title>" + b"x" * 100_000).title) == MAX_TITLE_CHARS


@pytest.mark.parametrize("hint", [None, "windows-1251"])
def test_links_and_titles_in_other_charsets(hint):
    body = '<meta charset=windows-1251><title>Привет</title><a href="/п">'.encode("cp1251")
    page = parse(body, hint)
    assert (page.title, page.links, page.charset) == ("Привет", ["/п"], "windows-1251")


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html", b"", True),
        ("Text/HTML; charset=x", b"", True),
        ("application/xhtml+xml", b"", True),
        ("text/plain", b"<html>", False),
        ("", b"\xef\xbb\xbf\n<!DOCTYPE HTML>", True),
        ("", b"<HtMl>", True),
        ("", b"%PDF", False),
    ],
)
def test_what_counts_as_html(content_type, body, expected):
    assert is_html(content_type, body) is expected


def test_visible_text():
    body = b"""<head><title>no</title></head><body><h1>Head</h1><p>one <b>two</b>three<br>four
    <script>no</script><style>no</style><noscript>no</noscript><template>no</template></p>
    <ul><li>a</li><li> b <ul><li>c</li></ul></li></ul>
    <table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table><pre>x
  y</pre><!-- no -->tail &amp; end"""
    assert visible_text(body) == (
        "Head\n\none twothree\nfour\n\na\nb\n\nc\n\n1\t2\n3\n\nx\n  y\n\ntail & end"
    )


def test_deep_nesting_is_read_without_recursion():
    body = b"<div>" * 50_000 + b"<a href=/x>deep</a>"
    assert visible_text(body) == "deep"
    assert parse(body).links == ["/x"]


TAGS = st.sampled_from(
    [
        "<a href='",
        "'>",
        "</a>",
        "<title>",
        "</title>",
        "<base href=",
        "<meta charset=",
        "<svg>",
        "<math>",
        "<table>",
        "<pre>",
        "<frameset>",
        "<frame src=x>",
        "<template>",
        "</p>",
        "<!--",
        "-->",
        "<![CDATA[",
        "&#xD800;",
        "&#0;",
        "\0",
        "<",
        ">",
        "é",
        "\ud800",
        "<select>",
        "<option>",
        "<script>",
        "<link rel=next href=",
        "<area href=x>",
        "<noscript>",
        "text ",
        "\n",
        "<plaintext>",
        "</body>",
    ]
)


@given(
    st.binary(max_size=300)
    | st.lists(TAGS, max_size=40).map(lambda parts: "".join(parts).encode("utf-8", "replace"))
)
def test_no_page_is_too_broken(body):
    page = parse(body)
    assert parse(body, page.charset) == page
    for text in (page.title, page.lang, page.description, *page.links, visible_text(body, page.charset)):
        text.encode()
    assert len(set(page.links)) == len(page.links)
