"""What is said at the end, in lists and in the log."""

import json
import logging
from dataclasses import replace

import pytest
from tests.kit import builders

from holdfast.cli import complaints, logs, outcome
from holdfast.cli.ls import columns
from holdfast.domain.checkpoint import Counters
from holdfast.domain.errors import HomeError, LeaseLost, StorageFull, WrongState
from holdfast.domain.job import NO_START_PAGE
from holdfast.domain.states import TRANSITIONS, Action, Status, after
from holdfast.ports.jobs import Tally

JOB = replace(
    builders.job(),
    counters=Counters(found=42, queued=30, done=10, failed=2, bytes=5000),
    commit_no=7,
    active_s=3.0,
)


@pytest.mark.parametrize(
    ("status", "reason", "code", "told"),
    [
        (Status.COMPLETED, None, 0, "completed: 10 pages, 30 queued, 2 failed, 5.0 kB in 3.0 s."),
        (Status.COMPLETED, "page limit", 0, "completed at its page limit"),
        (Status.FAILED, "crashed and exceeded max retries", 1, "failed: crashed and exceeded max retries."),
        (Status.PAUSED, "user", 3, "paused at checkpoint 7"),
        (Status.PAUSED, "disk", 3, "Free some space"),
        (Status.PENDING, "shutdown", 3, "stopped at checkpoint 7"),
        (Status.TIMEOUT, "time limit", 4, "time limit reached"),
        (Status.CANCELLED, "user", 5, "holdfast restart 0000abcd --home 'my home'"),
        (Status.IN_PROGRESS, None, 1, "another process"),
    ],
)
def test_each_end_has_its_sentence_and_its_code(status, reason, code, told):
    job = replace(JOB, status=status, reason=reason)
    first, *rest = outcome.ended(job, ["--home", "my home"], [])
    assert told in first
    assert outcome.EXIT[status] == code
    if status in {Status.FAILED, Status.PAUSED, Status.PENDING, Status.TIMEOUT}:
        assert rest == ["Resume with: holdfast resume 0000abcd --home 'my home'"]
    else:
        assert rest == []


@pytest.mark.parametrize(
    ("tallies", "told"),
    [
        ([], "no start URL gave a page."),
        ([Tally("failed", "dns", 1)], "(dns)"),
        ([Tally("skipped", "robots", 1)], "--ignore-robots"),
    ],
)
def test_a_start_without_a_page_says_why(tallies, told):
    job = replace(JOB, status=Status.FAILED, reason=NO_START_PAGE)
    assert told in outcome.ended(job, [], tallies)[0]


def test_json_is_one_ascii_line():
    line = outcome.json_line(outcome.as_json(replace(JOB, name="näme\n")))
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["name"] == "näme\n"


@pytest.mark.parametrize("status", list(Status))
def test_every_wrong_state_is_answered_with_commands(status):
    for action in Action:
        if action in TRANSITIONS[status]:
            continue
        with pytest.raises(WrongState) as caught:
            after(status, action)
        told = complaints.wrong_state(caught.value)
        assert status.value in told
        assert "`holdfast " in told


def test_an_error_of_ours_says_itself(capsys):
    assert complaints.tell(HomeError("no home.\nMake one"), {}) == 2
    assert complaints.tell(StorageFull("no room"), {}) == 3
    assert complaints.tell(LeaseLost("lost"), {}) == 1
    assert capsys.readouterr().err.splitlines() == [
        "holdfast: no home. Make one.",
        "holdfast: no room.",
        "holdfast: lost.",
    ]


def test_a_bug_is_written_down(capsys, tmp_path):
    assert complaints.tell(ZeroDivisionError("by zero"), {"home_path": tmp_path}) == 1
    (log,) = tmp_path.iterdir()
    assert str(log) in capsys.readouterr().err
    assert "ZeroDivisionError" in log.read_text()


def test_a_log_record_is_one_line_with_its_context():
    record = logging.makeLogRecord(
        {"levelno": logging.WARNING, "levelname": "WARNING", "msg": "bad %s", "args": ("\x1b[31m\nthing",)}
    )
    record.job_id = "abcd"
    record.retry_count = 2
    assert logs.Lines().format(record) == "holdfast: warning: bad �[31m�thing [job_id=abcd retry_count=2]"


def test_a_traceback_is_only_for_those_who_asked():
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    raised = (caught.type, caught.value, caught.tb)
    record = logging.makeLogRecord(
        {"levelno": logging.ERROR, "levelname": "ERROR", "msg": "bad", "exc_info": raised}
    )
    assert logs.Lines().format(record) == "holdfast: error: bad (ZeroDivisionError: division by zero)"
    assert "Traceback" in logs.Lines(tracebacks=True).format(record)


def test_columns_are_aligned():
    lines = columns(
        [("a", "completed", "1", "0", "0", "1 s", "2 d", "x"), ("b", "p", "1,000", "0", "0", "", "1 s", "")]
    )
    assert lines[0].startswith("JOB  STATUS     PAGES")
    assert lines[1].startswith("a    completed      1")
    assert not lines[2].endswith(" ")
