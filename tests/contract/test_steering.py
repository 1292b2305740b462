"""What a person does to a job: paused, cancelled, resumed, extended, bounded anew, restarted, removed."""

import contextlib
from dataclasses import replace

import pytest
from tests.contract.stores import Working, after_slices
from tests.kit.builders import done, found, handled, new_job, page
from tests.kit.clock import NOON
from tests.kit.revisions import begin, carried_on, revised

from holdfast.domain.checkpoint import CheckpointData, CheckpointReason
from holdfast.domain.commit import Ending
from holdfast.domain.errors import JobHeld, UnknownJob, UsageError, WrongState
from holdfast.domain.failures import Which
from holdfast.domain.item import Failed, RetryAt, Skipped
from holdfast.domain.job import NO_START_PAGE, Limits
from holdfast.domain.recovery import Recovery
from holdfast.domain.states import Action, Status
from holdfast.ports.jobs import Move, Pauses, Revision
from holdfast.stores.sqlite import slices


async def stopped(store, status: Status) -> Working:
    """A job with one page done and one queued, in that status."""
    if status is Status.PENDING:
        job = await store.submit("a", "b")
        work = Working(store, (await store.claim(job)).lease)
        await work.commit(done(await work.item("a")), active_s=5.0)
        await work.commit(reason=CheckpointReason.SHUTDOWN, ending=Ending(Action.RELEASE))
        return work
    work = await store.working("a", "b")
    await work.commit(done(await work.item("a")), active_s=5.0)
    endings = {
        Status.PAUSED: Ending(Action.PAUSE, "user"),
        Status.COMPLETED: Ending(Action.COMPLETE, "page limit"),
        Status.FAILED: Ending(Action.FAIL, "because"),
        Status.TIMEOUT: Ending(Action.TIME_OUT, "time limit"),
    }
    if status in endings:
        await work.commit(reason=CheckpointReason.FINISH, ending=endings[status])
    elif status is Status.CANCELLED:
        await store.jobs.cancel(work.lease.job_id, now=NOON)
    assert (await work.job()).status is status
    return work


async def pause_of_the_dead(jobs, job_id):
    """By somebody who saw that its worker is gone."""
    return await jobs.pause(job_id, now=NOON, dead=await jobs.holder(job_id))


async def try_again(jobs, job_id):
    """Nothing has failed: allowed or not, it stays what it is."""
    assert await jobs.retry(job_id, Which(), now=NOON) == 0
    return next(job for job in await jobs.all() if job.id == job_id)


