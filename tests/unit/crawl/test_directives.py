"""What pages ask of robots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crawl.directives import directives, links_of, token_of
from holdfast.crawl.document import Directives
from holdfast.crawl.html import parse

NOTHING = Directives()
BOTH = Directives(noindex=True, nofollow=True)


def head(text):
    return parse(f"<!doctype html><title>x</title>{text}<p>".encode()).robots


@pytest.mark.parametrize(
    ("metas", "said"),
    [
        ("", NOTHING),
        ("<meta name=robots content='noindex'>", Directives(noindex=True)),
        ("<META NAME=Robots CONTENT='Index, NOFOLLOW'>", Directives(nofollow=True)),
        ("<meta name=robots content=none>", BOTH),
        ("<meta name=robots content=all>", NOTHING),
        ("<meta name=holdfast content='noindex,nofollow'>", BOTH),
        ("<meta name=googlebot content=none>", NOTHING),
        ("<meta name=robots content=noindex><meta name=holdfast content=nofollow>", BOTH),
        ("<meta name=description content=none>", NOTHING),
        ("<meta name=robots>", NOTHING),
    ],
)
def test_a_meta_element_speaks_to_all_or_to_one_by_name(metas, said):
    assert directives(head(metas), (), "holdfast") == said


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (["noindex"], Directives(noindex=True)),
        (["noindex, nofollow"], BOTH),
        (["none"], BOTH),
        (["googlebot: none"], NOTHING),
        (["holdfast: none"], BOTH),
        (["Holdfast: noindex, nofollow"], BOTH),
        (["noindex, otherbot: nofollow"], Directives(noindex=True)),
        (["otherbot: noindex, nofollow, holdfast: nofollow"], Directives(nofollow=True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"], Directives(nofollow=True)),
        (["max-snippet:20", "noindex"], Directives(noindex=True)),
        (["otherbot: noindex", "nofollow"], Directives(nofollow=True)),
    ],
)
def test_a_header_speaks_to_all_or_to_one_by_name(headers, said):
    assert directives((), [("X-Robots-Tag", value) for value in headers], "holdfast") == said


def test_our_name_is_the_product_of_our_user_agent():
    assert token_of("Holdfast/1.0 (+https://example.com)") == "holdfast"
    assert token_of("My-Bot (x)") == "my-bot"


def test_a_link_header_names_relations_and_types():
    value = (
        '</2>; rel="next"; title="a, b", <https://o.org/>;rel=canonical , '
        '</f>; type="application/rss+xml"; rel="alternate feed"'
    )
    assert links_of(value) == [
        ("/2", frozenset({"next"}), ""),
        ("https://o.org/", frozenset({"canonical"}), ""),
        ("/f", frozenset({"alternate", "feed"}), "application/rss+xml"),
    ]


@given(st.text(alphabet='<>;=", relnxt/:', max_size=100))
def test_no_header_raises(value):
    links_of(value)
    directives((), [("x-robots-tag", value)], "holdfast")


# -- links


def links(text):
    document = parse(f"<!doctype html><title>x</title>{text}".encode())
    return document.links, document.shunned


def test_a_link_that_says_nofollow_is_told_from_the_others():
    assert links("<a href=/a>a</a><a rel='Nofollow noopener' href=/b>b</a><a rel=me href=/c>c</a>") == (
        ["/a", "/c"],
        ["/b"],
    )


def test_an_address_that_one_of_two_links_lets_in_is_a_link():
    both = "<a rel=nofollow href=/a>1</a><a href=/a>2</a>"
    assert links(both)[0] == ["/a"]


def test_feeds_are_named_in_the_head():
    document = parse(
        b"<!doctype html><title>x</title><link rel=alternate type=application/rss+xml href=/f>"
        b"<link rel='alternate' type='text/html' hreflang=de href=/de>"
        b"<link rel=ALTERNATE type=Application/Atom+XML href=/g>"
    )
    assert document.feeds == ["/f", "/g"]
