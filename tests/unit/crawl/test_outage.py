"""When silence is the host's, for how long it is left alone, and when its pages are to blame again."""

import pytest
from tests.unit.site.web_of_dict import StillClock

from holdfast.crawl.outage import MANY, Outages
from holdfast.domain.retry import Backoff, RetryPolicy

HOST = "https://example.com"
POLICY = RetryPolicy(network=Backoff(tries=4, base_s=2.0, cap_s=60.0), outage_s=600.0)


@pytest.fixture
def clock():
    return StillClock()


@pytest.fixture
def outages(clock):
    return Outages(clock, lambda: 1.0, POLICY)


def test_a_host_that_has_never_answered_has_no_outages(outages):
    assert not outages.knows(HOST)
    assert outages.failed(HOST, surely=True) is None


def test_nobody_there_is_an_outage_at_once(outages):
    outages.answered(HOST)
    assert outages.knows(HOST)
    assert outages.failed(HOST, surely=True) == pytest.approx(2.0)


def test_what_may_be_the_pages_own_fault_takes_many_in_a_row(outages):
    outages.answered(HOST)
    assert [outages.failed(HOST, surely=False) for _ in range(MANY - 1)] == [None] * (MANY - 1)
    outages.answered(HOST)
    assert [outages.failed(HOST, surely=False) for _ in range(MANY - 1)] == [None] * (MANY - 1)
    assert outages.failed(HOST, surely=False) == pytest.approx(2.0)


def test_those_that_fail_together_are_one_look_and_the_looks_get_rarer(outages, clock):
    outages.answered(HOST)
    waits = []
    for _ in range(8):
        wait = outages.failed(HOST, surely=True)
        assert outages.failed(HOST, surely=True) == pytest.approx(wait)
        waits.append(wait)
        clock.pass_by(wait)
    assert waits == pytest.approx([2, 4, 8, 16, 32, 60, 60, 60])


def test_an_answer_ends_it(outages, clock):
    outages.answered(HOST)
    clock.pass_by(outages.failed(HOST, surely=True))
    outages.failed(HOST, surely=True)
    outages.answered(HOST)
    clock.pass_by(10_000.0)
    assert outages.failed(HOST, surely=True) == pytest.approx(2.0)


def test_after_too_long_the_pages_are_to_blame_again(outages, clock):
    outages.answered(HOST)
    outages.failed(HOST, surely=True)
    clock.pass_by(601.0)
    assert outages.failed(HOST, surely=True) is None


def test_hosts_are_strangers_to_each_other(outages):
    outages.answered(HOST)
    outages.answered("https://other.org")
    outages.failed(HOST, surely=True)
    assert [outages.failed("https://other.org", surely=False) for _ in range(MANY - 1)] == [None] * (MANY - 1)