ACTIONS = {
    "pause": pause_of_the_dead,
    "wish to pause": lambda jobs, job_id: jobs.pause(job_id, now=NOON),
    "cancel": lambda jobs, job_id: jobs.cancel(job_id, now=NOON),
    "resume": lambda jobs, job_id: jobs.resume(job_id, now=NOON),
    "extend": lambda jobs, job_id: jobs.extend(job_id, now=NOON),
    "retry": try_again,
    "restart": lambda jobs, job_id: jobs.restart(job_id, [found("a")], phase="queued", now=NOON),
}
ALLOWED = {
    Status.PENDING: {"cancel": Status.CANCELLED},
    Status.IN_PROGRESS: {
        "pause": Status.PAUSED,
        "wish to pause": Status.IN_PROGRESS,
        "cancel": Status.CANCELLED,
    },
    Status.PAUSED: {
        "resume": Status.PENDING,
        "retry": Status.PAUSED,
        "cancel": Status.CANCELLED,
        "restart": Status.PENDING,
    },
    Status.TIMEOUT: {"resume": Status.PENDING, "cancel": Status.CANCELLED, "restart": Status.PENDING},
    Status.FAILED: {
        "resume": Status.PENDING,
        "retry": Status.FAILED,
        "cancel": Status.CANCELLED,
        "restart": Status.PENDING,
    },
    Status.COMPLETED: {"extend": Status.PENDING, "retry": Status.COMPLETED, "restart": Status.PENDING},
    Status.CANCELLED: {"restart": Status.PENDING},
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("status", list(Status))
async def test_each_wish_in_each_status(store, status, action):
    """It does what the table says, or is refused by the status's name with nothing changed."""
    work = await stopped(store, status)
    before = await work.job()
    expected = ALLOWED[status].get(action)
    if expected is None:
        with pytest.raises(WrongState) as error:
            await ACTIONS[action](store.jobs, before.id)
        assert status in str(error.value)
        assert await work.job() == before
    else:
        job = await ACTIONS[action](store.jobs, before.id)
        assert job.status is expected
        assert job == await work.job()
    await work.honest()


@pytest.mark.parametrize("status", [Status.PAUSED, Status.TIMEOUT, Status.FAILED])
async def test_what_is_resumed_keeps_its_work(store, status):
    work = await stopped(store, status)
    before = (await work.job()).counters
    job = await store.jobs.resume(work.lease.job_id, now=NOON)
    assert (job.counters, job.reason, job.finished_at) == (before, None, None)
    claim = await store.claim(job)
    assert [item.url for item in await replace(work, lease=claim.lease).take()] == [found("b").url]
    assert not claim.recovered


async def test_a_completed_job_that_is_extended_goes_on_with_what_was_queued(store):
    work = await stopped(store, Status.COMPLETED)
    claim = await store.claim(await store.jobs.extend(work.lease.job_id, now=NOON))
    assert [item.url for item in await replace(work, lease=claim.lease).take()] == [found("b").url]


async def test_a_job_without_a_start_page_tries_them_again_when_resumed(store):
    work = await store.working("a", "b", "c")
    a, b, c = await work.take()
    await work.commit(
        handled(a, Failed("refused", (page(a.url),))),
        handled(b, Skipped("robots")),
        handled(c, Skipped("type")),
    )
    await work.commit(reason=CheckpointReason.FINISH, ending=Ending(Action.FAIL, NO_START_PAGE))
    job = await store.jobs.resume(work.lease.job_id, now=NOON)
    assert (job.counters.queued, job.counters.failed, job.counters.skipped, job.counters.bytes) == (
        2,
        0,
        1,
        0,
    )
    claim = await store.claim(job)
    again = Working(store, claim.lease)
    items = await again.take()
    assert sorted(item.url for item in items) == [found("a").url, found("b").url]
    assert [item.attempts for item in items] == [0, 0]
    await again.honest()
    await again.commit(*(done(item) for item in items))
    await again.honest()


async def test_each_pause_is_counted_however_it_came_about(store):
    work = await store.working("a", "b", "c")
    job_id = work.lease.job_id
    assert await store.jobs.pauses(job_id) == Pauses(None, 0.0)
    # By a worker that heard it,
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"), at=NOON + 10)
    assert await store.jobs.pauses(job_id) == Pauses(NOON + 10, 0.0)
    assert (await store.jobs.pauses(job_id)).total_s(NOON + 15) == 5.0
    await store.jobs.resume(job_id, now=NOON + 20)
    # for one that is dead,
    await store.claim(await work.job(), now=NOON + 21)
    await store.jobs.pause(job_id, now=NOON + 30, dead=await store.jobs.holder(job_id))
    await store.jobs.resume(job_id, now=NOON + 50)
    # and by a watchdog that found the wish of a person.
    await store.claim(await work.job(), now=NOON + 51)
    await store.jobs.pause(job_id, now=NOON + 60)
    holder = await store.jobs.holder(job_id)
    await store.ledger.recover(holder, why="gone", stalled=False, rules=Recovery(), now=NOON + 70)
    assert await store.jobs.pauses(job_id) == Pauses(NOON + 70, 30.0)
    await store.jobs.cancel(job_id, now=NOON + 75)
    assert await store.jobs.pauses(job_id) == Pauses(None, 35.0)
    await store.jobs.restart(job_id, [found("a")], phase="queued", now=NOON + 80)
    assert await store.jobs.pauses(job_id) == Pauses(None, 0.0)


# -- failed items, tried again


async def with_failures(store, action: Action = Action.COMPLETE) -> Working:
    """A stopped job: one page done, five failed for three reasons (two without a record, one too deep by now)."""
    work = await store.working("a", new=new_job(limits=Limits(max_depth=3)))
    names = ("x", "y", "other/z", "other/w")
    await work.commit(
        done(await work.item("a"), *(found(name, 1) for name in names), found("deep", 3)), active_s=1.0
    )
    x, y, z, w, deep_one = [await work.item(name) for name in (*names, "deep")]
    await work.commit(handled(x, Failed("http_503", (page(x.url, b"sorry"),))), handled(y, Failed("timeout")))
    await work.commit(handled(z, Failed("http_404", (page(z.url, b"no"),))), handled(w, Failed("timeout")))
    await work.commit(handled(deep_one, Failed("timeout")))
    await work.commit(reason=CheckpointReason.FINISH, ending=Ending(action, "because"))
    await change(store, await work.job(), max_depth=2)
    return work


@pytest.mark.parametrize("size", [1, 2, 10_000])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ((), ["other/w", "other/z", "x", "y"]),
        (("reason=timeout",), ["other/w", "y"]),
        (("status=503",), ["x"]),
        (("host=other",), ["other/w", "other/z"]),
        (("host=http://other", "reason=timeout"), ["other/w"]),
        (("url~=/[xz]$",), ["other/z", "x"]),
    ],
)
async def test_failed_items_that_are_meant_are_tried_again(store, monkeypatch, where, expected, size):
    monkeypatch.setattr(slices, "SLICE", size)
    work = await with_failures(store)
    assert await store.jobs.retry(work.lease.job_id, Which.asked(where), now=NOON) == len(expected)
    job = await work.job()
    assert (job.status, job.counters.queued, job.counters.failed) == (
        Status.PENDING,
        len(expected),
        5 - len(expected),
    )
    assert await store.jobs.unfinished() == {}
    await work.honest()
    again = Working(store, (await store.claim(job)).lease)
    items = await again.take()
    assert sorted(item.url for item in items) == sorted(found(name).url for name in expected)
    assert {item.attempts for item in items} == {0}
    await again.commit(*(done(item) for item in items))
    await again.honest()


