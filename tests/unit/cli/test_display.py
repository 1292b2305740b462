"""The display, at one moment each: what a look at a job is shown as."""

import asyncio
import io
from dataclasses import replace

import pytest
from rich.console import Console
from tests.kit import builders
from tests.kit.clock import NOON, ManualClock

from holdfast.cli.picture import picture, spark_line
from holdfast.cli.screen import progress_line
from holdfast.cli.view import WINDOW_S, Left, Observer, Sample, Speed, View
from holdfast.domain.checkpoint import Checkpoint, CheckpointReason, Counters
from holdfast.domain.job import Limits
from holdfast.domain.states import Status
from holdfast.ports.jobs import HostReport


def look(**changes):
    job = replace(
        builders.job(Status.IN_PROGRESS),
        phase="crawl",
        commit_no=123,
        active_s=197.0,
        started_at=NOON - 200,
        last_checkpoint_at=NOON - 3,
        spec={"start_urls": ["https://example.org/", "https://example.net/"]},
        counters=Counters(
            found=2000, queued=760, done=1200, failed=12, skipped=20, redirected=8, bytes=18_200_000
        ),
    )
    checkpoint = Checkpoint(123, 1, 1, 123, CheckpointReason.ITEMS, NOON - 3, 10, 4, job.counters)
    hosts = tuple(HostReport(f"https://h{n}.example", 300 - n, 5, None) for n in range(5))
    view = View(job, NOON, checkpoint, hosts, 24.1, 1_400_000.0, Left(40, 500), (1.0, 4.0, 8.0, 2.0), 3.0)
    return replace(view, **changes)


def drawn(view, width=80, **options):
    shown = io.StringIO()
    Console(file=shown, width=width, force_terminal=True, color_system=None, **options).print(picture(view))
    return [line.rstrip() for line in shown.getvalue().splitlines()]


def test_a_running_crawl():
    assert drawn(look()) == [
        "● crawl  https://example.org/ and 1 more  job 0000abcd",
        "  ━━━━━━━━━━━━━━━━━━━━━━━━━━━─────────────────  62 %",
        "pages       1,200 done   760 queued   12 failed",
        "speed       24 pages/s  ▂▅█▃  18.2 MB (1.4 MB/s)",
        "time        3 min 20 s, 40 s to 8 min left",
        "checkpoint  123, 3 s ago (items)",
        "queued at   https://h0.example (300), https://h1.example (299), https://h2.exam…",
    ]


def test_hosts_at_work_are_those_that_are_being_asked():
    view = look(at_work=(("https://h3.example", 2), ("https://h4.example", 1)))
    assert "at work     https://h3.example (2), https://h4.example (1)" in drawn(view)


def test_a_host_that_is_to_wait_says_how_long():
    view = look(
        hosts=(
            HostReport("https://h.example", 31, 5, NOON + 7200),
            HostReport("https://i.example", 2, 5, NOON),
        )
    )
    assert drawn(view)[-1] == "queued at   https://h.example (31, in 2 h), https://i.example (2)"


def test_a_completed_job_that_goes_on_starts():
    view = look()
    assert drawn(replace(view, job=replace(view.job, phase="completed")))[0].startswith("● starting")


def test_wide_enough_for_all_hosts():
    assert drawn(look(), 120)[-1].endswith("https://h2.example (298) and 2 more")


def test_hosts_that_were_not_looked_at_are_not_counted():
    assert drawn(look(other_hosts=True), 130)[-1].endswith("https://h2.example (298) and at least 2 more")


@pytest.mark.parametrize("width", [1, 20, 40, 79, 200])
def test_no_line_is_wider_than_the_terminal(width):
    assert all(len(line) <= width for line in drawn(look(), width))


def test_before_anything_is_known():
    view = look(checkpoint=None, hosts=(), pages_per_s=None, bytes_per_s=None, left=None, sparks=())
    lines = drawn(replace(view, job=replace(view.job, counters=Counters())))
    assert lines[1].endswith("0 %")
    assert lines[3:] == ["speed       -  0 B", "time        3 min 20 s", "checkpoint  none yet"]


def test_limits_are_shown():
    view = look()
    limited = replace(view.job, limits=Limits(max_pages=1250, time_limit_s=600))
    lines = drawn(replace(view, job=limited))
    assert lines[1].endswith("96 %")
    assert "1,200 of 1,250 done" in lines[2]
    assert "3 min 20 s of 10 min" in lines[4]


