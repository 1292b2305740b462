"""Drawings hold what they show, each as large as it should be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.output.report.scales import ticks, time_ticks
from holdfast.output.report.treemap import Box, squarified


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=40), st.floats(10, 2_000), st.floats(10, 2_000))
def test_a_treemap_gives_each_part_its_area_and_stays_inside(values, width, height):
    values.sort(reverse=True)
    boxes = squarified(values, Box(5, 7, width, height))
    assert len(boxes) == len(values)
    for value, box in zip(values, boxes, strict=True):
        share = value / sum(values)
        assert math.isclose(box.width * box.height, share * width * height, rel_tol=1e-6)
        assert box.x >= 5 - 1e-6
        assert box.y >= 7 - 1e-6
        assert box.x + box.width <= 5 + width + 1e-6
        assert box.y + box.height <= 7 + height + 1e-6


def test_parts_of_a_treemap_do_not_overlap():
    boxes = squarified([50, 20, 10, 10, 5, 3, 1, 1], Box(0, 0, 300, 200))
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            assert (
                one.x + one.width <= other.x + 1e-6
                or other.x + other.width <= one.x + 1e-6
                or one.y + one.height <= other.y + 1e-6
                or other.y + other.height <= one.y + 1e-6
            )


def test_nothing_has_no_area():
    assert squarified([], Box(0, 0, 10, 10)) == []
    assert squarified([0, 0], Box(0, 0, 10, 10)) == [Box(0, 0, 0, 0)] * 2


@pytest.mark.parametrize("highest", [1e-5, 0.3, 1, 7, 48, 999, 123_456_789])
def test_ticks_are_round_few_and_reach_the_highest(highest):
    marks = ticks(highest)
    assert marks[0] == 0
    assert marks[-1] >= highest
    assert 2 <= len(marks) <= 5
    assert len({f"{mark:.1e}" for mark in marks}) == len(marks)


@pytest.mark.parametrize("length", [0.2, 5, 61, 3_600, 90_000, 1e8])
def test_moments_are_few_and_within(length):
    marks = time_ticks(length, 8)
    assert marks[0] == 0
    assert len(marks) <= 9
    assert marks[-1] <= length