async def test_what_a_retried_item_had_is_laid_aside(store):
    work = await with_failures(store)
    before = (await work.job()).counters.bytes
    await store.jobs.retry(work.lease.job_id, Which.asked(["status=503"]), now=NOON)
    assert (await work.job()).counters.bytes == before - len(b"sorry")
    assert await store.ledger.laid_aside(work.lease.job_id, work.segment) == {100}


@pytest.mark.parametrize("action", [Action.COMPLETE, Action.FAIL, Action.PAUSE])
async def test_where_nothing_is_meant_a_job_stays_as_it_was(store, action):
    work = await with_failures(store, action)
    before = await work.job()
    assert await store.jobs.retry(before.id, Which.asked(["reason=nothing"]), now=NOON) == 0
    assert await work.job() == before
    assert await store.jobs.unfinished() == {}


async def test_dead_letters_are_listed_each_with_its_cause(store, monkeypatch):
    monkeypatch.setattr(slices, "SLICE", 2)
    work = await with_failures(store)
    listed = [one async for some in store.jobs.failures(work.lease.job_id) for one in some]
    assert [(one.url, one.reason, one.attempts, one.depth, one.at) for one in listed] == [
        (found("x").url, "http_503", 1, 1, NOON),
        (found("y").url, "timeout", 1, 1, NOON),
        (found("other/z").url, "http_404", 1, 1, NOON),
        (found("other/w").url, "timeout", 1, 1, NOON),
        (found("deep").url, "timeout", 1, 3, NOON),
    ]