def test_a_wish_and_a_status_are_shown():
    view = look()
    assert drawn(replace(view, job=replace(view.job, desired="pause")))[0].startswith("● pausing")
    assert drawn(replace(view, job=replace(view.job, status=Status.PAUSED)))[0].startswith("○ paused")


def test_a_hostile_url_can_not_touch_the_terminal():
    view = look()
    lines = drawn(replace(view, job=replace(view.job, spec={"start_urls": ["http://a/\x1b]0;x\x07[red]"]})))
    assert "�]0;x�[red]" in lines[0]


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Left(30, None), "at least 30 s left, the queue is growing"),
        (Left(30, 31.2), "30 to 31 s left"),
        (Left(300, 301), "about 5 min left"),
        (Left(180, 540), "3 to 9 min left"),
    ],
)
def test_an_estimate_is_a_range(estimate, text):
    assert str(estimate) == text


def test_spark_lines():
    assert spark_line((0.0, 0.0)) == "▁▁"
    assert spark_line((0.0, 1.0, 2.0)) == "▁▅█"
    assert spark_line(()) == ""


def test_the_plain_line():
    assert progress_line(look()) == (
        "crawl: 1,200 done, 760 queued, 12 failed, 18.2 MB, 24.1 pages/s, 40 s to 8 min left, checkpoint 123"
    )


class OneJob:
    """Jobs that has one job, as a display reads it."""

    def __init__(self, job):
        self.job = job

    async def find(self, _reference):
        return self.job

    async def checkpoints(self, _job_id, _limit):
        return []

    async def hosts(self, _job_id, _limit):
        return [HostReport("a", 3, 1, None), HostReport("b", 0, 9, None)]


def test_a_long_pause_is_no_active_time():
    clock = ManualClock()
    yesterday = replace(look().job, last_checkpoint_at=NOON - 86_400, active_s=10.0, commit_no=5)
    jobs = OneJob(yesterday)
    observer = Observer(jobs, "id", clock)  # type: ignore[arg-type]
    assert asyncio.run(observer.look()).active_s == 10.0
    clock.advance(2.5)
    view = asyncio.run(observer.look())
    assert view.active_s == 12.5
    assert [host.name for host in view.hosts] == ["a"]
    jobs.job = replace(yesterday, commit_no=6, active_s=12.5, status=Status.PAUSED)
    clock.advance(100)
    assert asyncio.run(observer.look()).active_s == 12.5


class TestSpeed:
    @staticmethod
    def fed(done, queued, seconds=10):
        speed = Speed()
        for second in range(seconds + 1):
            speed.add(Sample(float(second), done(second), queued(second), 1000 * second))
        return speed

    def test_a_shrinking_queue_has_an_end(self):
        speed = self.fed(lambda t: 10 * t, lambda t: 500 - 5 * t)
        assert speed.per_s("done") == 10
        assert speed.per_s("bytes") == 1000
        assert speed.left(None) == Left(45.0, 90.0)

    def test_a_growing_queue_has_none_that_we_could_know(self):
        assert self.fed(lambda t: 10 * t, lambda t: 500 + 5 * t).left(None) == Left(55.0, None)

    def test_a_page_limit_bounds_it(self):
        assert self.fed(lambda t: 10 * t, lambda t: 500 + 5 * t).left(200) == Left(10.0, 10.0)

    def test_nothing_is_said_too_early_or_at_a_standstill(self):
        assert self.fed(lambda t: 10 * t, lambda _: 5, seconds=2).left(None) is None
        assert self.fed(lambda _: 10, lambda _: 5).left(None) is None
        assert Speed().per_s("done") is None

    def test_only_the_last_seconds_count(self):
        speed = self.fed(lambda t: t if t < 20 else 20 + 100 * (t - 20), lambda _: 5, seconds=60)
        assert speed.per_s("done") == 100
        assert speed.period_s <= WINDOW_S + 1

    def test_a_restart_counts_from_there(self):
        speed = self.fed(lambda t: 10 * t, lambda _: 5)
        speed.add(Sample(11.0, 0, 1, 0))
        assert speed.per_s("done") is None
