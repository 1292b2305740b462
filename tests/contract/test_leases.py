"""Claims, fences, renewals and what becomes of a chunk whose worker is gone."""

import asyncio
from dataclasses import replace

import pytest
from tests.contract.stores import Working
from tests.kit.builders import done, found, handled, new_job
from tests.kit.clock import NOON
from tests.kit.revisions import revised

from holdfast.domain.checkpoint import CheckpointReason
from holdfast.domain.commit import Ending, Streamed
from holdfast.domain.errors import LeaseLost, UsageError
from holdfast.domain.item import Failed, RetryAt
from holdfast.domain.job import Limits
from holdfast.domain.lease import Standing
from holdfast.domain.recovery import EXCEEDED, STALE, Recovery
from holdfast.domain.states import Action, Status

RULES = Recovery(max_retries=3, max_stalls=2)


async def recover(store, job, *, rules=RULES, stalled=False, why="its worker died", silent=False):
    heartbeat = await store.jobs.holder(job.id)
    return await store.ledger.recover(
        heartbeat, why=why, stalled=stalled, rules=rules, now=NOON, silent=silent
    )


async def everything(store, job_id):
    """All that can be read of a job: two of them are equal where nothing was written in between."""
    return (
        await store.ledger.job(job_id),
        await store.jobs.checkpoints(job_id, 1000),
        await store.jobs.events(job_id, 1000),
        await store.jobs.tallies(job_id),
        await store.jobs.hosts(job_id, 1000),
        await store.jobs.checkpoint_data(job_id),
        await store.ledger.records(job_id, after=0, limit=1000),
        await store.ledger.segments(job_id),
    )


async def test_a_claim_raises_the_epoch_and_keeps_the_seq(store):
    work = await store.working("a", "b")
    assert (work.lease.epoch, work.lease.seq) == (1, 0)
    await work.commit(done(await work.item("a")))
    job = await work.job()
    await recover(store, job)
    claim = await store.claim(job, "here/2/bb")
    assert claim.lease.epoch > 1
    assert (claim.lease.seq, claim.lease.worker_id, claim.lease.chunk_id) == (
        1,
        "here/2/bb",
        work.lease.chunk_id,
    )
    assert claim.recovered


async def test_a_claimed_job_is_in_progress_since_the_first_claim(store):
    job = await store.submit()
    await store.claim(job, now=NOON + 1)
    assert (await store.ledger.job(job.id)).status is Status.IN_PROGRESS
    await recover(store, job)
    claim = await store.claim(job, now=NOON + 9)
    assert claim.job.started_at == NOON + 1


async def test_only_a_pending_job_can_be_claimed(store):
    job = await store.submit()
    await store.claim(job)
    assert await store.ledger.claim(job.id, "here/2/bb", now=NOON) is None
    holder = await store.jobs.holder(job.id)
    for stop in (
        lambda: store.jobs.pause(job.id, now=NOON, dead=holder),
        lambda: store.jobs.cancel(job.id, now=NOON),
    ):
        await stop()
        assert await store.ledger.claim(job.id, "here/2/bb", now=NOON) is None


async def test_of_many_claimers_exactly_one_wins(home):
    stores = [home.open() for _ in range(6)]
    job = await stores[0].submit()
    claims = await asyncio.gather(
        *(
            asyncio.to_thread(asyncio.run, store.ledger.claim(job.id, f"here/{n}/aa", now=NOON))
            for n, store in enumerate(stores)
        )
    )
    assert sum(claim is not None for claim in claims) == 1


# -- the fence


async def outdated(store, work):
    """Leases that may not write, each with why."""
    await work.commit(done(await work.item("a")))
    return {
        "an old seq": replace(work.lease, seq=work.lease.seq - 1),
        "a seq ahead": replace(work.lease, seq=work.lease.seq + 1),
        "an old epoch": replace(work.lease, epoch=work.lease.epoch - 1),
        "an epoch ahead": replace(work.lease, epoch=work.lease.epoch + 1),
    }