@pytest.mark.parametrize("count", [0, 1, 2, 4])
async def test_a_retry_that_a_crash_broke_off_is_finished_and_counted_once(home, monkeypatch, count):
    store = home.open()
    job = await (await with_failures(store)).job()
    await after_slices(store, monkeypatch, count, lambda: store.jobs.retry(job.id, Which(), now=NOON))
    store = home.open()
    assert await store.jobs.unfinished() == {job.id: "retry"}
    assert await store.ledger.discrepancies(job.id) == []
    for refused in (
        store.ledger.claim(job.id, "here/2/bb", now=NOON),
        store.jobs.retry(job.id, Which(), now=NOON),
        change(store, job, max_depth=1),
    ):
        with pytest.raises(UsageError):
            await refused
    await store.jobs.finish_change(job.id)
    job = await store.ledger.job(job.id)
    assert (job.status, job.counters.queued, job.counters.failed) == (Status.PENDING, 4, 1)
    assert await store.ledger.discrepancies(job.id) == []
    await store.claim(job)


async def test_who_cancels_amid_a_retry_has_the_last_word(home, monkeypatch):
    store = home.open()
    job = await (await with_failures(store, Action.PAUSE)).job()
    await after_slices(store, monkeypatch, 2, lambda: store.jobs.retry(job.id, Which(), now=NOON))
    store = home.open()
    await store.jobs.cancel(job.id, now=NOON)
    await store.jobs.finish_change(job.id)
    assert (await store.ledger.job(job.id)).status is Status.CANCELLED
    assert await store.ledger.discrepancies(job.id) == []


# -- bounds


async def change(store, job, *, max_depth, **how):
    return await revised(store, job, replace(job.limits, max_depth=max_depth), {"scope": "any"}, **how)


async def test_new_bounds_are_the_jobs_from_then_on(store):
    job = await store.submit("a")
    changed = await change(store, job, max_depth=None)
    assert changed == await store.jobs.find(None)
    assert (changed.pace.concurrency, changed.checkpoints.items, changed.spec) == (9, 3, {"scope": "any"})
    assert changed.durability == job.durability


async def deep(store, count: int) -> Working:
    """A paused job of depth limit 2: `count` items each at depth 1, at depth 2, waiting at 2, and too deep at 3."""
    work = await store.working("a", new=new_job(limits=Limits(max_depth=2)))
    findings = [found(f"one{n}", 1) for n in range(count)]
    findings += [found(f"h{n}/two{n}", 2) for n in range(count)]
    findings += [found(f"late{n}", 2) for n in range(count)]
    findings += [found(f"three{n}", 3, skip="depth") for n in range(count)]
    findings += [found("out/x", 3, skip="external")]
    await work.commit(done(await work.item("a"), *findings))
    late = [item for item in await work.take() if "late" in item.url]
    await work.commit(*(handled(item, RetryAt(NOON + 99, "timeout")) for item in late))
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))
    return work


@pytest.mark.parametrize("size", [1, 2, 10_000])
@pytest.mark.parametrize(("max_depth", "queued"), [(0, 0), (1, 3), (2, 9), (3, 12), (None, 12)])
async def test_a_moved_depth_limit_moves_the_items_it_separates(store, monkeypatch, max_depth, queued, size):
    monkeypatch.setattr(slices, "SLICE", size)
    work = await deep(store, 3)
    job = await change(store, await work.job(), max_depth=max_depth)
    assert (job.counters.queued, job.counters.found) == (queued, 14)
    await work.honest()
    # And back again: as if it had never moved, but for the retries, which start anew.
    job = await change(store, job, max_depth=2)
    assert job.counters.queued == 9
    assert await store.jobs.unfinished() == {}
    await work.honest()


