"""Families of addresses: those that give nothing new for long are closed, and those that do are crawled whole."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.pipelines.site import families as module
from holdfast.pipelines.site.families import FAR, IN_A_ROW, KEY_SETS, Families, content, family
from holdfast.pipelines.site.traps import Trap

SITE = "https://example.com"


def test_a_family_is_what_differs_in_numbers_and_the_order_of_parameters():
    assert family(f"{SITE}/cal/2031/05?week=2&day=1") == f"{SITE}/cal/#/#?day=#&week=#"
    assert family(f"{SITE}/cal/2032/11?day=30&week=44") == family(f"{SITE}/cal/2031/05?week=2&day=1")
    assert family("http://10.0.0.1:8000/") == "http://10.0.0.1:8000/"
    assert family(f"{SITE}/a") != family(f"{SITE}/b")


def said(page, text="Page {} of a list", hrefs=("?page={}",), body=b"<img src=logo.png>"):
    own = [text.format(page), *(href.format(page + 1) for href in hrefs), f"?page={page - 1}"]
    return content(f"{SITE}/list?page={page}", own[0], own[1:], body)


def test_content_differs_by_what_is_said_shown_and_led_to_but_not_by_the_address_own_numbers():
    assert said(700) == said(701) == said(12)
    assert said(700) == said(701, body=b"<p>12</p><IMG src=logo.png>".replace(b"IMG", b"img"))
    assert said(700) != said(701, text="Page {} of a list, 12 posts")
    assert said(700) != said(701, hrefs=("?page={}", "/photo/7310"))
    assert said(700) != said(701, body=b"<img src=logo.png><img src=/comic/701.png>")
    assert said(700) != said(700, text="Page {}")
    assert content(f"{SITE}/{'9' * 5000}", "9" * 5000, (), b"") != b""


def read(families, url, depth=FAR, onward=None, said=b"same"):
    return families.read(url, depth, [url + "1"] if onward is None else onward, lambda: said)


def test_a_family_is_closed_after_so_many_pages_in_a_row_without_anything_new():
    families = Families((), avoid=True)
    for n in range(IN_A_ROW):
        assert read(families, f"{SITE}/cal/{n}") is None
        assert families.refuse(f"{SITE}/cal/{n}") is None
    assert read(families, f"{SITE}/cal/9") == f"{SITE}/cal/#"
    assert families.refuse(f"{SITE}/cal/10") is Trap.BARREN
    assert families.refuse(f"{SITE}/other/10") is None
    # What was noted down holds for whoever goes on, and is noted once.
    later = Families([f"{SITE}/cal/#"], avoid=True)
    assert later.refuse(f"{SITE}/cal/11") is Trap.BARREN
    assert [read(families, f"{SITE}/cal/9") for _ in range(2 * IN_A_ROW)] == [None] * 2 * IN_A_ROW


@given(st.integers(1, IN_A_ROW - 1))
def test_anything_new_in_between_keeps_it_open(every):
    families = Families((), avoid=True)
    for n in range(5 * IN_A_ROW):
        assert (
            read(families, f"{SITE}/list?page={n}", said=b"post %d" % n if n % every == 0 else b"same")
            is None
        )


@pytest.mark.parametrize(
    "changes",
    [{"depth": FAR - 1}, {"onward": []}, {"onward": [f"{SITE}/elsewhere"]}],
    ids=["near", "end", "out"],
)
def test_only_what_leads_ever_further_to_its_like_is_watched(changes):
    families = Families((), avoid=True)
    for n in range(3 * IN_A_ROW):
        assert read(families, f"{SITE}/copy/{n}", **changes) is None


def test_nothing_is_refused_or_closed_when_traps_are_not_avoided():
    families = Families([f"{SITE}/cal/#"], avoid=False)
    assert families.refuse(f"{SITE}/cal/1") is None
    for order in itertools.permutations(["a=1", "b=2", "c=3"]):
        assert families.refuse(f"{SITE}/x?{'&'.join(order)}") is None
    assert [read(families, f"{SITE}/x/{n}") for n in range(2 * IN_A_ROW)] == [None] * 2 * IN_A_ROW


@given(
    st.lists(st.sampled_from(["a=1", "b=2", "c=3", "d=", "e"]), min_size=2, max_size=5, unique=True),
    st.randoms(),
)
def test_of_all_orders_of_the_same_parameters_one_is_let_through(pairs, rng):
    families = Families((), avoid=True)
    orders = [f"{SITE}/x?{'&'.join(order)}" for order in itertools.permutations(pairs)]
    rng.shuffle(orders)
    first = orders[0]
    assert [families.refuse(url) for url in orders] == [None] + [Trap.ORDER] * (len(orders) - 1)
    assert families.refuse(first) is None, "tried again, it is itself"
    families.forget(orders[1])
    assert families.refuse(orders[1]) is Trap.ORDER
    families.forget(first)
    assert families.refuse(orders[1]) is None, "the first gave nothing"


def test_the_order_of_values_of_one_parameter_counts():
    families = Families((), avoid=True)
    assert families.refuse(f"{SITE}/x?a=1&a=2") is None
    assert families.refuse(f"{SITE}/x?a=2&a=1") is None
    assert families.refuse(f"{SITE}/y?a=1&b=2") is None


def test_a_path_has_so_many_choices_of_parameters_and_no_more():
    families = Families((), avoid=True)
    names = [f"f{n}" for n in range(9)]
    choices = [keys for size in range(1, 10) for keys in itertools.combinations(names, size)]
    random.Random(1).shuffle(choices)
    refused = [
        keys for keys in choices if families.refuse(f"{SITE}/shop?{'&'.join(f'{key}=1' for key in keys)}")
    ]
    many = [keys for keys in choices if len(keys) >= module.MANY_KEYS]
    assert len(refused) == len(many) - KEY_SETS
    assert all(len(keys) >= module.MANY_KEYS for keys in refused)


def test_a_forum_and_a_wiki_are_let_through_whole():
    families = Families((), avoid=True)
    for f, t, start in itertools.product(range(20), range(50), range(0, 100, 20)):
        assert families.refuse(f"{SITE}/viewtopic.php?f={f}&t={t}&start={start}") is None
    for n in range(5000):
        assert families.refuse(f"{SITE}/index.php?title=Page_{n}&action=history&limit=50") is None
        assert families.refuse(f"{SITE}/index.php?title=Page_{n}&diff={n}&oldid={n - 1}") is None


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MAX_ORDERS", 10)
    monkeypatch.setattr(module, "_MAX_PATHS", 10)
    monkeypatch.setattr(module, "_MAX_FAMILIES", 10)
    monkeypatch.setattr(module, "_MAX_CONTENTS", 10)
    monkeypatch.setattr(module, "MAX_CLOSED", 3)
    families = Families((), avoid=True)
    for n in range(100):
        assert families.refuse(f"{SITE}/{n}?a=1&b=2&c=3") is None
        name = f"{SITE}/{'x' * n}/"
        for page in range(20):
            read(families, f"{name}{page}", said=b"%d" % page)
    assert len(families._orders) <= 10
    assert len(families._key_sets) <= 10
    assert len(families._watched) <= 10
    assert all(len(watched.contents) <= 10 for watched in families._watched.values())
    closed = {read(families, f"{SITE}/{'y' * n}/{page}") for n in range(6) for page in range(2 * IN_A_ROW)}
    assert len(closed - {None}) == 3
