"""How a finding meets what the ledger knows already."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.builders import found

from holdfast.domain.item import ItemStatus, Meeting, meet

STATUSES = st.sampled_from(list(ItemStatus))


@pytest.mark.parametrize(
    ("status", "known", "depth", "skip", "meeting"),
    [
        ("pending", 3, 3, None, Meeting.DEEPER),
        ("pending", 3, 2, None, Meeting.NEARER),
        ("pending", 3, 2, "external", Meeting.NEARER),
        ("done", 3, 2, None, Meeting.REJUDGED),
        ("done", 3, 3, None, Meeting.DEEPER),
        ("redirected", 3, 2, None, Meeting.REJUDGED),
        ("consulted", 3, 2, None, Meeting.REJUDGED),
        ("done", 3, 2, "external", Meeting.NEARER),
        ("failed", 3, 2, None, Meeting.NEARER),
        ("skipped", 3, 2, None, Meeting.REVIVED),
        ("skipped", 3, 9, None, Meeting.REVIVED),
        ("skipped", 3, 2, "external", Meeting.NEARER),
        ("skipped", 3, 9, "external", Meeting.DEEPER),
    ],
)
def test_each_meeting(status, known, depth, skip, meeting):
    assert meet(ItemStatus(status), known, found("x", depth, skip=skip), handled=False) is meeting


@given(STATUSES, st.integers(0, 9), st.integers(0, 9), st.sampled_from([None, "external"]), st.booleans())
def test_what_was_handled_and_skipped_is_never_revived(status, known, depth, skip, handled):
    meeting = meet(status, known, found("x", depth, skip=skip), handled=handled)
    revived = status is ItemStatus.SKIPPED and skip is None and not handled
    assert (meeting is Meeting.REVIVED) == revived


@given(STATUSES, st.integers(0, 9), st.integers(0, 9), st.booleans())
def test_no_finding_makes_an_item_deeper(status, known, depth, handled):
    if meet(status, known, found("x", depth), handled=handled) in {Meeting.NEARER, Meeting.REJUDGED}:
        assert depth < known