@pytest.mark.parametrize("which", ["an old seq", "a seq ahead", "an old epoch", "an epoch ahead"])
async def test_a_commit_by_another_lease_is_refused_and_writes_nothing(store, which):
    work = await store.working("a", "b")
    lease = (await outdated(store, work))[which]
    before = await everything(store, lease.job_id)
    late = work.batch(done(await work.item("b"), found("new", 1)), cursor={"x": 1}, host_due={1: NOON + 99})
    with pytest.raises(LeaseLost):
        await store.ledger.commit(lease, late)
    assert await everything(store, lease.job_id) == before
    await work.honest()


@pytest.mark.parametrize("how", ["cancelled", "paused", "recovered", "claimed again", "restarted", "removed"])
async def test_a_zombie_can_never_write_again(home, how):
    store, zombie_store = home.open(), home.open()
    zombie = await zombie_store.working("a", "b")
    item = await zombie.item("a")
    job = await zombie.job()
    match how:
        case "cancelled":
            await store.jobs.cancel(job.id, now=NOON)
        case "paused":
            await store.jobs.pause(job.id, now=NOON, dead=await store.jobs.holder(job.id))
        case "recovered":
            await recover(store, job)
        case "claimed again":
            await recover(store, job)
            await store.claim(job, "here/2/bb")
        case "restarted":
            await store.jobs.cancel(job.id, now=NOON)
            await store.jobs.restart(job.id, [found("a")], phase="queued", now=NOON)
        case "removed":
            await recover(store, job)
            await store.jobs.remove(job.id)
            await store.submit("a", "b", nth=2)
    before = await everything(store, (await store.jobs.find(None)).id)
    ledger = zombie_store.ledger
    for write in (
        lambda: ledger.commit(zombie.lease, zombie.batch(done(item, found("new", 1)))),
        lambda: ledger.commit(
            zombie.lease, zombie.batch(reason=CheckpointReason.FINISH, ending=Ending(Action.COMPLETE))
        ),
        lambda: ledger.commit(zombie.lease, zombie.batch(streamed=Streamed("rows", 9, 9, 9, 9))),
        lambda: ledger.renew(zombie.lease, Standing(zombie.lease.seq, waiting_until=NOON + 1e6)),
        lambda: ledger.wish(zombie.lease),
        lambda: ledger.mark(zombie.lease, item.id),
        lambda: ledger.tear(zombie.lease, zombie.segment, 0),
    ):
        with pytest.raises(LeaseLost):
            await write()
    assert await everything(store, (await store.jobs.find(None)).id) == before


async def test_a_removal_that_was_begun_lets_nobody_write(home, monkeypatch):
    """Otherwise rows would come to be between the slices."""
    zombie = await home.open().working("a", "b")
    item = await zombie.item("a")
    remover = home.open()
    await recover(remover, await zombie.job())

    async def crash(_job_id):
        raise KeyboardInterrupt

    monkeypatch.setattr(remover.jobs, "finish_change", crash)
    with pytest.raises(KeyboardInterrupt):
        await remover.jobs.remove(zombie.lease.job_id)
    with pytest.raises(LeaseLost):
        await zombie.commit(done(item))
    with pytest.raises(UsageError):
        await remover.ledger.claim(zombie.lease.job_id, "here/2/bb", now=NOON)


# -- heartbeats


async def test_a_renewal_shows_as_another_beat(store):
    work = await store.working("a")
    (before,) = await store.ledger.heartbeats()
    await store.ledger.renew(work.lease, Standing(work.lease.seq, waiting_until=NOON + 7200))
    (after,) = await store.ledger.heartbeats()
    assert after.beat != before.beat
    assert (before.waiting_until, after.waiting_until) == (None, NOON + 7200)
    assert (after.worker_id, after.job_id, after.epoch) == ("here/1/aa", work.lease.job_id, work.lease.epoch)


