"""How a watchdog tells that a lease has run out: by its own clock, and by nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.clock import NOON

from holdfast.domain.ids import uuid7
from holdfast.domain.lease import Heartbeat, LeaseTimes, expired, sight, stalled_for

TIMES = LeaseTimes()


def beat(n=1, *, seq=0, epoch=1, waiting_until=None):
    return Heartbeat(1, 1, epoch, n, seq, "here/1/aa", waiting_until)


def test_a_first_sight_starts_both_periods():
    sighting = sight(None, beat(), 50.0, NOON)
    assert not expired(sighting, TIMES, 50.0 + 119.9)
    assert expired(sighting, TIMES, 50.0 + 120.0)
    assert stalled_for(sighting, 50.0 + 1800.0) == 1800.0


def test_a_renewal_starts_the_lease_anew_but_is_no_progress():
    sighting = sight(sight(None, beat(1), 0.0, NOON), beat(2), 100.0, NOON)
    assert not expired(sighting, TIMES, 219.9)
    assert expired(sighting, TIMES, 220.0)
    assert stalled_for(sighting, 220.0) == 220.0


def test_a_commit_is_progress():
    sighting = sight(sight(None, beat(1, seq=4), 0.0, NOON), beat(1, seq=5), 100.0, NOON)
    assert stalled_for(sighting, 220.0) == 120.0
    assert expired(sighting, TIMES, 120.0)


def test_another_claim_starts_everything_anew_even_with_the_same_numbers():
    sighting = sight(sight(None, beat(), 0.0, NOON), beat(epoch=2), 100.0, NOON)
    assert not expired(sighting, TIMES, 219.9)
    assert stalled_for(sighting, 130.0) == 30.0


@given(st.lists(st.tuples(st.floats(0.1, 60), st.booleans()), min_size=1, max_size=30))
def test_expiry_needs_the_same_heartbeat_seen_for_the_whole_period(looks):
    now, n = 0.0, 0
    sighting = sight(None, beat(0), 0.0, NOON)
    renewed_at = 0.0
    for wait, renewed in looks:
        now += wait
        if renewed:
            n += 1
            renewed_at = now
        sighting = sight(sighting, beat(n), now, NOON)
        assert expired(sighting, TIMES, now) == (now - renewed_at >= TIMES.expire_s)


@pytest.mark.parametrize("jump", [-3600.0, 0.0, 3600.0])
def test_a_jump_of_the_wall_clock_changes_nothing(jump):
    sighting = sight(sight(None, beat(), 0.0, NOON), beat(), 100.0, NOON + jump)
    assert stalled_for(sighting, 100.0) == 100.0
    assert not expired(sighting, TIMES, 119.9)


def test_a_chunk_that_waits_for_a_due_time_is_not_stale_and_begins_anew_when_it_has_come():
    sighting = None
    for passed in (0.0, 1800.0, 3600.0, 7199.0):
        sighting = sight(sighting, beat(int(passed), waiting_until=NOON + 7200), passed, NOON + passed)
        assert stalled_for(sighting, passed) == 0.0
    sighting = sight(sighting, beat(9), 7260.0, NOON + 7260.0)
    assert stalled_for(sighting, 7260.0) == 61.0


@pytest.mark.parametrize(
    ("stall_s", "stale_s", "stalls"),
    [(1800, 3600, 2), (1800, 1800, 1), (60, 100, 2), (60, 121, 3), (0.1, 0.3, 3), (0.1, 1.1, 11)],
)
def test_stale_is_so_many_stalls(stall_s, stale_s, stalls):
    assert LeaseTimes(stall_s=stall_s, stale_s=stale_s).max_stalls == stalls


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_ids_sort_by_their_time(earlier, later, random):
    earlier, later = sorted((earlier, later))
    one, two = uuid7(earlier, random), uuid7(later, random)
    assert one <= two
    assert len(one) == 36
    assert (one[14], one[19] in "89ab") == ("7", True)
    assert int(one.replace("-", "")[:12], 16) == earlier
