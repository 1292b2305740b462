"""What becomes of a chunk whose worker is gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.recovery import EXCEEDED, STALE, Recovery, Suspicion, judge_recovery

RULES = Recovery(max_retries=3, max_stalls=2)


def suspicion(claims=1, stalls=0, deaths=0, cautious=0, *, marked=False, killed=0, silent=False):
    return Suspicion(claims, stalls, marked, deaths, killed, silent, cautious, batch=26)


@pytest.mark.parametrize("claims", [0, 1, 2, 3, 4, 5])
def test_three_recoveries_and_no_fourth(claims):
    verdict = judge_recovery(suspicion(claims), RULES, stalled=False)
    assert verdict.failed == (EXCEEDED if claims > 3 else None)


def test_the_words_are_those_that_were_asked_for():
    assert EXCEEDED == "crashed and exceeded max retries"


@pytest.mark.parametrize(("before", "failed"), [(0, None), (1, STALE), (2, STALE)])
def test_a_second_stall_is_stale(before, failed):
    assert judge_recovery(suspicion(stalls=before), RULES, stalled=True).failed == failed


def test_a_death_after_a_stall_is_no_stall():
    verdict = judge_recovery(suspicion(stalls=1), RULES, stalled=False)
    assert (verdict.failed, verdict.stalls_since_progress) == (None, 1)


@given(st.integers(0, 50), st.integers(0, 50), st.booleans())
def test_a_person_who_repeats_the_command_is_never_refused(claims, stalls, stalled):
    verdict = judge_recovery(suspicion(claims, stalls), None, stalled=stalled)
    assert (verdict.failed, verdict.claims_since_progress, verdict.stalls_since_progress) == (None, 0, 0)


def test_no_progress_makes_the_next_claim_careful_for_all_that_may_have_been_in_hand():
    assert judge_recovery(suspicion(1), RULES, stalled=False).cautious_left == 26
    assert judge_recovery(suspicion(1), None, stalled=False).cautious_left == 26


def test_caution_goes_on_through_a_death_with_progress():
    assert judge_recovery(suspicion(0, cautious=7), RULES, stalled=False).cautious_left == 7
    assert judge_recovery(suspicion(0), RULES, stalled=False).cautious_left == 0


def test_a_kill_that_left_no_trace_is_counted_apart():
    verdict = judge_recovery(suspicion(deaths=1, killed=3, marked=True, silent=True), RULES, stalled=False)
    assert (verdict.marked_deaths, verdict.marked_silent) == (1, 4)


@pytest.mark.parametrize("before", [0, 1])
def test_deaths_of_the_named_item_are_counted(before):
    verdict = judge_recovery(suspicion(deaths=before, marked=True), RULES, stalled=False)
    assert verdict.marked_deaths == before + 1


@pytest.mark.parametrize("silent", [True, False])
def test_a_claim_that_died_before_it_named_an_item_says_nothing_of_it(silent):
    verdict = judge_recovery(suspicion(deaths=1, killed=3, silent=silent), RULES, stalled=False)
    assert (verdict.marked_deaths, verdict.marked_silent) == (1, 3)