async def test_a_commit_shows_as_another_seq_and_as_no_longer_waiting(store):
    work = await store.working("a", "b")
    await store.ledger.renew(work.lease, Standing(work.lease.seq, waiting_until=NOON + 7200))
    await work.commit(done(await work.item("a")))
    (heartbeat,) = await store.ledger.heartbeats()
    assert (heartbeat.seq, heartbeat.waiting_until) == (1, None)


async def test_heartbeats_are_those_of_claimed_chunks_only(store):
    await store.submit(new=new_job("waits"), nth=9)
    one = await store.working("a")
    assert [beat.job_id for beat in await store.ledger.heartbeats()] == [one.lease.job_id]
    await one.commit(reason=CheckpointReason.SHUTDOWN, ending=Ending(Action.RELEASE, "shutdown"))
    assert await store.ledger.heartbeats() == []


# -- taken back


async def test_exactly_three_recoveries_without_progress_then_failed(store):
    job = await store.submit()
    for _ in range(3):
        await store.claim(job)
        assert await recover(store, job) is Status.PENDING
    await store.claim(job)
    assert await recover(store, job) is Status.FAILED
    failed = await store.ledger.job(job.id)
    assert (failed.status, failed.reason) == (Status.FAILED, EXCEEDED)
    assert failed.counters.queued == 1


@pytest.mark.parametrize("times", [1, 5])
async def test_progress_starts_the_count_again(store, times):
    job = await store.submit("a", "b", "c", "d", "e", "f")
    for name in "abcde"[:times]:
        for _ in range(3):
            await store.claim(job)
            assert await recover(store, job) is Status.PENDING
        work = await store.working()
        await work.commit(done(await work.item(name)))
        assert await recover(store, job) is Status.PENDING


async def test_a_commit_without_items_is_no_progress(store):
    job = await store.submit()
    for _ in range(3):
        work = await store.working()
        await work.commit(reason=CheckpointReason.PHASE, phase="crawl")
        assert await recover(store, job) is Status.PENDING
    await store.claim(job)
    assert await recover(store, job) is Status.FAILED


async def test_releases_and_deploys_burn_no_retries(store):
    job = await store.submit()
    for _ in range(10):
        work = await store.working()
        await work.commit(reason=CheckpointReason.SHUTDOWN, ending=Ending(Action.RELEASE, "shutdown"))
    for _ in range(3):
        await store.claim(job)
        assert await recover(store, job) is Status.PENDING


async def test_a_person_who_repeats_the_command_starts_the_count_again(store):
    job = await store.submit()
    for _ in range(9):
        await store.claim(job)
        assert await recover(store, job, rules=None) is Status.PENDING
    for _ in range(3):
        await store.claim(job)
        assert await recover(store, job) is Status.PENDING
    await store.claim(job)
    assert await recover(store, job) is Status.FAILED


async def test_a_person_who_resumes_what_failed_starts_the_count_again(store):
    job = await store.submit()
    for _ in range(4):
        await store.claim(job)
        await recover(store, job)
    assert (await store.jobs.resume(job.id, now=NOON)).status is Status.PENDING
    for _ in range(3):
        await store.claim(job)
        assert await recover(store, job) is Status.PENDING


async def test_two_stalls_without_progress_are_stale(store):
    job = await store.submit()
    await store.claim(job)
    assert await recover(store, job, stalled=True, why="no progress") is Status.PENDING
    await store.claim(job)
    assert await recover(store, job, stalled=True, why="no progress") is Status.FAILED
    assert (await store.ledger.job(job.id)).reason == STALE


async def test_progress_between_two_stalls_keeps_the_job_alive(store):
    job = await store.submit("a", "b")
    await store.claim(job)
    await recover(store, job, stalled=True)
    work = await store.working()
    await work.commit(done(await work.item("a")))
    assert await recover(store, job, stalled=True) is Status.PENDING


