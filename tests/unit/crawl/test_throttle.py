"""A host that answers slowly is asked less often; one that says so, much less; errors never speed anything up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.clock import ManualClock

from holdfast.crawl import throttle as module
from holdfast.crawl.throttle import Throttle
from holdfast.ports.pipeline import HostPace

A = "https://a.example"


class Told:
    """A host as the engine sees it: the delay that it was told last."""

    def __init__(self, *, least=0.0, target=1.0, most=60.0):
        self.clock = ManualClock()
        self.throttle = Throttle(self.clock, target=target, max_delay_s=most)
        self.delay_s = self.throttle.met(A, HostPace(2, least)).delay_s

    def answers(self, status=200, elapsed_s=0.1, times=1):
        for _ in range(times):
            self.clock.advance(elapsed_s)
            pace = self.throttle.answered(A, status, elapsed_s)
            self.delay_s = self.delay_s if pace is None else pace.delay_s
        return self.delay_s


@pytest.mark.parametrize(("target", "comes_to"), [(1.0, 4.0), (2.0, 2.0), (0.5, 8.0)])
def test_the_delay_comes_to_what_keeps_so_many_requests_under_way(target, comes_to):
    assert Told(target=target).answers(elapsed_s=4.0, times=12) == pytest.approx(comes_to, rel=0.06)


def test_a_host_that_recovers_is_asked_more_often_again():
    host = Told(least=1.0)
    assert host.answers(elapsed_s=10.0, times=10) > 9.0
    assert host.answers(elapsed_s=0.1, times=10) == 1.0


def test_one_slow_answer_among_quick_ones_counts_half():
    host = Told()
    host.answers(elapsed_s=0.2, times=9)
    assert host.answers(elapsed_s=8.0) == pytest.approx(4.1, abs=0.05)


@pytest.mark.parametrize("status", [404, 410, 500, 502])
def test_an_error_that_comes_quickly_speeds_nothing_up(status):
    host = Told()
    slow = host.answers(elapsed_s=5.0, times=10)
    assert host.answers(status, elapsed_s=0.01, times=50) == slow
    assert host.answers(status, elapsed_s=20.0, times=10) > 3 * slow, "a slow one slows down"


@pytest.mark.parametrize("status", sorted(module.PUSHED_BACK))
def test_a_refusal_doubles_the_delay_and_good_answers_take_it_back_little_by_little(status):
    host = Told(least=1.0)
    delays = [host.answers(status) for _ in range(9)]
    assert delays == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]
    after = [host.answers() for _ in range(60)]
    assert after == sorted(after, reverse=True)
    assert after[4] > 30.0
    assert after[-1] == 1.0


def test_refusals_of_what_was_under_way_together_are_one():
    host = Told(least=1.0)
    host.clock.advance(5.0)
    told = [host.throttle.answered(A, 429, 2.0) for _ in range(10)]
    assert [pace and pace.delay_s for pace in told] == [2.0, *[None] * 9]


def test_robots_wish_is_the_floor_even_above_the_most():
    host = Told(least=90.0, most=60.0)
    assert host.answers(elapsed_s=0.1, times=5) == 90.0
    assert host.answers(429) == 90.0
    pace = host.throttle.met(A, HostPace(1, 5.0))
    assert (pace.per_host, pace.delay_s) == (1, 60.0), "met again, it is still the host that refused"


def test_what_was_learnt_of_the_host_stays_with_each_change():
    throttle = Throttle(ManualClock(), target=1.0, max_delay_s=60.0)
    throttle.met(A, HostPace(1, 1.0, until=77.0, machine="a.example"))
    assert throttle.answered(A, 200, 8.0) == HostPace(1, 4.0, until=77.0, machine="a.example")


def test_the_engine_is_told_only_what_makes_a_difference():
    throttle = Throttle(ManualClock(), target=1.0, max_delay_s=60.0)
    throttle.met(A, HostPace(1, 1.0))
    assert [throttle.answered(A, 200, 0.1) for _ in range(100)] == [None] * 100
    assert throttle.answered("https://never-met.example", 200, 9.0) is None


def test_hosts_are_forgotten_in_the_order_of_their_meetings(monkeypatch):
    monkeypatch.setattr(module, "MAX_HOSTS", 3)
    throttle = Throttle(ManualClock(), target=1.0, max_delay_s=60.0)
    for n in range(5):
        throttle.met(f"http://h{n}", HostPace(1, 0.0))
    known = [n for n in range(5) if throttle.answered(f"http://h{n}", 200, 9.0)]
    assert known == [2, 3, 4]


@given(
    st.lists(st.tuples(st.sampled_from([200, 301, 404, 429, 500, 503]), st.floats(0.0, 500.0))),
    st.floats(0.0, 120.0),
    st.floats(0.1, 90.0),
)
def test_never_below_the_least_nor_above_the_most(answers, least, most):
    host = Told(least=least, most=most)
    for status, elapsed_s in answers:
        before = host.delay_s
        after = host.answers(status, elapsed_s)
        assert least <= after <= max(least, most)
        assert status < 400 or after >= before
