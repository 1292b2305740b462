"""The loop, on a real ledger and in time that leaps: what is committed when, and how a claim ends."""

import asyncio
import itertools
import random
import threading

import pytest
from tests.kit.builders import found, new_job, page
from tests.kit.fakes import rigged

from holdfast.domain.checkpoint import HELD_BYTES, CheckpointPolicy
from holdfast.domain.errors import LeaseLost, StorageFailed, StorageFull
from holdfast.domain.item import Done, Failed, Record, Redirected, RetryAt, Skipped
from holdfast.domain.job import NO_START_PAGE, Limits, Pace
from holdfast.domain.states import Action, Status
from holdfast.engine.batch import FINDING_BYTES
from holdfast.ports.pipeline import HostPace

NEVER = 10**9


def names(count, prefix="p"):
    return [f"{prefix}{n:04}" for n in range(count)]


def tree(site, fan, depth, path="a", level=0):
    """A site of links, `fan` from each page, so deep; gives the number of its pages."""
    if level == depth:
        return 1
    children = [f"{path}{n}" for n in range(fan)]
    site.links[path] = [found(child, level + 1) for child in children]
    return 1 + sum(tree(site, fan, depth, child, level + 1) for child in children)


async def test_a_site_is_crawled_to_its_end_and_nothing_twice(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        pages = tree(rig.site, 4, 3)
        await rig.submit("a")
        ending = await rig.work()
        job = await rig.job()
        assert (ending.action, job.status, job.phase) == (Action.COMPLETE, Status.COMPLETED, "completed")
        assert (job.counters.done, job.counters.queued) == (pages, 0)
        assert sorted(rig.site.paths) == sorted(set(rig.site.paths))
        assert len(await rig.ledger.records(job.id, after=0, limit=999)) == pages


# -- checkpoints


async def test_a_checkpoint_after_each_ten_items(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 0.01
        await rig.submit(*names(35))
        await rig.work()
        assert list(zip(await rig.reasons(), await rig.batches(), strict=True)) == [
            ("phase", 0),
            ("items", 10),
            ("items", 10),
            ("items", 10),
            ("idle", 5),
            ("finish", 0),
        ]


@pytest.mark.parametrize("items", [1, 3, 50])
async def test_the_number_of_items_is_the_users_to_set(leap, tmp_path, items):
    async with rigged(tmp_path, leap) as rig:
        await rig.submit(*names(60), new=new_job(checkpoints=CheckpointPolicy(items=items)))
        await rig.work()
        assert max(await rig.batches()) == items


async def test_a_checkpoint_after_two_minutes(leap, tmp_path):
    """One page each 25 s: the tenth would come after 250 s."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=1, delay_s=25.0)
        await rig.submit(*names(12))
        await rig.work()
        made = [
            made
            for made in reversed(await rig.jobs.checkpoints((await rig.job()).id, 99))
            if made.reason == "time"
        ]
        assert [made.items for made in made] == [5, 5]
        assert 119 <= made[1].at - made[0].at <= 126


async def test_a_page_waits_no_longer_for_its_checkpoint_while_other_pages_overlap(leap, tmp_path):
    """Pages of 3 to 7 s, four at a time: at no moment is everything in hand handled."""
    async with rigged(tmp_path, leap) as rig:
        turn = itertools.count()

        async def slow(item):
            await asyncio.sleep(3 + next(turn) % 5)
            return Done((page(item.url),))

        for name in names(60):
            rig.site.behaviours[name] = slow
        await rig.submit(*names(60), new=new_job(checkpoints=CheckpointPolicy(items=100, seconds=10.0)))
        await rig.work()
        made = [checkpoint.at for checkpoint in await rig.jobs.checkpoints((await rig.job()).id, 99)]
        assert max(later - earlier for later, earlier in itertools.pairwise(made)) < 11.0


async def test_what_a_page_led_to_waits_for_no_slow_page(leap, tmp_path):
    """Five links, one of which takes 110 s: the others are all that could tell the free runners what is next."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.links = {
            "start": [found(name, 1) for name in "abcde"],
            "b": [found(f"q{n}", 2) for n in range(200)],
        }
        rig.site.behaviours["a"] = lambda item: asyncio.sleep(110.0, Done((page(item.url),)))
        await rig.submit("start")
        began = leap.monotonic()
        await rig.work()
        assert max(at for _, at in rig.site.started) - began < 2.0
        assert len(rig.site.started) == 206
        assert (await rig.reasons()).count("idle") < 10


@pytest.mark.parametrize("takes", [0.01, 0.2])
async def test_pages_that_overlap_at_the_end_of_the_queue_share_their_checkpoints(leap, tmp_path, takes):
    async with rigged(tmp_path, leap) as rig:
        for n, name in enumerate(names(25)):
            rig.site.behaviours[name] = lambda item, n=n: asyncio.sleep(
                n * takes / 10, Done((page(item.url),))
            )
        await rig.submit(*names(25), new=new_job(pace=Pace(16, 16, 0.0)))
        await rig.work()
        assert len([size for size in await rig.batches() if size]) <= 4


async def test_a_host_that_sleeps_for_hours_holds_up_no_chain_of_links_on_another(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["asleep/p0000"] = [
            lambda _: RetryAt(leap.wall() + 7200.0, "throttled", host_due_at=leap.wall() + 7200.0),
            lambda item: Done((page(item.url),)),
        ]
        for n in range(9):
            rig.site.links[f"p{n}"] = [found(f"p{n + 1}", n + 1)]
        rig.site.paces["http://asleep"] = HostPace(per_host=1, delay_s=0.0)
        await rig.submit(*names(30, "asleep/p"), "p0")
        began = leap.monotonic()
        await rig.work()
        assert max(at for path, at in rig.site.started if "/" not in path) - began < 10.0


async def test_a_host_whose_rules_are_slow_to_come_holds_up_no_chain_of_links_on_another(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        known = rig.site.meet

        async def meet(host):
            await asyncio.sleep(60.0 if host == "http://slow" else 0.1)
            return await known(host)

        rig.site.meet = meet
        rig.site.links["p0"] = [found("slow/a", 1), found("p1", 1)]
        for n in range(1, 9):
            rig.site.links[f"p{n}"] = [found(f"p{n + 1}", n + 1)]
        await rig.submit("p0")
        began = leap.monotonic()
        await rig.work()
        times = {path: at - began for path, at in rig.site.started}
        assert times["p9"] < 10.0
        assert times["slow/a"] == pytest.approx(60.0, abs=2.0)


async def test_many_hosts_that_are_met_one_by_one_share_their_checkpoints(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        known, turn = rig.site.meet, itertools.count(1)

        async def meet(host):
            await asyncio.sleep(0.05 + next(turn) % 7 / 50)
            return await known(host)

        rig.site.meet = meet
        await rig.submit(*(f"h{n}/a" for n in range(100)))
        await rig.work()
        assert len([size for size in await rig.batches() if size]) <= 15


@pytest.mark.parametrize("others", [8, 11, 15])
async def test_a_host_that_wants_no_delay_is_gone_back_to_as_soon_as_it_said(leap, tmp_path, others):
    """429 with Retry-After: 2, while nothing else gives a reason to look at the clock."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 0.01
        rig.site.behaviours[f"p{others:04}"] = [
            lambda _: RetryAt(leap.wall() + 2.0, "http_429", leap.wall() + 2.0),
            lambda item: Done((page(item.url),)),
        ]
        await rig.submit(*names(100))
        began = leap.monotonic()
        await rig.work()
        assert leap.monotonic() - began < 3.0
        assert (await rig.job()).counters.done == 100


async def test_nothing_to_commit_is_no_checkpoint(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["a"] = [lambda _: RetryAt(leap.wall() + 3000.0, "timeout"), lambda _: Failed("x")]
        await rig.submit("a", "b")
        await rig.work()
        assert await rig.batches() == [0, 2, 1, 0]


@pytest.mark.parametrize("concurrency", [1, 4, 16])
async def test_taken_and_uncommitted_never_exceed_a_checkpoint_and_the_concurrency(
    leap, tmp_path, concurrency
):
    """Though the writer is a hundred times slower than the handler."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 0.1
        rig.site.pace = HostPace(per_host=NEVER, delay_s=0.0)
        rig.segments.before_append = lambda _: asyncio.sleep(10.0)
        most = 0
        begun = rig.site.handle

        async def handle(item):
            nonlocal most
            committed = sum(await rig.batches())
            most = max(most, len(rig.site.started) + 1 - committed)
            return await begun(item)

        rig.site.handle = handle
        await rig.submit(*names(120), new=new_job(pace=Pace(concurrency, NEVER, 0.0)))
        await rig.work()
        assert rig.site.most_in_flight == concurrency
        assert most == 10 + concurrency
        assert (await rig.job()).counters.done == 120


async def test_large_pages_are_committed_before_they_fill_the_memory(leap, tmp_path):
    """Eighths of what may wait, with a checkpoint of a thousand items and a disk slower than the web."""
    async with rigged(tmp_path, leap) as rig:
        large = b"x" * (HELD_BYTES // 8)
        rig.site.behaviours = {
            name: lambda item: asyncio.sleep(item.id / 10, Done((page(item.url, large),)))
            for name in names(40)
        }
        rig.segments.before_append = lambda _: asyncio.sleep(10.0)
        await rig.submit(*names(40), new=new_job(checkpoints=CheckpointPolicy(items=1000)))
        await rig.work()
        assert (await rig.reasons())[1:5] == ["size"] * 4
        assert max(await rig.batches()) <= 8 + 4
        assert (await rig.job()).counters.done == 40


async def test_pages_with_many_links_are_committed_before_those_fill_the_memory(leap, tmp_path):
    """The same links on all of them: they weigh as long as they wait, whether they are new or not."""
    async with rigged(tmp_path, leap) as rig:
        links = tuple(found(f"out/{n}", 1, skip="external") for n in range(200))
        rig.site.links = dict.fromkeys(
            names(40), links * (HELD_BYTES // FINDING_BYTES // 8 // len(links) + 1)
        )
        rig.segments.before_append = lambda _: asyncio.sleep(10.0)
        await rig.submit(*names(40), new=new_job(checkpoints=CheckpointPolicy(items=1000)))
        await rig.work()
        assert "size" in await rig.reasons()
        assert max(await rig.batches()) <= 8 + 4
        assert (await rig.job()).counters.done == 40


# -- limits


@pytest.mark.parametrize("seed", range(6))
async def test_a_page_limit_is_exact_however_many_work_at_once(leap, tmp_path, seed):
    """Redirects, failures and retries give their slots back."""
    chance = random.Random(seed)
    async with rigged(tmp_path, leap) as rig:

        def some(item):
            roll = chance.random()
            if roll < 0.2:
                target = found(f"r{item.id}", item.depth)
                return Redirected((target,), "redirect", (page(item.url, b""),))
            if roll < 0.4:
                return Failed("http 404")
            if roll < 0.6 and item.attempts < 3:
                return RetryAt(leap.wall() + chance.random() * 5, "timeout")
            return Done((page(item.url),))

        async def later(item):
            await asyncio.sleep(chance.random())
            return some(item)

        for name in names(200):
            rig.site.behaviours[name] = later
        limit = chance.randrange(1, 40)
        await rig.submit(*names(200), new=new_job(limits=Limits(max_pages=limit), pace=Pace(16, 16, 0.0)))
        ending = await rig.work()
        job = await rig.job()
        assert (ending.action, ending.reason) == (Action.COMPLETE, "page limit")
        assert job.counters.done == limit
        assert (await rig.reasons())[-1] == "limit"


async def test_a_raised_page_limit_goes_on_where_it_ended(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        job = await rig.submit(*names(30), new=new_job(limits=Limits(max_pages=7)))
        await rig.work()
        await rig.jobs.change(
            job.id, limits=Limits(max_pages=19), pace=job.pace, checkpoints=job.checkpoints, spec=job.spec
        )
        await rig.jobs.extend(job.id, now=leap.wall())
        await rig.work()
        job = await rig.job()
        assert (job.counters.done, job.counters.queued) == (19, 11)


async def test_a_byte_limit_is_never_exceeded(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        for n, name in enumerate(names(30)):
            rig.site.behaviours[name] = lambda item, n=n: Done((page(item.url, b"x" * (n + 1)),))
        await rig.submit(*names(30), new=new_job(limits=Limits(max_bytes=100)))
        ending = await rig.work()
        job = await rig.job()
        assert ending.reason == "byte limit"
        assert 70 < job.counters.bytes <= 100
        assert job.counters.queued + job.counters.done == 30


async def test_a_time_limit_counts_active_time_only(leap, tmp_path):
    """100 s in all; 40 s before the pause, a year of pause, and 60 s after it."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=1, delay_s=10.0)
        job = await rig.submit(*names(50), new=new_job(limits=Limits(time_limit_s=100.0)))
        worker = rig.worker(await rig.claim())
        asyncio.get_running_loop().call_later(40.0, worker.end, Action.PAUSE, "user")
        await worker.work()
        assert (await rig.job()).status is Status.PAUSED
        leap.advance(365 * 86400.0)
        await rig.jobs.resume(job.id, now=leap.wall())
        began = leap.monotonic()
        ending = await rig.work()
        job = await rig.job()
        assert (ending.action, job.status, job.reason) == (Action.TIME_OUT, Status.TIMEOUT, "time limit")
        assert leap.monotonic() - began == pytest.approx(60.0, abs=1.0)
        assert job.active_s == pytest.approx(100.0, abs=1.0)
        assert job.counters.done == pytest.approx(10, abs=2)
        assert (await rig.reasons())[-1] == "timeout"


async def test_more_time_is_granted_in_full(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=1, delay_s=10.0)
        job = await rig.submit(*names(50), new=new_job(limits=Limits(time_limit_s=100.0)))
        for _ in range(3):
            began = leap.monotonic()
            await rig.work()
            assert leap.monotonic() - began == pytest.approx(100.0, abs=1.0)
            await rig.jobs.resume(job.id, now=leap.wall())


# -- pauses and other ends


async def test_a_pause_drains_what_is_in_flight_and_commits_it(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 3.0
        await rig.submit(*names(30))
        worker = rig.worker(await rig.claim())
        asyncio.get_running_loop().call_later(4.0, worker.end, Action.PAUSE, "user")
        await worker.work()
        job = await rig.job()
        assert (job.status, job.reason, job.counters.done) == (Status.PAUSED, "user", 8)
        assert len(rig.site.started) == 8
        assert (await rig.reasons())[-1] == "pause"


async def test_what_does_not_end_while_it_drains_stays_pending(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["p0001"] = lambda _: asyncio.sleep(NEVER)
        await rig.submit(*names(6))
        worker = rig.worker(await rig.claim())
        asyncio.get_running_loop().call_later(2.0, worker.end, Action.RELEASE, "shutdown")
        began = leap.monotonic()
        await worker.work()
        job = await rig.job()
        assert leap.monotonic() - began == pytest.approx(2.0 + rig.times.drain_s, abs=0.5)
        assert (job.status, job.counters.done, job.counters.queued) == (Status.PENDING, 5, 1)


async def test_a_persons_pause_is_heard_with_the_next_commit(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 1.0
        job = await rig.submit(*names(100))
        claim = await rig.claim()
        await rig.jobs.pause(job.id, now=leap.wall())
        ending = await rig.worker(claim).work()
        assert (ending.action, ending.reason) == (Action.PAUSE, "user")
        job = await rig.job()
        assert (job.status, job.desired) == (Status.PAUSED, None)
        assert job.counters.done <= 14


async def test_a_paused_job_fetches_nothing_again(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        tree(rig.site, 3, 4)
        rig.site.takes_s = 1.0
        job = await rig.submit("a")
        while True:
            worker = rig.worker(await rig.claim())
            asyncio.get_running_loop().call_later(5.0, worker.end, Action.PAUSE, "user")
            ending = await worker.work()
            if ending.action is Action.COMPLETE:
                break
            await rig.jobs.resume(job.id, now=leap.wall())
        assert (await rig.job()).counters.done == 121
        assert len(rig.site.paths) == 121


async def test_the_first_to_end_a_claim_decides(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await rig.submit(*names(30))
        worker = rig.worker(await rig.claim())
        worker.end(Action.PAUSE, "user")
        worker.end(Action.RELEASE, "shutdown")
        assert (await worker.work()).action is Action.PAUSE
        assert rig.site.started == []
        assert (await rig.job()).status is Status.PAUSED


async def test_a_lost_lease_drops_everything(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 1.0
        job = await rig.submit(*names(30), new=new_job(checkpoints=CheckpointPolicy(items=8)))
        worker = rig.worker(await rig.claim())
        cancel = rig.jobs.cancel(job.id, now=leap.wall())
        asyncio.get_running_loop().call_later(1.5, asyncio.ensure_future, cancel)
        with pytest.raises(LeaseLost):
            await worker.work()
        job = await rig.job()
        assert (job.status, job.counters.done, job.counters.queued) == (Status.CANCELLED, 0, 30)
        assert rig.site.in_flight == 0


async def test_a_lease_that_the_keeper_finds_lost_stops_the_loop_at_once(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 1000.0
        await rig.submit(*names(30))
        worker = rig.worker(await rig.claim())
        asyncio.get_running_loop().call_later(1.5, worker.lose, LeaseLost("gone"))
        began = leap.monotonic()
        with pytest.raises(LeaseLost):
            await worker.work()
        assert leap.monotonic() - began < 2.0
        assert await rig.batches() == [0]


async def test_a_lease_lost_behind_another_end_is_no_news(leap, tmp_path):
    """A full disk pauses the job, which ends the claim: the keeper then finds it lost, and nobody asks any more."""
    async with rigged(tmp_path, leap) as rig:

        def full(_):
            raise StorageFull("full")

        rig.segments.before_append = full
        await rig.submit("a")
        worker = rig.worker(await rig.claim())
        with pytest.raises(StorageFull):
            await worker.work()
        worker.lose(LeaseLost("gone"))
        assert not worker._ending._log_traceback  # else asyncio complains of it as it goes


async def test_too_little_room_pauses_before_anything_fails(leap, tmp_path):
    async with rigged(tmp_path, leap, min_free_bytes=1000) as rig:
        rig.segments.before_append = lambda _: setattr(rig.segments, "free", 999)
        await rig.submit(*names(100))
        ending = await rig.work()
        job = await rig.job()
        assert (ending.action, job.status, job.reason) == (Action.PAUSE, Status.PAUSED, "disk")
        assert (await rig.reasons())[-1] == "disk"
        assert 10 <= job.counters.done < 100
        assert job.counters.done + job.counters.queued == 100


@pytest.mark.parametrize("error", [StorageFull("full"), StorageFailed("broken")])
async def test_a_disk_that_fails_ends_the_claim_with_the_last_commit_standing(leap, tmp_path, error):
    async with rigged(tmp_path, leap) as rig:
        appends = []

        def third_fails(count):
            appends.append(count)
            if len(appends) == 3:
                raise error

        rig.segments.before_append = third_fails
        await rig.submit(*names(100))
        with pytest.raises(type(error)):
            await rig.work()
        job = await rig.job()
        assert (job.counters.done, job.counters.queued) == (20, 80)
        await rig.crash()
        await rig.work()
        assert (await rig.job()).counters.done == 100


# -- outcomes


async def test_a_bug_of_ours_costs_one_page_only(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["p0003"] = lambda _: 1 / 0
        await rig.submit(*names(20))
        assert (await rig.work()).action is Action.COMPLETE
        job = await rig.job()
        assert (job.counters.done, job.counters.failed) == (19, 1)
        assert [t.reason for t in await rig.jobs.tallies(job.id) if t.status == "failed"] == [
            "internal_error"
        ]


@pytest.mark.parametrize("outcome", [Failed("refused"), Skipped("robots")])
async def test_no_start_page_is_a_failed_job_that_tries_again_when_resumed(leap, tmp_path, outcome):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["a"] = [lambda _: outcome, lambda item: Done((page(item.url),))]
        job = await rig.submit("a")
        await rig.work()
        assert ((await rig.job()).status, (await rig.job()).reason) == (Status.FAILED, NO_START_PAGE)
        await rig.jobs.resume(job.id, now=leap.wall())
        await rig.work()
        assert (await rig.job()).status is Status.COMPLETED


async def test_a_retry_comes_when_it_is_due_and_not_before(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["a"] = [
            lambda _: RetryAt(leap.wall() + 7200.0, "throttled"),
            lambda _: RetryAt(leap.wall() + 30.0, "throttled"),
            lambda item: Done((page(item.url, attempts=item.attempts),)),
        ]
        await rig.submit("a", "b")
        began = leap.monotonic()
        assert (await rig.work()).action is Action.COMPLETE
        times = [at - began for path, at in rig.site.started if path == "a"]
        assert times == pytest.approx([0.0, 7200.0, 7230.0], abs=2.0)
        job = await rig.job()
        assert (job.counters.done, job.counters.queued) == (2, 0)
        (last,) = [
            row for row in await rig.ledger.records(job.id, after=0, limit=9) if "attempts" in row.data
        ]
        assert last.data["attempts"] == 2


@pytest.mark.parametrize("delay", [0.0, 0.5, 30.0])
async def test_a_retry_that_is_due_before_its_commit_is_not_forgotten(leap, tmp_path, delay):
    """The commit comes with the tenth item or two minutes later, the due time long before."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=1, delay_s=20.0)
        rig.site.behaviours["p0001"] = [
            lambda _: RetryAt(leap.wall() + delay, "timeout"),
            lambda item: Done((page(item.url),)),
        ]
        await rig.submit(*names(5))
        assert (await rig.work()).action is Action.COMPLETE
        job = await rig.job()
        assert (job.counters.done, job.counters.queued) == (5, 0)


async def test_a_stored_due_time_is_kept_through_a_restart_of_the_process(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["a"] = [
            lambda _: RetryAt(leap.wall() + 3600.0, "throttled"),
            lambda item: Done((page(item.url),)),
        ]
        await rig.submit("a", "b")
        began = leap.monotonic()
        worker = rig.worker(await rig.claim())
        asyncio.get_running_loop().call_later(60.0, worker.end, Action.RELEASE, "shutdown")
        await worker.work()
        await rig.work()
        assert [at - began for path, at in rig.site.started if path == "a"] == pytest.approx([0, 3600], abs=2)


async def test_a_due_time_that_only_a_jumped_clock_would_give_is_not_believed(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["a"] = [
            lambda _: RetryAt(leap.wall() + 3600.0, "throttled"),
            lambda item: Done((page(item.url),)),
        ]
        await rig.submit("a", "b")
        worker = rig.worker(await rig.claim())
        asyncio.get_running_loop().call_later(60.0, worker.end, Action.RELEASE, "shutdown")
        await worker.work()
        leap.jump(-365 * 86400.0)
        began = leap.monotonic()
        await rig.work()
        assert (await rig.job()).counters.done == 2
        assert leap.monotonic() - began <= 6 * 3600.0


async def test_a_host_that_asks_for_a_pause_gets_it_and_no_other_host(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 1.0
        rig.site.pace = HostPace(per_host=1, delay_s=0.0)
        rig.site.behaviours["slow/p0000"] = [
            lambda _: RetryAt(leap.wall() + 600.0, "throttled", host_due_at=leap.wall() + 600.0),
            lambda item: Done((page(item.url),)),
        ]
        await rig.submit(*names(3, "slow/p"), *names(10))
        began = leap.monotonic()
        await rig.work()
        slow = [at - began for path, at in rig.site.started if path.startswith("slow/")]
        fast = [at - began for path, at in rig.site.started if not path.startswith("slow/")]
        assert slow[0] < 1.0
        assert min(slow[1:]) >= 600.0
        assert max(fast) < 60.0
        assert (await rig.job()).counters.done == 13


@pytest.mark.parametrize("delay", [0.5, 1.0, 10.0])
async def test_a_delay_between_two_items_of_a_host_is_kept_along_a_chain_of_links(leap, tmp_path, delay):
    """Each page is committed by itself, and its one link is all that is left of the host."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=1, delay_s=delay)
        rig.site.takes_s = 0.2
        for n in range(6):
            rig.site.links[f"p{n}"] = [found(f"p{n + 1}", n + 1)]
        await rig.submit("p0")
        await rig.work()
        times = [at for _, at in rig.site.started]
        assert len(times) == 7
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert min(gaps) >= delay * 0.999


async def test_a_host_is_met_once_for_each_claim(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        for n in range(6):
            rig.site.links[f"p{n}"] = [found(f"p{n + 1}", n + 1), found(f"other/p{n}", n + 1)]
        await rig.submit("p0")
        await rig.work()
        assert sorted(rig.site.met) == ["http://other", "http://site"]


async def test_a_host_whose_pace_has_run_out_is_met_again_and_its_new_pace_kept(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        began = leap.monotonic()
        paces = iter([HostPace(1, 1.0, until=began + 4.5), HostPace(1, 60.0)])

        async def meet(host):
            rig.site.met.append(host)
            return next(paces)

        rig.site.meet = meet
        await rig.submit(*names(8))
        await rig.work()
        assert len(rig.site.met) == 2
        starts = [at - began for _, at in rig.site.started]
        assert starts == pytest.approx([0, 1, 2, 3, 4, 64, 124, 184], abs=0.2)


# -- phases, depth, many hosts


async def test_each_phase_begins_with_a_checkpoint(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.phases = ("crawl", "extract", "report")
        await rig.submit(*names(3))
        await rig.work()
        assert await rig.reasons() == ["phase", "idle", "phase", "phase", "finish"]
        assert (await rig.job()).phase == "completed"


async def test_what_is_found_for_a_later_phase_waits_for_all_of_the_earlier_ones(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.phases = ("list", "read", "sum up")
        rig.site.links = {
            "a": [found("a1", 1, stage=1), found("b", 1), found("other/z", 1, stage=2)],
            "b": [found("a2", 2, stage=1), found("c", 2)],
            "a1": [found("late", 2), found("a3", 2, stage=1), found("y", 2, stage=2)],
        }
        # One of the first phase takes its time, and so does one of the second.
        for name in ("c", "a2"):
            rig.site.behaviours[name] = [
                lambda _: RetryAt(rig.clock.wall() + 300, "timeout"),
                lambda item: Done((page(item.url),)),
            ]
        await rig.submit("a")
        await rig.work()
        paths = rig.site.paths
        assert paths[:4] == ["a", "b", "c", "c"]
        assert sorted(paths[4:9]) == ["a1", "a2", "a2", "a3", "late"]
        assert sorted(paths[9:]) == ["other/z", "y"]
        assert (await rig.reasons()).count("phase") == 3
        assert (await rig.job()).counters.queued == 0


async def test_a_claim_goes_on_in_the_phase_that_the_one_before_it_was_in(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.phases = ("list", "read")
        rig.site.links = {"a": [found(name, 1, stage=1) for name in names(30)]}
        new = new_job(limits=Limits(max_pages=12))
        await rig.submit("a", new=new)
        await rig.work()
        job = await rig.job()
        assert (job.phase, job.counters.queued) == ("completed", 19)
        await rig.jobs.extend(job.id, now=rig.clock.wall())
        await rig.jobs.change(job.id, limits=Limits(), pace=job.pace, checkpoints=job.checkpoints)
        await rig.work()
        assert (await rig.job()).counters.done == 31
        assert len(set(rig.site.paths)) == len(rig.site.paths) == 31


async def test_a_phase_is_not_gone_through_twice(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.phases = ("crawl", "extract")
        rig.site.behaviours["a"] = [
            lambda _: RetryAt(leap.wall() + 3600.0, "throttled"),
            lambda item: Done((page(item.url),)),
        ]
        await rig.submit("a")
        worker = rig.worker(await rig.claim())
        asyncio.get_running_loop().call_later(60.0, worker.end, Action.RELEASE, "shutdown")
        await worker.work()
        await rig.work()
        assert (await rig.reasons()).count("phase") == 2


async def test_what_is_found_nearer_has_its_links_judged_again_without_a_fetch(leap, tmp_path):
    """x was found at the depth limit first, then one step from the start: what it links to is admitted after all."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["x"] = lambda item: Done(
            (page(item.url),), (found("y", item.depth + 1, skip="depth" if item.depth >= 2 else None),)
        )
        rig.site.links["x"] = [found("y", 0)]
        rig.site.links["a"] = [found("b", 1)]
        rig.site.links["b"] = [found("x", 2)]
        policy = CheckpointPolicy(items=1)
        rig.site.behaviours["late"] = [
            lambda _: RetryAt(leap.wall() + 100.0, "timeout"),
            lambda item: Done((page(item.url),), (found("x", 1),)),
        ]
        await rig.submit("a", "late", new=new_job(limits=Limits(max_depth=2), checkpoints=policy))
        assert (await rig.work()).action is Action.COMPLETE
        assert rig.site.paths.count("x") == 1
        assert [item.depth for item, _ in rig.site.relinked] == [1]
        assert "y" in rig.site.paths
        job = await rig.job()
        assert (job.counters.done, job.counters.skipped, job.counters.queued) == (5, 0, 0)


async def test_links_are_judged_again_by_the_notes_as_they_are_when_the_body_is_there(leap, tmp_path):
    """A scope that grows while a body is read must not be missed: the outcome takes the mark off."""
    grown = threading.Event()
    reads = iter((lambda: None, lambda: grown.wait(30.0)))

    def grow(item):
        grown.set()
        return Redirected((), "moved", (page(item.url, b""),), cursor={"scope": "wider"})

    async with rigged(tmp_path, leap) as rig:
        # given two pages that are judged again; the body of the one is there at once and leads to an address that grows
        # the scope, that of the other comes only then
        rig.segments.before_read = lambda: next(reads)()  # noqa: PLW0108 - another one each time
        rig.site.links = {
            "a": [found("x", 2), found("y", 2)],
            "x": [found("moved", 9)],
            "y": [found("moved", 9)],
        }
        rig.site.behaviours = {
            "x": lambda item: Done((page(item.url),)),
            "y": lambda item: Done((page(item.url),)),
            "moved": grow,
            "late": [
                lambda _: RetryAt(leap.wall() + 100.0, "timeout"),
                lambda item: Done((page(item.url),), (found("x", 1), found("y", 1))),
            ],
        }
        await rig.submit("a", "late", new=new_job(checkpoints=CheckpointPolicy(items=1)))
        await rig.work()

        # then it is judged by the scope as it is by then
        assert [notes for _, notes in rig.site.relinked] == [{}, {"scope": "wider"}]


async def test_a_body_that_cannot_be_read_back_costs_its_links_only(leap, tmp_path):
    """It is damage, which verify names; the job must come to its end all the same."""
    async with rigged(tmp_path, leap) as rig:
        rig.segments.damaged = True
        rig.site.links["a"] = [found("x", 2)]
        rig.site.behaviours["late"] = [
            lambda _: RetryAt(leap.wall() + 100.0, "timeout"),
            lambda item: Done((page(item.url),), (found("x", 1),)),
        ]
        await rig.submit("a", "late")
        assert (await rig.work()).action is Action.COMPLETE
        assert (await rig.job()).counters.done == 3


async def test_a_body_that_cannot_be_read_now_is_read_by_the_next_claim(leap, tmp_path):
    """Too many open files are no damage: the claim ends, and the page's mark stays."""

    def refuse():
        raise StorageFailed("too many open files")

    async with rigged(tmp_path, leap) as rig:
        rig.segments.before_read = refuse
        rig.site.links["a"] = [found("x", 2)]
        rig.site.behaviours["late"] = [
            lambda _: RetryAt(leap.wall() + 100.0, "timeout"),
            lambda item: Done((page(item.url),), (found("x", 1),)),
        ]
        await rig.submit("a", "late")
        with pytest.raises(StorageFailed):
            await rig.work()
        assert rig.site.relinked == []
        await rig.crash()
        rig.segments.before_read = None
        assert (await rig.work()).action is Action.COMPLETE
        assert [item.depth for item, _ in rig.site.relinked] == [1]


@pytest.mark.parametrize("error", [StorageFailed("no"), LeaseLost("no")])
async def test_what_stops_the_claim_is_no_failure_of_the_page_at_hand(leap, tmp_path, error):
    def stop(_):
        raise error

    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["a"] = stop
        await rig.submit("a")
        with pytest.raises(type(error)):
            await rig.work()
        assert (await rig.job()).counters.queued == 1


async def test_a_rejudged_page_takes_no_slot_of_the_page_limit(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.links["a"] = [found("x", 2)]
        rig.site.links["x"] = [found("y", 3), found("z", 3)]
        rig.site.behaviours["late"] = [
            lambda _: RetryAt(leap.wall() + 100.0, "timeout"),
            lambda item: Done((page(item.url),), (found("x", 1),)),
        ]
        await rig.submit("a", "late", new=new_job(limits=Limits(max_pages=5)))
        await rig.work()
        assert (await rig.job()).counters.done == 5


async def test_many_hosts_are_all_come_to(leap, tmp_path, monkeypatch):
    for module in ("frontier", "feeder", "worker"):
        monkeypatch.setattr(f"holdfast.engine.{module}.MAX_HOSTS", 5, raising=False)
    async with rigged(tmp_path, leap) as rig:
        starts = [f"h{n}/p{m}" for n in range(60) for m in range(2)]
        for n in range(0, 60, 3):
            rig.site.behaviours[f"h{n}/p0"] = [
                lambda _: RetryAt(leap.wall() + 50.0, "timeout"),
                lambda item: Done((page(item.url),)),
            ]
        await rig.submit(*starts)
        assert (await rig.work()).action is Action.COMPLETE
        assert (await rig.job()).counters.done == 120


async def test_a_crowd_of_hosts_is_read_once_and_not_with_each_commit(leap, tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.engine.frontier.MAX_HOSTS", 40)
    async with rigged(tmp_path, leap) as rig:
        rows = 0
        asked = rig.ledger.queued_hosts

        async def queued_hosts(*words, **more):
            nonlocal rows
            hosts = await asked(*words, **more)
            rows += len(hosts)
            return hosts

        rig.ledger.queued_hosts = queued_hosts
        # each of them leads to another page of an earlier one, which there may be no room for at that time
        rig.site.links = {f"h{n}/a": [found(f"h{n // 2}/b{n}", 1)] for n in range(400)}
        await rig.submit(*(f"h{n}/a" for n in range(400)))
        assert (await rig.work()).action is Action.COMPLETE
        assert (await rig.job()).counters.done == 800
        assert rows < 2 * 400


async def test_hosts_that_are_brought_in_in_several_questions_are_read_once(leap, tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.engine.feeder.MAX_HOSTS_ASKED", 10)
    async with rigged(tmp_path, leap) as rig:
        rows = 0
        asked = rig.ledger.queued_hosts

        async def queued_hosts(*words, **more):
            nonlocal rows
            hosts = await asked(*words, **more)
            rows += len(hosts)
            return hosts

        rig.ledger.queued_hosts = queued_hosts
        rig.site.takes_s = 0.1
        await rig.submit(*(f"h{n}/{name}" for n in range(60) for name in names(40)))
        assert (await rig.work()).action is Action.COMPLETE
        assert (await rig.job()).counters.done == 2400
        assert rows == 60


async def test_hosts_that_wait_for_their_time_starve_no_others(leap, tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.engine.frontier.MAX_HOSTS", 8)
    async with rigged(tmp_path, leap) as rig:
        for n in range(20):
            rig.site.behaviours[f"h{n}/a"] = [
                lambda _: RetryAt(leap.wall() + 3600.0, "timeout"),
                lambda item: Done((page(item.url),)),
            ]
        await rig.submit(*(f"h{n}/a" for n in range(60)))
        began = leap.monotonic()
        assert (await rig.work()).action is Action.COMPLETE
        assert sum(at - began < 10.0 for _, at in rig.site.started) == 60
        assert (await rig.job()).counters.done == 60


async def test_due_items_by_the_hundreds_all_come_back(leap, tmp_path, monkeypatch):
    for module in ("feeder", "worker"):
        monkeypatch.setattr(f"holdfast.engine.{module}.MAX_DUE", 8, raising=False)
    async with rigged(tmp_path, leap) as rig:
        for name in names(50):
            rig.site.behaviours[name] = [
                lambda _: RetryAt(leap.wall() + 50.0, "timeout"),
                lambda item: Done((page(item.url),)),
            ]
        await rig.submit(*names(50), "b")
        assert (await rig.work()).action is Action.COMPLETE
        assert (await rig.job()).counters.done == 51


async def test_due_items_come_back_only_as_far_as_there_is_room_for_them(leap, tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.engine.feeder.MAX_DUE", 8)
    monkeypatch.setattr("holdfast.engine.frontier.MAX_ITEMS", 20)
    async with rigged(tmp_path, leap) as rig:
        for name in names(100):
            rig.site.behaviours[name] = [
                lambda _: RetryAt(leap.wall() + 50.0, "timeout"),
                lambda item: asyncio.sleep(9.0, Done((page(item.url),))),
            ]
        await rig.submit(*names(100))
        most = 0
        asked = rig.ledger.take_due

        async def take_due(*words, taken, **more):
            nonlocal most
            due = await asked(*words, taken=taken, **more)
            most = max(most, len(taken) + len(due))
            return due

        rig.ledger.take_due = take_due
        assert (await rig.work()).action is Action.COMPLETE
        assert 20 <= most < 20 + 8
        assert (await rig.job()).counters.done == 100


async def test_a_rejected_record_without_evidence_is_committed_too(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours["a"] = lambda _: Done((Record("page", {"size": 0}),))
        await rig.submit("a")
        await rig.work()
        assert rig.segments.appended == []
        assert (await rig.job()).counters.done == 1


# -- poison


async def deaths(rig, poison):
    """Claims that die on the poison, as a process does, until one comes to its end; gives how many died."""
    for died in range(20):
        claim = await rig.claim()
        worker = rig.worker(claim)

        async def kill(_item, worker=worker):
            worker.lose(LeaseLost("the process is gone"))
            await asyncio.sleep(NEVER)

        rig.site.behaviours[poison] = kill
        try:
            await worker.work()
        except LeaseLost:
            await rig.crash()
        else:
            return died
        rig.site.most_in_flight = 0
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize("count", [1, 5, 26, 60])
async def test_a_page_that_kills_its_worker_is_quarantined_and_its_neighbours_finish(leap, tmp_path, count):
    async with rigged(tmp_path, leap) as rig:
        starts = names(count)
        await rig.submit(*starts, "poison", "zlast")
        died = await deaths(rig, "poison")
        job = await rig.job()
        assert job.status is Status.COMPLETED
        assert (job.counters.done, job.counters.failed, job.counters.queued) == (count + 1, 1, 0)
        assert [t.reason for t in await rig.jobs.tallies(job.id) if t.status == "failed"] == ["poison"]
        assert died <= 4


async def test_after_a_death_without_progress_one_item_is_handled_at_a_time_and_named_before(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await rig.submit(*names(40))
        await rig.claim()
        await rig.crash()
        told = []
        mark, begun = rig.ledger.mark, rig.site.handle

        async def marking(lease, item_id):
            told.append(("named", item_id))
            await mark(lease, item_id)

        async def handle(item):
            told.append(("handled", item.id))
            return await begun(item)

        rig.ledger.mark = marking
        rig.site.handle = handle
        rig.site.takes_s = 1.0
        claim = await rig.claim()
        assert claim.cautious_left == 14
        await rig.worker(claim).work()
        assert [what for what, _ in told] == ["named", "handled"] * 14 + ["handled"] * 26
        assert all(told[n][1] == told[n + 1][1] for n in range(0, 28, 2))
        batches, reasons = await rig.batches(), await rig.reasons()
        assert [size for size, why in zip(batches, reasons, strict=True) if why == "caution"] == [1] * 14
        assert "items" in reasons, "then it goes on as ever"
        assert (await rig.job()).counters.done == 40


async def test_a_claim_that_ends_early_leaves_its_caution_to_the_next(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await rig.submit(*names(40))
        await rig.claim()
        await rig.crash()
        worker = rig.worker(await rig.claim())
        asyncio.get_running_loop().call_soon(worker.end, Action.RELEASE, "shutdown")
        await worker.work()
        assert (await rig.claim()).cautious_left == 14


def noting(number, size=1):
    """A page that moved, and what the pipeline notes because of it."""
    return lambda item: Redirected((), "moved", (page(item.url, b"x" * size),), cursor={"seen": number})


async def test_the_last_outcomes_notes_are_kept_with_its_commit(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours = {"p0001": noting(1), "p0003": noting(3)}
        await rig.submit(*names(5), new=new_job(pace=Pace(1, 1, 0.0), checkpoints=CheckpointPolicy(items=2)))
        await rig.work()
        job = await rig.job()
        await rig.jobs.extend(job.id, now=leap.wall())
        assert (await rig.claim()).cursor == {"seen": 3}


async def test_notes_of_an_outcome_that_is_not_kept_are_not_kept_either(leap, tmp_path):
    """What they say would be true of rows that are not there."""
    async with rigged(tmp_path, leap) as rig:
        rig.site.behaviours = {
            "p0000": noting(0, size=60),
            "p0001": lambda item: Done((page(item.url, b"x" * 60),)),
            "p0002": noting(2, size=1),
        }
        await rig.submit(*names(3), new=new_job(limits=Limits(max_bytes=100), pace=Pace(3, 3, 0.0)))
        await rig.work()
        job = await rig.job()
        await rig.jobs.extend(job.id, now=leap.wall())
        assert (await rig.claim()).cursor == {"seen": 0}


async def test_what_is_appended_is_synced_now_and_then_and_at_the_end(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await rig.submit(*names(30))
        worker_tools = rig.tools
        assert worker_tools.unsynced_bytes > 10_000
        await rig.work()
        (segment,) = await rig.ledger.segments((await rig.job()).id)
        assert (segment.committed, segment.synced) == (3000, 3000)
        assert rig.segments.synced == 1


@pytest.mark.parametrize("seed", range(8))
async def test_a_crawl_with_kills_anywhere_loses_nothing_and_repeats_little(leap, tmp_path, seed):
    """The worker's memory is dropped at random moments; the ledger is all that is left."""
    chance = random.Random(seed)
    async with rigged(tmp_path, leap) as rig:
        pages = tree(rig.site, 5, 3)
        rig.site.takes_s = 0.7
        rig.segments.before_append = lambda _: asyncio.sleep(chance.random())
        new = new_job(pace=Pace(5, 5, 0.0), checkpoints=CheckpointPolicy(items=4))
        await rig.submit("a", new=new)
        kills = 0
        for _ in range(500):
            worker = rig.worker(await rig.claim())
            asyncio.get_running_loop().call_later(chance.uniform(0.1, 15.0), worker.lose, LeaseLost("killed"))
            try:
                await worker.work()
            except LeaseLost:
                kills += 1
                job = await rig.jobs.find(None)
                holder = await rig.jobs.holder(job.id)
                await rig.ledger.recover(holder, why="died", stalled=False, rules=None, now=leap.wall())
            else:
                break
        job = await rig.job()
        assert job.status is Status.COMPLETED
        assert (job.counters.done, job.counters.queued) == (pages, 0)
        assert kills
        assert len(rig.site.paths) - pages <= kills * (4 + 5)