async def test_taking_back_twice_does_it_once(store):
    job = await store.submit()
    await store.claim(job)
    heartbeat = await store.jobs.holder(job.id)
    again = {"why": "its lease expired", "stalled": False, "rules": RULES, "now": NOON}
    assert await store.ledger.recover(heartbeat, **again) is Status.PENDING
    assert await store.ledger.recover(heartbeat, **again) is None
    await store.claim(job)
    assert await store.ledger.recover(heartbeat, **again) is None
    assert (await store.ledger.job(job.id)).status is Status.IN_PROGRESS


async def test_a_pause_that_the_dead_holder_never_heard_ends_in_paused(store):
    work = await store.working("a")
    job = await store.jobs.pause(work.lease.job_id, now=NOON)
    assert (job.status, job.desired) == (Status.IN_PROGRESS, "pause")
    assert await recover(store, job) is Status.PAUSED
    job = await work.job()
    assert (job.status, job.reason, job.desired) == (Status.PAUSED, "user", None)
    assert await store.ledger.claim(job.id, "here/2/bb", now=NOON) is None


async def test_a_pause_for_a_dead_holder_is_a_wish_to_whoever_has_taken_over(store):
    work = await store.working("a")
    dead = await store.jobs.holder(work.lease.job_id)
    await recover(store, await work.job())
    claim = await store.claim(await work.job(), "here/2/bb")
    job = await store.jobs.pause(work.lease.job_id, now=NOON, dead=dead)
    assert (job.status, job.desired) == (Status.IN_PROGRESS, "pause")
    assert await store.ledger.wish(claim.lease) == "pause"


async def test_the_machine_that_goes_does_not_undo_a_persons_pause(store):
    """SIGTERM between the wish and its hearing: pending would resume by itself."""
    work = await store.working("a")
    await store.jobs.pause(work.lease.job_id, now=NOON)
    await work.commit(reason=CheckpointReason.SHUTDOWN, ending=Ending(Action.RELEASE, "shutdown"))
    job = await work.job()
    assert (job.status, job.reason) == (Status.PAUSED, "user")


# -- caution


async def test_a_death_without_progress_makes_the_next_claim_careful(store):
    job = await store.submit("a")
    await store.claim(job)
    await recover(store, job)
    claim = await store.claim(job)
    assert claim.cautious_left >= job.checkpoints.items + job.pace.concurrency


async def test_a_death_after_progress_needs_no_caution(store):
    work = await store.working("a", "b")
    await work.commit(done(await work.item("a")))
    job = await work.job()
    await recover(store, job)
    claim = await store.claim(job)
    assert (claim.cautious_left, claim.marked) == (0, None)


async def test_deaths_on_a_named_item_are_counted(store):
    job = await store.submit("a", "b")
    await store.claim(job)
    await recover(store, job)
    for deaths in (0, 1):
        claim = await store.claim(job)
        assert claim.marked_deaths == deaths
        await store.ledger.mark(claim.lease, (await Working(store, claim.lease).item("a")).id)
        assert await recover(store, job) is Status.PENDING
    claim = await store.claim(job)
    assert (claim.marked.url, claim.marked_deaths) == (found("a").url, 2)


async def test_a_claim_that_dies_before_it_names_an_item_is_no_death_of_the_one_named_before(store):
    job = await store.submit("a", "b")
    await store.claim(job)
    await recover(store, job)
    work = await store.working()
    await store.ledger.mark(work.lease, (await work.item("a")).id)
    await recover(store, job, rules=None)
    for silent in (False, True):
        claim = await store.claim(job)
        assert (claim.marked.url, claim.marked_deaths, claim.marked_silent) == (found("a").url, 1, 0)
        await recover(store, job, rules=None, silent=silent)
    claim = await store.claim(job)
    assert (claim.marked.url, claim.marked_deaths, claim.marked_silent) == (found("a").url, 1, 0)


