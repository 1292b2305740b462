"""The table is the only thing that changes a status; what it does not name is an error that says what it does."""

import pytest

from holdfast.domain.errors import UsageError, WrongState
from holdfast.domain.states import STOPPED, TRANSITIONS, Action, Status, after, diagram, parse_status

# Section 4 of the design, written down once more and by hand.
DESIGN = {
    ("pending", "claim"): "in_progress",
    ("pending", "cancel"): "cancelled",
    ("in_progress", "pause"): "paused",
    ("in_progress", "complete"): "completed",
    ("in_progress", "fail"): "failed",
    ("in_progress", "time out"): "timeout",
    ("in_progress", "cancel"): "cancelled",
    ("in_progress", "recover"): "pending",
    ("in_progress", "release"): "pending",
    ("paused", "resume"): "pending",
    ("paused", "retry"): "pending",
    ("paused", "cancel"): "cancelled",
    ("timeout", "resume"): "pending",
    ("timeout", "cancel"): "cancelled",
    ("failed", "retry"): "pending",
    ("failed", "resume"): "pending",
    ("failed", "cancel"): "cancelled",
    ("completed", "extend"): "pending",
    ("completed", "retry"): "pending",
    ("completed", "rescan"): "pending",
    **{
        (at_rest, "roll back"): "paused"
        for at_rest in ("pending", "paused", "completed", "failed", "timeout", "cancelled")
    },
    **{
        (stopped, "restart"): "pending"
        for stopped in ("paused", "completed", "failed", "timeout", "cancelled")
    },
}


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("status", Status)
def test_each_action_in_each_status(status, action):
    expected = DESIGN.get((status.value, action.value))
    if expected is not None:
        assert after(status, action) == expected
        return
    with pytest.raises(WrongState) as error:
        after(status, action)
    allowed = [name for (of, name) in DESIGN if of == status]
    assert sorted(error.value.allowed) == sorted(allowed)
    assert error.value.status == status
    for word in (status.value, action.value, *allowed):
        assert word in str(error.value)
    assert error.value.exit_code == 2


def test_every_status_has_its_row_and_can_be_left():
    assert set(TRANSITIONS) == set(Status)
    assert all(TRANSITIONS.values())
    assert set(Status) - {Status.PENDING, Status.IN_PROGRESS} == STOPPED


def test_a_user_can_always_start_a_stopped_job_anew():
    assert all(after(status, Action.RESTART) is Status.PENDING for status in STOPPED)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("running", Status.IN_PROGRESS),
        ("processing", Status.IN_PROGRESS),
        ("queued", Status.PENDING),
        (" PENDING ", Status.PENDING),
        ("PROCESSING", Status.IN_PROGRESS),
        *((status.value, status) for status in Status),
    ],
)
def test_statuses_and_their_aliases_are_read(text, status):
    assert parse_status(text) is status


@pytest.mark.parametrize("text", ["", "done", "in progress", "pending,"])
def test_another_word_is_an_error_that_lists_the_words(text):
    with pytest.raises(UsageError) as error:
        parse_status(text)
    assert all(word in str(error.value) for word in [*Status, "running", "processing", "queued"])


def test_the_diagram_draws_the_table_and_nothing_else():
    lines = diagram().splitlines()
    assert lines[:2] == ["stateDiagram-v2", "    [*] --> pending: submit"]
    drawn = set()
    for line in lines[2:]:
        source, _, rest = line.strip().partition(" --> ")
        target, _, actions = rest.partition(": ")
        drawn |= {((source, action), target) for action in actions.split(" / ")}
    assert drawn == {*DESIGN.items(), (("[*]", "fork"), "paused")}
