"""The story of a job on an axis of working time, told from its events and commits."""

import math

from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.checkpoint import Checkpoint, CheckpointReason, Counters
from holdfast.output.report.timeline import BINS, Bins, Story, claims_of
from holdfast.ports.jobs import Event


def events(*told):
    return [Event(number, at, kind, "") for number, (at, kind) in enumerate(told, start=1)]


def commit(number, at, done, *, queued=0, failed=0, found=None):
    counters = Counters(
        found=done + queued + failed if found is None else found, queued=queued, done=done, failed=failed
    )
    return Checkpoint(number, 1, 1, number, CheckpointReason.ITEMS, at, 10, 1, counters)


def story(told, commits, *, running=True):
    one = Story(claims_of(events(*told)))
    for each in commits:
        one.add(each)
    return one.told(running=running)


def test_a_killed_claim_ends_with_its_last_commit_and_the_next_follows_without_a_gap():
    line = story(
        [(100, "submitted"), (100, "claimed"), (900, "taken back"), (900, "recovered"), (905, "completed")],
        [commit(1, 102, 10, queued=5), commit(2, 104, 20, queued=9), commit(3, 904, 29)],
    )
    assert [(span.begins_s, span.ends_s, span.commits) for span in line.spans] == [(0, 4, 2), (4, 9, 1)]
    assert line.working_s == 9
    kill, end = line.stops
    assert (kill.kind, kill.at, kill.at_s, kill.resumed_at) == ("killed", 104, 4, 900)
    assert (kill.checkpoint, kill.pages, kill.queued, kill.carried_on) == (2, 20, 9, True)
    assert (end.kind, end.resumed_at, end.pages) == ("completed", None, 29)
    assert line.kills == 1


def test_each_way_to_stop_has_its_word():
    line = story(
        [
            (0, "claimed"),
            (2, "pending"),
            (5, "claimed"),
            (7, "paused"),
            (8, "resumed"),
            (9, "claimed"),
            (11, "timeout"),
        ],
        [commit(1, 1, 1), commit(2, 6, 2), commit(3, 10, 3)],
    )
    assert [stop.kind for stop in line.stops] == ["shut down", "paused", "timeout"]
    assert line.working_s == 6


def test_a_claim_without_a_word_at_its_end_was_killed():
    line = story([(0, "claimed"), (10, "recovered")], [commit(1, 3, 4), commit(2, 12, 8)])
    assert [(stop.kind, stop.at) for stop in line.stops] == [("killed", 3)]


def test_a_claim_that_was_killed_before_its_first_commit_takes_no_room():
    line = story([(0, "claimed"), (5, "taken back"), (5, "recovered"), (9, "completed")], [commit(1, 7, 3)])
    assert [(span.begins_s, span.ends_s, span.commits) for span in line.spans] == [(0, 0, 0), (0, 4, 1)]
    assert line.stops[0].carried_on is True


def test_a_commit_after_a_stop_that_has_less_is_said():
    line = story(
        [(0, "claimed"), (5, "taken back"), (5, "recovered")],
        [commit(1, 1, 10, queued=5), commit(2, 6, 7, queued=5, found=15)],
    )
    assert line.stops[0].carried_on is False


def test_a_restart_forgets_what_was_before():
    told = [(0, "claimed"), (5, "completed"), (8, "restarted"), (9, "claimed"), (12, "completed")]
    assert [claim.at for claim in claims_of(events(*told))] == [9]


def test_a_job_at_work_has_no_stop():
    line = story([(0, "claimed")], [commit(1, 3, 10)])
    assert line.stops == ()
    assert line.working_s == 3


def test_a_claim_without_an_end_that_nobody_runs_was_killed():
    line = story([(0, "claimed")], [commit(1, 3, 10)], running=False)
    assert [(stop.kind, stop.at, stop.resumed_at, stop.pages) for stop in line.stops] == [
        ("killed", 3, None, 10)
    ]


def test_nobody_has_worked_on_it():
    line = story([(0, "submitted")], [])
    assert (line.spans, line.stops, line.working_s) == ((), (), 0)


def test_a_clock_that_is_set_back_makes_no_time_run_backwards():
    line = story(
        [(100, "claimed"), (160, "completed")], [commit(1, 150, 5), commit(2, 90, 9), commit(3, 155, 12)]
    )
    assert line.working_s == 60
    assert math.isclose(sum(line.pages), 12)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 50)), max_size=60))
def test_every_page_stands_in_some_bin_however_long_it_took(steps):
    at, done, commits = 0.0, 0, []
    for number, (step, pages) in enumerate(steps, start=1):
        at, done = at + step, done + pages
        commits.append(commit(number, at, done))
    line = story([(0, "claimed")], commits)
    assert math.isclose(sum(line.pages), done, abs_tol=1e-6)
    assert sum(line.commits) == len(commits)
    assert len(line.pages) <= BINS


def test_bins_keep_what_they_have_when_they_grow():
    bins = Bins(1)
    bins.spread(0, 1, (10,))
    bins.put(1e7, 0, 5)
    assert math.isclose(sum(bins.amounts[0]), 15)
    assert bins.width_s * BINS >= 1e7
