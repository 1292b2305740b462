"""Retry-After in both forms, backoff, and giving up."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.retry import (
    RETRY_AFTER_CAP_S,
    Backoff,
    Cause,
    GiveUp,
    Retry,
    RetryPolicy,
    cause_of_status,
    parse_http_date,
    parse_retry_after,
)

NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT
POLICY = RetryPolicy()
CAUSES = st.sampled_from(list(Cause))
JITTER = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        " sun, 6 nov 1994 08:49:37 gmt ",
        "06 Nov 1994 08:49:37",
        "Sun, 06-Nov-1994 08:49:37 UTC",
    ],
)
def test_an_http_date_in_any_spelling(text):
    assert parse_http_date(text, NOW) == NOW


def test_a_two_digit_year_means_the_nearer_century():
    now = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert (
        parse_http_date("Sunday, 06-Nov-70 08:49:37 GMT", now)
        == datetime(2070, 11, 6, 8, 49, 37, tzinfo=UTC).timestamp()
    )
    assert parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", now) == NOW


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        ("1.5", 1.5),
        ("99999999", RETRY_AFTER_CAP_S),
        ("9" * 6000, RETRY_AFTER_CAP_S),
        ("0" * 50 + "7", 7),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
        ("Sun, 06 Nov 2094 08:00:00 GMT", RETRY_AFTER_CAP_S),
        ("Mon, 31 Feb 2026 08:00:00 GMT", None),
        ("Sun, 06 Nov 1994 25:00:00 GMT", None),
        ("Sun, 06 Foo 1994 08:00:00 GMT", None),
        ("-5", None),
        ("soon", None),
        ("١٢", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after(text, seconds):
    assert parse_retry_after(text, NOW) == seconds


@given(st.text(max_size=60) | st.from_regex(r"\A[0-9]{1,30}(\.[0-9]*)?\Z"), st.floats(0, 4e9))
def test_retry_after_is_bounded_whatever_it_says(text, now):
    seconds = parse_retry_after(text, now)
    assert seconds is None or 0 <= seconds <= RETRY_AFTER_CAP_S


@given(st.integers(0, 4_000_000_000), st.integers(0, 4_000_000_000))
def test_a_date_is_a_distance(now, moment):
    text = format_datetime(datetime.fromtimestamp(moment, UTC), usegmt=True)
    assert parse_retry_after(text, now) == min(max(moment - now, 0), RETRY_AFTER_CAP_S)


@given(CAUSES, st.integers(0, 10_000), JITTER)
def test_delays_grow_up_to_their_cap(cause, attempts, jitter):
    backoff = POLICY.backoff(cause)
    delay = POLICY.delay(cause, attempts, jitter)
    assert 0 <= delay <= backoff.cap_s
    assert delay <= POLICY.delay(cause, attempts + 1, jitter)
    assert delay == pytest.approx(jitter * min(backoff.cap_s, backoff.base_s * 2.0 ** min(attempts, 60)))


@given(CAUSES, st.integers(0, 50), JITTER, st.floats(-10, 1e9))
def test_a_servers_wish_is_a_floor(cause, attempts, jitter, wish):
    delay = POLICY.delay(cause, attempts, jitter, wish)
    floor = min(max(wish, 0), POLICY.retry_after_cap_s)
    assert floor <= delay <= floor + POLICY.backoff(cause).base_s


@given(CAUSES, JITTER)
def test_exactly_so_many_tries(cause, jitter):
    tries = POLICY.backoff(cause).tries
    decisions = [POLICY.decide(cause, attempts, jitter) for attempts in range(tries)]
    assert all(isinstance(decision, Retry) for decision in decisions[:-1])
    assert decisions[-1] == GiveUp(tries)
    assert isinstance(POLICY.decide(cause, tries + 5, jitter), GiveUp)


def test_one_try_means_no_retry():
    assert RetryPolicy(network=Backoff(1, 1, 1)).decide(Cause.NETWORK, 0, 0.5) == GiveUp(1)


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504])
def test_these_pass(status):
    assert cause_of_status(status, asked_to_wait=False) is Cause.SERVER
    assert cause_of_status(status, asked_to_wait=True) is Cause.THROTTLED


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 501, 505])
def test_these_do_not(status):
    assert cause_of_status(status, asked_to_wait=True) is None


def test_too_many_requests_is_throttling():
    assert cause_of_status(429, asked_to_wait=False) is Cause.THROTTLED
