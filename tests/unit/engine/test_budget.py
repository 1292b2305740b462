"""Limits are exact, however many work at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.checkpoint import Counters
from holdfast.domain.item import Consulted, Done, Failed, Record, Redirected, RetryAt, Skipped
from holdfast.domain.job import Limits
from holdfast.engine.budget import BYTE_LIMIT, PAGE_LIMIT, Budget


def done(size=1):
    return Done((Record("page", {"size": size}),))


def budget(pages=None, size=None, counters=None):
    return Budget(Limits(max_pages=pages, max_bytes=size), counters or Counters())


def test_no_limit_is_no_limit():
    free = budget()
    assert all(free.reserve() for _ in range(10_000))
    assert free.spent() is None


def test_what_is_in_flight_counts():
    two = budget(2)
    assert [two.reserve(), two.reserve(), two.reserve()] == [True, True, False]
    assert two.spent() is None, "a slot may still come back"
    two.settle(done())
    two.settle(done())
    assert two.spent() == PAGE_LIMIT


@pytest.mark.parametrize(
    "outcome", [Failed("x"), Skipped("x"), RetryAt(0.0, "x"), Redirected((), "x"), Consulted(()), None]
)
def test_what_gives_no_page_gives_its_slot_back(outcome):
    one = budget(1)
    assert one.reserve()
    assert one.settle(outcome)
    assert one.spent() is None
    assert one.reserve()


def test_what_is_committed_counts():
    assert budget(5, counters=Counters(done=5)).spent() == PAGE_LIMIT
    assert not budget(5, counters=Counters(done=5)).reserve()
    assert budget(size=10, counters=Counters(bytes=10)).spent() == BYTE_LIMIT
    assert budget(5, counters=Counters(done=4, failed=9, redirected=9, consulted=9)).spent() is None


def test_after_the_page_that_did_not_fit_none_is_kept():
    ten = budget(size=10)
    for _ in range(4):
        ten.reserve()
    assert ten.settle(done(6))
    assert not ten.settle(done(5))
    assert ten.spent() == BYTE_LIMIT
    assert not ten.settle(done(1))
    assert ten.settle(None)


def test_a_page_that_fits_exactly_is_kept():
    ten = budget(size=10)
    ten.reserve()
    assert ten.settle(done(10))
    assert ten.spent() == BYTE_LIMIT


STEPS = st.lists(
    st.one_of(
        st.just("take"),
        st.tuples(st.integers(0, 30), st.sampled_from(["done", "failed", "redirected", "consulted"])),
    ),
    max_size=200,
)


@given(st.integers(1, 20), st.integers(1, 300), STEPS)
def test_neither_limit_is_ever_exceeded_in_any_order(pages, size, steps):
    limited = budget(pages, size)
    in_flight = kept = kept_bytes = 0
    for step in steps:
        if step == "take":
            in_flight += limited.reserve()
        elif in_flight:
            in_flight -= 1
            length, kind = step
            records = (Record("page", {"size": length}),)
            outcome = {
                "done": Done(records),
                "failed": Failed("x", records),
                "redirected": Redirected((), "x", records),
                "consulted": Consulted(records),
            }[kind]
            if limited.settle(outcome):
                kept += kind == "done"
                kept_bytes += length
        assert kept + in_flight <= pages
        assert kept_bytes <= size
        if limited.spent() is None:
            assert kept < pages


@given(st.integers(1, 20), st.lists(st.booleans(), min_size=200, max_size=200))
def test_a_page_limit_is_reached_exactly_when_enough_pages_come(pages, luck):
    limited = budget(pages)
    kept = 0
    for lucky in luck:
        if limited.spent():
            break
        assert limited.reserve()
        limited.settle(done() if lucky else Failed("x"))
        kept += lucky
    assert kept == min(pages, sum(luck))
