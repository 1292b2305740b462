"""However deep a page is nested, it is parsed in a time that grows with its length, and nothing in it is lost."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.crawl.html import parse, visible_text
from holdfast.crawl.nesting import MAX_LEVELS, shallow, tree_of


def depth(body):
    """By the tags, as they stand."""
    deepest = level = 0
    for closing in re.findall(rb"<(/?)div", body):
        level += -1 if closing else 1
        deepest = max(deepest, level)
    return deepest


@pytest.mark.parametrize("opening", [b"<div>", b"<DIV class='a'>", b"<ul><li>", b"<section><div>"])
def test_links_and_words_of_a_bottomless_page_are_all_there(opening):
    body = (
        b"<title>Deep</title><a href=/first>first</a>" + opening * 500_000 + b"<p>words<a href=/last>last</a>"
    )
    page = parse(body)
    assert (page.title, page.links) == ("Deep", ["/first", "/last"])
    assert visible_text(body).split() == ["first", "wordslast"]


def test_what_is_closed_again_is_no_depth():
    body = b"<div><p>x</p></div>" * 20_000
    assert shallow(body) is body


def test_a_page_of_few_tags_is_left_as_it_is_however_they_are_nested():
    body = b"<div>" * 3_000
    assert shallow(body) is body


def test_what_lies_above_the_limit_keeps_its_place():
    body = b"<div id=a>" + b"<div>" * 10_000 + b"</div>" * 10_000 + b"<b>after</b></div><i>outside</i>"
    tree = tree_of(body)
    assert depth(shallow(body)) == MAX_LEVELS
    assert tree.css_first("#a > b").text() == "after"
    assert tree.css_first("body > i").text() == "outside"


PIECES = [b"<div>", b"</div>", b"<ul>", b"</ul>", b"<li>", b"<p>", b"word ", b"<div", b"<!--", b"-->"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_mixture_keeps_its_words_outside_of_tags(pieces):
    body = b"".join(pieces) * 400
    assert shallow(body).count(b"word ") == body.count(b"word ") or b"<div" in pieces
    parse(body)