@pytest.mark.parametrize("size", [1, 10_000])
async def test_what_was_skipped_for_a_readmitted_reason_is_queued_again(store, monkeypatch, size):
    # given items that were skipped when it was their turn, one of them at a depth that the limit shuts out by now
    monkeypatch.setattr(slices, "SLICE", size)
    work = await store.working("a", new=new_job(limits=Limits(max_depth=2)))
    await work.commit(done(await work.item("a"), found("b", 1), found("c", 2), found("d", 1), found("e", 1)))
    reasons = {"b": "robots", "c": "robots", "d": "elsewhere"}
    for name, reason in reasons.items():
        await work.commit(handled(await work.item(name), Skipped(reason)))
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))
    job = await work.job()

    # when that reason no longer holds
    await change(store, job, max_depth=1, readmitted=frozenset({"robots"}))

    # then what it alone had shut out is pending, as if never tried
    data = await store.jobs.checkpoint_data(job.id)
    assert sorted(data.pages_queued) == sorted([found("b").url, found("e").url])
    assert await store.jobs.unfinished() == {}
    await work.honest()

    # and what lies too deep as well waits for a deeper limit, without being readmitted once more
    await change(store, await work.job(), max_depth=2)
    data = await store.jobs.checkpoint_data(job.id)
    assert sorted(data.pages_queued) == sorted(found(name).url for name in "bce")
    await work.honest()


@pytest.mark.parametrize("size", [1, 2, 10_000])
async def test_new_rules_move_what_they_judge_otherwise_and_nothing_else(store, monkeypatch, size):
    # given a paused job: some pages queued, one of them waiting, one done, some shut out for reasons of all sorts
    monkeypatch.setattr(slices, "SLICE", size)
    work = await store.working("a", new=new_job(spec={"shuns": ["old"]}))
    links = [found(name, 1) for name in ("b", "c", "late", "read", "robots")]
    links += [
        found("old", 1, skip="shunned"),
        found("far", 1, skip="external"),
        found("deep", 3, skip="depth"),
    ]
    await work.commit(done(await work.item("a"), *links))
    await work.commit(handled(await work.item("late"), RetryAt(NOON + 99, "timeout")))
    await work.commit(done(await work.item("read")), handled(await work.item("robots"), Skipped("robots")))
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))

    # when other addresses are shunned
    job = await work.job()
    rules = {"shuns": ["b", "late", "read", "robots", "far"]}
    job = await revised(store, job, job.limits, rules)

    # then they go, what was shunned comes back, and what is done, or stands out for another reason, stays
    data = await store.jobs.checkpoint_data(job.id)
    assert sorted(data.pages_queued) == sorted(found(name).url for name in ("c", "old"))
    assert data.pages_visited == [found("a").url, found("read").url]
    tallies = {(one.status, one.reason): one.count for one in await store.jobs.tallies(job.id)}
    assert tallies["skipped", "shunned"] == 2
    assert (tallies["skipped", "robots"], tallies["skipped", "depth"]) == (1, 1)
    await work.honest()

    # and back again: as it was, but for the wait
    job = await revised(store, job, job.limits, {"shuns": ["old"]})
    data = await store.jobs.checkpoint_data(job.id)
    assert sorted(data.pages_queued) == sorted(found(name).url for name in ("b", "c", "late"))
    assert await store.jobs.unfinished() == {}
    await work.honest()


@pytest.mark.parametrize("size", [1, 10_000])
async def test_new_rules_bring_start_pages_and_have_links_judged_again(store, monkeypatch, size):
    monkeypatch.setattr(slices, "SLICE", size)
    work = await store.working("a")
    await work.commit(done(await work.item("a"), found("b", 1), found("out", 2, skip="external")))
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))
    job = await work.job()
    rules = {"start": ["a", "out", "new"]}
    job = await revised(store, job, job.limits, rules, relinks=True, begins=True)
    data = await store.jobs.checkpoint_data(job.id)
    assert sorted(data.pages_queued) == sorted(found(name).url for name in ("b", "out", "new"))
    await work.honest()
    await store.jobs.resume(job.id, now=NOON)
    work = Working(store, (await store.claim(job)).lease)
    again = await store.ledger.take_rejudged(work.lease, limit=9, taken=[])
    assert [item.url for item in again] == [found("a").url]
    assert (await work.item("out")).depth == 0