async def test_kills_without_a_trace_are_counted_apart(store):
    job = await store.submit("a", "b")
    await store.claim(job)
    await recover(store, job)
    for _ in range(2):
        work = await store.working()
        await store.ledger.mark(work.lease, (await work.item("a")).id)
        await recover(store, job, rules=None, silent=True)
    claim = await store.claim(job)
    assert (claim.marked.url, claim.marked_deaths, claim.marked_silent) == (found("a").url, 0, 2)


async def test_naming_another_item_starts_the_deaths_again(store):
    job = await store.submit("a", "b")
    await store.claim(job)
    await recover(store, job)
    for name in ("a", "b"):
        work = await store.working()
        await store.ledger.mark(work.lease, (await work.item(name)).id)
        await recover(store, job, rules=None)
    claim = await store.claim(job)
    assert (claim.marked.url, claim.marked_deaths) == (found("b").url, 1)


async def test_progress_forgets_the_named_item(store):
    job = await store.submit("a", "b")
    await store.claim(job)
    await recover(store, job)
    work = await store.working()
    item = await work.item("a")
    await store.ledger.mark(work.lease, item.id)
    await work.commit(handled(item, Failed("poison")), cautious_left=5)
    await recover(store, job)
    claim = await store.claim(job)
    assert (claim.marked, claim.marked_deaths, claim.cautious_left) == (None, 0, 5)


async def test_a_commit_that_says_nothing_of_caution_leaves_it(store):
    """As on a full disk, when nobody knows any more what was in hand."""
    job = await store.submit("a", "b")
    await store.claim(job)
    await recover(store, job)
    work = await store.working()
    await store.ledger.mark(work.lease, (await work.item("a")).id)
    await work.commit(reason=CheckpointReason.DISK, ending=Ending(Action.PAUSE, "disk"))
    await store.jobs.resume(job.id, now=NOON)
    claim = await store.claim(job)
    assert claim.cautious_left >= job.checkpoints.items + job.pace.concurrency
    assert claim.marked.url == found("a").url


async def test_new_bounds_leave_the_caution_after_a_death(store):
    job = await store.submit("a", "b", found("c", 5))
    await store.claim(job)
    await recover(store, job)
    work = await store.working()
    await store.ledger.mark(work.lease, (await work.item("a")).id)
    await recover(store, job)
    await revised(store, job, Limits(max_depth=3))
    claim = await store.claim(job)
    assert (claim.job.counters.queued, claim.job.counters.skipped) == (2, 1)
    assert claim.cautious_left >= job.checkpoints.items + job.pace.concurrency
    assert (claim.marked.url, claim.marked_deaths) == (found("a").url, 1)


async def test_a_release_between_two_deaths_is_no_death(store):
    job = await store.submit("a", "b")
    await store.claim(job)
    await recover(store, job)
    work = await store.working()
    await store.ledger.mark(work.lease, (await work.item("a")).id)
    await work.commit(
        reason=CheckpointReason.SHUTDOWN, ending=Ending(Action.RELEASE, "shutdown"), cautious_left=9
    )
    claim = await store.claim(job)
    assert claim.marked_deaths == 0
    assert not claim.recovered


# -- what a person wishes


async def test_a_pause_is_a_wish_to_a_living_holder(store):
    work = await store.working("a", "b")
    assert await store.ledger.wish(work.lease) is None
    await store.jobs.pause(work.lease.job_id, now=NOON)
    assert await store.ledger.wish(work.lease) == "pause"
    committed = await work.commit(done(await work.item("a")))
    assert committed.desired == "pause"
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))
    job = await work.job()
    assert (job.status, job.reason, job.desired, job.finished_at) == (Status.PAUSED, "user", None, None)


