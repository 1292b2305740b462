"""A checkpoint is due after ten items or two minutes, whichever comes first."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.clock import ManualClock

from holdfast.domain.checkpoint import (
    HELD_BYTES,
    CheckpointData,
    CheckpointPolicy,
    CheckpointReason,
    Counters,
)


@pytest.mark.parametrize(
    ("uncommitted", "seconds", "reason"),
    [
        (0, 0.0, None),
        (0, 1e9, None),
        (1, 119.9, None),
        (1, 120.0, CheckpointReason.TIME),
        (9, 119.9, None),
        (10, 0.0, CheckpointReason.ITEMS),
        (10, 500.0, CheckpointReason.ITEMS),
        (26, 0.0, CheckpointReason.ITEMS),
    ],
)
def test_ten_items_or_two_minutes_by_default(uncommitted, seconds, reason):
    assert CheckpointPolicy().due(uncommitted, seconds) is reason


def test_few_large_items_are_due_as_well():
    assert CheckpointPolicy().due(1, 0.0, HELD_BYTES - 1) is None
    assert CheckpointPolicy().due(1, 0.0, HELD_BYTES) is CheckpointReason.SIZE


def test_two_minutes_are_those_of_the_monotonic_clock():
    clock = ManualClock()
    began = clock.monotonic()
    clock.jump(3600.0)
    assert CheckpointPolicy().due(3, clock.monotonic() - began) is None
    clock.jump(-7200.0)
    clock.advance(120.0)
    assert CheckpointPolicy().due(3, clock.monotonic() - began) is CheckpointReason.TIME


@given(st.integers(1, 1000), st.floats(0, 1e6), st.integers(0, 2000), st.floats(0, 1e7))
def test_both_numbers_are_the_users_to_set(items, seconds, uncommitted, since):
    due = CheckpointPolicy(items, seconds).due(uncommitted, since)
    assert (due is not None) == (uncommitted >= items or (uncommitted > 0 and since >= seconds))


@given(st.lists(st.integers(0, 10**9), min_size=16, max_size=16))
def test_counters_add_up_field_by_field(numbers):
    names = [field.name for field in fields(Counters)]
    one, two = Counters(*numbers[:8]), Counters(*numbers[8:])
    for name in names:
        assert getattr(one + two, name) == getattr(one, name) + getattr(two, name)


def test_the_full_picture_has_the_required_fields_with_defaults():
    assert {field.name for field in fields(CheckpointData)} == {
        "pages_visited",
        "pages_queued",
        "external_links_found",
        "current_depth",
        "crawl_start_time",
        "last_checkpoint_time",
        "entities_extracted_count",
        "analysis_sections_completed",
    }
    assert CheckpointData() == CheckpointData([], [], [], 0, None, None, 0, [])