async def test_a_slice_that_is_brought_twice_is_moved_once(store, monkeypatch):
    monkeypatch.setattr(slices, "SLICE", 2)
    work = await deep(store, 3)
    job = await work.job()
    await begin(store.jobs, job, replace(job.limits, max_depth=1))
    slice_ = await store.jobs.standings(job.id, after=2)
    moves = [Move(item, "depth") for item in slice_.items]
    await store.jobs.revise(job.id, slice_, moves)
    assert (await store.ledger.job(job.id)).counters.queued == 9, "it is not this slice's turn"
    first = await store.jobs.standings(job.id, after=0)
    for _ in range(2):
        await store.jobs.revise(job.id, first, [])
    assert await store.jobs.revision(job.id) == (Revision(job.spec, 2), first.until)
    job = await carried_on(store.jobs, store.ledger, job.id)
    assert job.counters.queued == 3
    await work.honest()


@pytest.mark.parametrize("count", [0, 1, 4])
async def test_new_rules_that_a_crash_broke_off_are_carried_on_and_counted_once(home, monkeypatch, count):
    store = home.open()
    work = await deep(store, 3)
    job = await work.job()
    limits = replace(job.limits, max_depth=1)
    await after_slices(store, monkeypatch, count, lambda: revised(store, job, limits, {"shuns": ["one1"]}))
    store = home.open()
    assert await store.jobs.unfinished() == {job.id: "bounds"}
    assert await store.ledger.discrepancies(job.id) == []
    there = await store.ledger.job(job.id)
    assert (there.limits, there.spec) == (limits, {"shuns": ["one1"]})
    await store.jobs.finish_change(job.id)
    for refused in (
        store.ledger.claim(job.id, "here/2/bb", now=NOON),
        store.jobs.resume(job.id, now=NOON),
        begin(store.jobs, job, job.limits),
    ):
        with pytest.raises(UsageError):
            await refused
    job = await carried_on(store.jobs, store.ledger, job.id)
    assert (job.counters.queued, job.counters.skipped) == (2, 11)
    assert await store.jobs.unfinished() == {}
    assert await store.ledger.discrepancies(job.id) == []


async def test_what_comes_next_is_told_host_by_host_in_the_order_in_which_it_is_taken(store):
    work = await store.working("a")
    links = [
        found("b", 2),
        found("c", 1),
        found("late", 1),
        found("h1/x", 1),
        found("h2/y", 1),
        found("out", 1, skip="depth"),
    ]
    await work.commit(done(await work.item("a"), *links))
    await work.commit(handled(await work.item("late"), RetryAt(NOON + 99, "timeout")))
    job = await work.job()
    lanes = await store.jobs.upcoming(job.id, hosts=2, each=9)
    assert [[item.url for item in lane] for lane in lanes] == [
        [found("c").url, found("b").url],
        [found("h1/x").url],
    ]
    (lane,) = await store.jobs.upcoming(job.id, hosts=1, each=1)
    assert [item.url for item in lane] == [found("c").url]


async def test_rules_are_not_changed_behind_a_workers_back(store):
    work = await stopped(store, Status.IN_PROGRESS)
    job = await work.job()
    with pytest.raises(JobHeld):
        await begin(store.jobs, job, Limits(max_depth=1))
    assert await store.ledger.job(job.id) == job


@pytest.mark.parametrize("status", [Status.PENDING, Status.PAUSED, Status.TIMEOUT, Status.FAILED])
async def test_time_that_a_person_grants_counts_from_then_on(store, status):
    work = await stopped(store, status)
    await store.jobs.grant(work.lease.job_id, 60.0)
    job = await work.job()
    assert job.active_s > 0
    assert (job.limits.time_limit_s, job.granted_s, job.status) == (60.0, job.active_s, status)


async def test_time_is_not_granted_behind_a_workers_back(store):
    work = await stopped(store, Status.IN_PROGRESS)
    with pytest.raises(UsageError):
        await store.jobs.grant(work.lease.job_id, 60.0)