async def test_a_paused_job_goes_on_from_where_it_was(store):
    work = await store.working("a", "b")
    await work.commit(done(await work.item("a")), cursor={"page": 2}, active_s=5.0)
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"), active_s=2.0)
    job = await store.jobs.resume(work.lease.job_id, now=NOON + 3600)
    assert (job.status, job.reason) == (Status.PENDING, None)
    claim = await store.claim(job)
    assert claim.cursor == {"page": 2}
    assert claim.job.active_s == 7.0
    work = replace(work, lease=claim.lease, written=0)
    assert [item.url for item in await work.take()] == [found("b").url]


async def test_only_a_time_limit_that_ran_out_is_granted_anew(store):
    work = await store.working("a", new=new_job(limits=Limits(time_limit_s=10.0)))
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"), active_s=4.0)
    job = await store.jobs.resume(work.lease.job_id, now=NOON)
    assert (job.active_s, job.granted_s) == (4.0, 0.0)
    work.lease = (await store.claim(job)).lease
    await work.commit(
        reason=CheckpointReason.TIMEOUT, ending=Ending(Action.TIME_OUT, "time limit"), active_s=6.0
    )
    assert (await work.job()).status is Status.TIMEOUT
    job = await store.jobs.resume(work.lease.job_id, now=NOON)
    assert (job.status, job.active_s, job.granted_s) == (Status.PENDING, 10.0, 10.0)


@pytest.mark.parametrize("how", ["recovered", "cancelled"])
async def test_time_that_no_commit_counted_counts_from_the_last_renewal(store, how):
    # given a claim that has worked 5 s since its last commit, as its last renewal knew
    work = await store.working("a", "b")
    await work.commit(done(await work.item("a")), active_s=7.0)
    await store.ledger.renew(work.lease, Standing(work.lease.seq, since_commit_s=3.0))
    await store.ledger.renew(work.lease, Standing(work.lease.seq, since_commit_s=5.0))

    # when it is taken away
    job = await work.job()
    if how == "recovered":
        await recover(store, job)
    else:
        await store.jobs.cancel(job.id, now=NOON)

    # then that time is not lost
    assert (await work.job()).active_s == 12.0


async def test_time_that_a_commit_has_counted_counts_once(store):
    work = await store.working("a", "b")
    before = work.lease
    await store.ledger.renew(work.lease, Standing(work.lease.seq, since_commit_s=3.0))
    await work.commit(done(await work.item("a")), active_s=4.0)
    # A renewal that was on its way meanwhile speaks of what is counted by now.
    await store.ledger.renew(work.lease, Standing(before.seq, since_commit_s=4.0))
    await recover(store, await work.job())
    assert (await work.job()).active_s == 4.0


ENDINGS = {
    Action.COMPLETE: Status.COMPLETED,
    Action.FAIL: Status.FAILED,
    Action.PAUSE: Status.PAUSED,
    Action.TIME_OUT: Status.TIMEOUT,
    Action.RELEASE: Status.PENDING,
}


@pytest.mark.parametrize("action", ENDINGS)
async def test_the_last_commit_ends_the_claim_and_the_job_with_it(store, action):
    work = await store.working("a")
    await work.commit(done(await work.item("a")))
    await work.commit(reason=CheckpointReason.FINISH, ending=Ending(action, "because"), at=NOON + 5)
    job = await work.job()
    assert (job.status, job.reason) == (ENDINGS[action], "because")
    assert (job.finished_at is not None) == (action not in {Action.PAUSE, Action.RELEASE})
    assert await store.jobs.holder(job.id) is None
    with pytest.raises(LeaseLost):
        await work.commit()
    await work.honest()


async def test_retries_are_progress_but_their_attempts_are_counted(store):
    work = await store.working("a")
    item = await work.item("a")
    await work.commit(handled(item, RetryAt(NOON + 1, "timeout")))
    (item,) = await store.ledger.take_due(work.lease, now=NOON + 2, latest=NOON + 9, limit=9, taken=[])
    assert item.attempts == 1