async def test_an_external_link_stays_outside_however_deep_we_go(store):
    work = await deep(store, 1)
    await change(store, await work.job(), max_depth=None)
    data = await store.jobs.checkpoint_data(work.lease.job_id)
    assert data.external_links_found == [found("out/x").url]


@pytest.mark.parametrize("count", [0, 1, 3, 5])
async def test_a_change_of_bounds_that_a_crash_broke_off_is_finished(home, monkeypatch, count):
    store = home.open()
    work = await deep(store, 3)
    job = await store.jobs.resume(work.lease.job_id, now=NOON)
    await after_slices(store, monkeypatch, count, lambda: change(store, job, max_depth=1))
    store = home.open()
    assert list(await store.jobs.unfinished()) == [job.id]
    assert await store.ledger.discrepancies(job.id) == []
    with pytest.raises(UsageError):
        await store.ledger.claim(job.id, "here/2/bb", now=NOON)
    await carried_on(store.jobs, store.ledger, job.id)
    assert await store.jobs.unfinished() == {}
    assert (await store.ledger.job(job.id)).counters.queued == 3
    assert await store.ledger.discrepancies(job.id) == []
    await store.claim(job)


async def test_bounds_do_not_change_under_a_worker(store):
    """Items that are in its hands would be settled behind its back, and its commits refused."""
    work = await store.working("a", new=new_job(limits=Limits(max_depth=2)))
    await work.commit(done(await work.item("a"), found("x", 2)))
    x = await work.item("x")
    with pytest.raises(UsageError):
        await change(store, await work.job(), max_depth=1)
    await work.commit(done(x))
    await work.honest()


# -- restart and removal


@pytest.mark.parametrize("size", [1, 3, 10_000])
async def test_a_restart_begins_from_nothing_as_a_new_run(store, monkeypatch, size):
    monkeypatch.setattr(slices, "SLICE", size)
    work = await deep(store, 3)
    before = await work.job()
    job = await store.jobs.restart(before.id, [found("s")], phase="queued", now=NOON + 9)
    assert (job.status, job.run, job.phase, job.public_id) == (Status.PENDING, 2, "queued", before.public_id)
    assert (job.counters.found, job.counters.queued, job.counters.done) == (1, 1, 0)
    assert (job.active_s, job.started_at, job.last_checkpoint_at) == (0.0, None, None)
    assert await store.ledger.records(job.id, after=0, limit=9) == []
    assert await store.ledger.segments(job.id) == []
    assert await store.jobs.checkpoint_data(job.id) == CheckpointData(pages_queued=[found("s").url])
    claim = await store.claim(job)
    assert claim.lease.run == 2
    again = Working(store, claim.lease)
    committed = await again.commit(done(await again.item("s")))
    assert committed.number > before.commit_no, "numbers are never used again"
    await again.honest()


@pytest.mark.parametrize("count", [0, 1, 4, 9])
async def test_a_restart_that_a_crash_broke_off_is_finished_by_restarting(home, monkeypatch, count):
    store = home.open()
    job = await (await deep(store, 3)).job()
    seeds = [found("s")]
    await after_slices(
        store, monkeypatch, count, lambda: store.jobs.restart(job.id, seeds, phase="queued", now=NOON)
    )
    store = home.open()
    job = await store.jobs.restart(job.id, seeds, phase="queued", now=NOON)
    assert (job.status, job.counters.found, job.counters.queued) == (Status.PENDING, 1, 1)
    assert await store.ledger.discrepancies(job.id) == []
    await store.claim(job)


async def test_a_half_restarted_job_is_not_worked_on(home, monkeypatch):
    store = home.open()
    job = await (await deep(store, 3)).job()
    seeds = [found("s")]
    await after_slices(store, monkeypatch, 4, lambda: store.jobs.restart(job.id, seeds, phase="q", now=NOON))
    store = home.open()
    with contextlib.suppress(UsageError):
        await store.jobs.resume(job.id, now=NOON)
    with contextlib.suppress(UsageError):
        assert await store.ledger.claim(job.id, "here/2/bb", now=NOON) is None


@pytest.mark.parametrize("size", [1, 3, 10_000])
async def test_a_removed_job_is_gone_and_no_other(store, monkeypatch, size):
    monkeypatch.setattr(slices, "SLICE", size)
    other = await store.submit("a", "b", new=new_job("other"), nth=2)
    work = await deep(store, 3)
    job = await work.job()
    await store.jobs.remove(job.id)
    with pytest.raises(UnknownJob):
        await store.jobs.find(job.public_id)
    assert [each.id for each in await store.jobs.all()] == [other.id]
    assert await store.ledger.job(other.id) == other
    assert await store.jobs.unfinished() == {}
    again = await store.submit(nth=3)
    assert again.id not in {job.id, other.id}, "ids are never used again"


async def test_a_job_that_somebody_took_up_meanwhile_is_not_removed(store):
    work = await stopped(store, Status.IN_PROGRESS)
    with pytest.raises(JobHeld):
        await store.jobs.remove(work.lease.job_id)
    await work.commit(done(await work.item("b")))
    await work.honest()


@pytest.mark.parametrize("count", [0, 1, 4, 9])
async def test_a_removal_that_a_crash_broke_off_is_finished(home, monkeypatch, count):
    store = home.open()
    job = await (await deep(store, 3)).job()
    await after_slices(store, monkeypatch, count, lambda: store.jobs.remove(job.id))
    store = home.open()
    assert list(await store.jobs.unfinished()) == [job.id]
    assert await store.jobs.all() == []
    assert await store.jobs.by_identity(job.identity) is None
    with pytest.raises(UnknownJob):
        await store.jobs.find(job.public_id)
    await store.jobs.finish_change(job.id)
    assert await store.jobs.unfinished() == {}
    with pytest.raises(UnknownJob):
        await store.ledger.job(job.id)


# -- the full picture


async def test_checkpoint_data_has_every_field_that_was_required(store):
    work = await store.working("a", "b")
    await work.commit(
        done(
            await work.item("a"),
            found("x", 1),
            found("out/y", 1, skip="external"),
            found("z", 9, skip="depth"),
        ),
        at=NOON + 60,
    )
    await work.commit(done(await work.item("x")), at=NOON + 120)
    assert await store.jobs.checkpoint_data(work.lease.job_id) == CheckpointData(
        pages_visited=[found("a").url, found("x").url],
        pages_queued=[found("b").url],
        external_links_found=[found("out/y").url],
        current_depth=1,
        crawl_start_time="2027-01-15T08:00:00+00:00",
        last_checkpoint_time="2027-01-15T08:02:00+00:00",
        entities_extracted_count=0,
        analysis_sections_completed=[],
    )


async def test_checkpoint_data_is_bounded_where_asked(store):
    work = await store.working("a", "b", "c")
    await work.commit(*(done(item) for item in await work.take()))
    data = await store.jobs.checkpoint_data(work.lease.job_id, limit=2)
    assert len(data.pages_visited) == 2


async def test_checkpoint_data_of_a_new_job_has_its_defaults(store):
    job = await store.submit("a")
    assert await store.jobs.checkpoint_data(job.id) == CheckpointData(pages_queued=[found("a").url])


async def test_what_a_limit_shut_out_after_a_retry_is_let_in_by_a_nearer_finding(store):
    work = await store.working("a", "b", new=new_job(limits=Limits(max_depth=3)))
    a, b = await work.take()
    await work.commit(done(a, found("x", 3)))
    await work.commit(handled(await work.item("x"), RetryAt(NOON + 60, "timeout")))
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))
    await change(store, await work.job(), max_depth=2)
    again = Working(store, (await store.claim(await store.jobs.resume(work.lease.job_id, now=NOON))).lease)
    await again.commit(done(b, found("x", 1)))
    assert [(item.url, item.depth) for item in await again.take()] == [(found("x").url, 1)]
    await again.honest()
