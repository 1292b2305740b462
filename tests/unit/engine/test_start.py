"""The same command again, in every state of the job that it made before."""

import asyncio
from types import SimpleNamespace

import pytest
from tests.kit.builders import found, job, new_job, page
from tests.kit.fakes import FakeSegments, rigged

from holdfast.domain.checkpoint import CheckpointPolicy, Counters
from holdfast.domain.errors import HalfRestarted, JobHeld, SpecChanged, UsageError
from holdfast.domain.item import Done
from holdfast.domain.job import Limits, Pace
from holdfast.domain.recovery import Recovery
from holdfast.domain.states import Status
from holdfast.engine.budget import BYTE_LIMIT, PAGE_LIMIT
from holdfast.engine.revising import taken_over
from holdfast.engine.start import Decision, Step, decide, restart, start
from holdfast.engine.verify import verify
from holdfast.stores.sqlite.jobs import SqliteJobs

FIXED = frozenset({"scope"})
SPEC = {"scope": "host", "user_agent": "me"}


def asked(**changes):
    return (
        new_job(spec=SPEC, fixed=FIXED)
        if not changes
        else new_job(**({"spec": SPEC, "fixed": FIXED} | changes))
    )


def stored(status, **changes):
    return job(status, **({"spec": SPEC} | changes))


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (Status.PENDING, Step.CLAIM),
        (Status.PAUSED, Step.RESUME),
        (Status.TIMEOUT, Step.RESUME),
        (Status.FAILED, Step.RESUME),
        (Status.COMPLETED, Step.NOTHING),
    ],
)
def test_the_same_command_goes_on_where_there_is_something_to_go_on_with(status, step):
    assert decide(stored(status), asked(), holder_lives=False) == Decision(step)


def test_a_first_command_submits():
    assert decide(None, asked(), holder_lives=False) == Decision(Step.SUBMIT)


@pytest.mark.parametrize(("lives", "step"), [(True, Step.HELD), (False, Step.RECOVER)])
def test_what_a_living_process_works_on_is_held_and_a_dead_ones_taken_back(lives, step):
    assert decide(stored(Status.IN_PROGRESS), asked(), holder_lives=lives).step is step


@pytest.mark.parametrize(
    ("status", "pages", "step"),
    [
        (Status.COMPLETED, None, Step.EXTEND),
        (Status.COMPLETED, 3, Step.NOTHING),
        (Status.PAUSED, None, Step.RESUME),
    ],
)
def test_what_other_rules_let_in_lets_a_completed_job_go_on_within_its_limits(status, pages, step):
    there = stored(status, limits=Limits(max_pages=pages), counters=Counters(done=3))
    again = asked(limits=Limits(max_pages=pages))
    assert decide(there, again, holder_lives=False, lets_in=True).step is step


def test_a_cancelled_job_says_how_to_start_it_again():
    with pytest.raises(UsageError) as error:
        decide(stored(Status.CANCELLED), asked(), holder_lives=False)
    assert "restart" in str(error.value)
    assert "--fresh" in str(error.value)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"limits": Limits(max_pages=3)},
        {"pace": Pace(concurrency=99)},
        {"checkpoints": CheckpointPolicy(items=3)},
        {"spec": {**SPEC, "user_agent": "you"}},
    ],
)
@pytest.mark.parametrize("status", [Status.PENDING, Status.PAUSED, Status.TIMEOUT, Status.FAILED])
def test_other_bounds_are_applied(status, changes):
    decision = decide(stored(status), asked(**changes), holder_lives=False)
    assert decision.rebound
    assert decision.step in {Step.CLAIM, Step.RESUME}


DONE = Counters(found=4, done=4, bytes=400)


@pytest.mark.parametrize(
    ("reason", "old", "new", "goes_on"),
    [
        (PAGE_LIMIT, Limits(max_pages=4), Limits(max_pages=5), True),
        (PAGE_LIMIT, Limits(max_pages=4), Limits(), True),
        (PAGE_LIMIT, Limits(max_pages=4), Limits(max_pages=4), False),
        (PAGE_LIMIT, Limits(max_pages=4), Limits(max_pages=3), False),
        (None, Limits(max_pages=99), Limits(max_pages=100), False),
        (BYTE_LIMIT, Limits(max_bytes=400), Limits(max_bytes=500), True),
        (BYTE_LIMIT, Limits(max_bytes=450), Limits(max_bytes=460), True),
        (BYTE_LIMIT, Limits(max_bytes=450), Limits(), True),
        (BYTE_LIMIT, Limits(max_bytes=450), Limits(max_bytes=450), False),
        (BYTE_LIMIT, Limits(max_bytes=450), Limits(max_bytes=420), False),
        (BYTE_LIMIT, Limits(max_bytes=400, max_pages=4), Limits(max_bytes=500, max_pages=4), False),
        (None, Limits(max_depth=1), Limits(max_depth=2), True),
        (None, Limits(max_depth=1), Limits(), True),
        (None, Limits(max_depth=2), Limits(max_depth=1), False),
        (PAGE_LIMIT, Limits(max_depth=1, max_pages=4), Limits(max_depth=2, max_pages=4), False),
        (BYTE_LIMIT, Limits(max_depth=1, max_bytes=450), Limits(max_depth=2, max_bytes=450), False),
    ],
)
def test_a_completed_job_goes_on_only_where_a_raised_limit_lets_it(reason, old, new, goes_on):
    completed = stored(Status.COMPLETED, reason=reason, limits=old, counters=DONE)
    decision = decide(completed, asked(limits=new), holder_lives=False)
    assert decision.step is (Step.EXTEND if goes_on else Step.NOTHING)


# -- and doing it


def nobody_waits(_holder):
    raise AssertionError


def taken(_job, _preview):
    """Whatever it does to the queue."""


async def begin(rig, new, agree=taken, **how):
    return await start(rig.tools, new, random=lambda n: b"\x07" * n, on_wait=nobody_waits, agree=agree, **how)


async def test_two_commands_are_one_job(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        first = await begin(rig, asked())
        again = await begin(rig, asked())
        assert (first.step, again.step) == (Step.SUBMIT, Step.CLAIM)
        assert again.job == first.job


async def test_fresh_is_a_job_of_its_own(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        first = await begin(rig, asked())
        leap.advance(1.0)
        second = await begin(rig, asked(), fresh=True)
        assert second.job.id != first.job.id
        assert (await begin(rig, asked())).job.id == second.job.id


async def test_a_living_holder_is_named(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await begin(rig, asked())
        await rig.claim()
        with pytest.raises(JobHeld) as error:
            await begin(rig, asked(limits=Limits(max_pages=1)))
        assert "process 1 on here" in str(error.value)
        assert (await rig.jobs.find(None)).limits == Limits(), "and nothing of it is changed"


async def test_a_resumed_job_with_new_limits_has_both(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await begin(rig, asked())
        claim = await rig.claim()
        await rig.jobs.pause(claim.job.id, now=leap.wall(), dead=await rig.jobs.holder(claim.job.id))
        started = await begin(rig, asked(limits=Limits(max_pages=1)))
        assert started.step is Step.RESUME
        assert (started.job.status, started.job.limits.max_pages) == (Status.PENDING, 1)


async def test_a_completed_job_is_left_alone(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await begin(rig, asked())
        await rig.work()
        before = await rig.job()
        started = await begin(rig, asked())
        assert (started.step, started.job) == (Step.NOTHING, before)
        assert len(rig.site.started) == 1


async def test_repeating_a_command_with_its_byte_limit_fetches_nothing(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        new = asked(limits=Limits(max_bytes=12), spec={**SPEC, "start": ["a", "b", "c"]})
        await begin(rig, new)
        await rig.work()
        fetched = len(rig.site.started)
        assert (await rig.job()).reason == BYTE_LIMIT
        assert (await begin(rig, new)).step is Step.NOTHING
        assert len(rig.site.started) == fetched


async def test_links_that_wait_to_be_judged_again_are_let_go_on_by_a_raised_page_limit(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.links = {
            "start": [found("m", 1)],
            "m": [found("t", 2)],
            "t": [found("x", 3, skip="depth")],
            "z": [found("t", 1)],
        }

        async def late(item):
            await asyncio.sleep(100)
            return Done((page(item.url),), (found("t", 1),))

        rig.site.behaviours["z"] = late
        spec = {**SPEC, "start": ["start", "z"]}
        one_by_one = CheckpointPolicy(items=1)
        new = asked(limits=Limits(max_pages=4, max_depth=2), checkpoints=one_by_one, spec=spec)
        await begin(rig, new)
        await rig.work()
        job = await rig.job()
        assert (job.reason, job.counters.queued, job.counters.done) == (PAGE_LIMIT, 0, 4)

        more = asked(limits=Limits(max_pages=10, max_depth=2), checkpoints=one_by_one, spec=spec)
        assert (await begin(rig, more)).step is Step.EXTEND
        await rig.work()
        assert "x" in rig.site.paths


async def test_a_raised_limit_holds_though_the_command_died_before_it_was_stored(leap, tmp_path, monkeypatch):
    async with rigged(tmp_path, leap) as rig:
        new = asked(limits=Limits(max_bytes=12), spec={**SPEC, "start": ["a", "b", "c"]})
        await begin(rig, new)
        await rig.work()
        more = asked(limits=Limits(max_bytes=50), spec=new.spec)
        with monkeypatch.context() as killed:
            killed.setattr(SqliteJobs, "change", interrupted)
            with pytest.raises(KeyboardInterrupt):
                await begin(rig, more)
        await begin(rig, more)
        await rig.work()
        assert (await rig.job()).counters.done == 3


async def interrupted(*_arguments, **_names):
    raise KeyboardInterrupt


async def test_a_person_who_repeats_the_command_is_never_told_that_it_crashed_too_often(leap, tmp_path):
    """Though each time another crawl's watchdog was the first to see that its worker was gone."""
    async with rigged(tmp_path, leap) as rig:
        for _ in range(9):
            await begin(rig, asked())
            await rig.claim()
            await rig.crash()
            assert (await rig.jobs.find(None)).status is Status.PENDING


async def test_a_failed_job_goes_on_with_the_count_begun_anew(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await begin(rig, asked())
        for _ in range(4):
            claim = await rig.claim()
            holder = await rig.jobs.holder(claim.job.id)
            await rig.ledger.recover(holder, why="died", stalled=False, rules=Recovery(), now=leap.wall())
        assert (await rig.jobs.find(None)).status is Status.FAILED
        assert (await begin(rig, asked())).step is Step.RESUME
        await rig.work()
        assert (await rig.job()).status is Status.COMPLETED


# -- other rules


class Asked:
    """Who is told what a change does, and agrees or doesn't."""

    def __init__(self, *, agrees=True):
        self.agrees = agrees
        self.told = []

    def __call__(self, job, preview):
        self.told.append(preview)
        if not self.agrees:
            raise SpecChanged("no")


START = {"start": ["a", "b", "c", "d"]}


async def waiting(rig, **spec):
    """A job with four pages queued, of which nobody has asked for any."""
    await begin(rig, asked(spec=SPEC | START | spec))
    return await rig.jobs.find(None)


async def test_what_other_rules_do_is_told_before_anything_is_done(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        before = await waiting(rig, shuns=["out"])
        no = Asked(agrees=False)
        new = asked(spec=SPEC | START | {"shuns": ["a", "b"]}, limits=Limits(max_depth=0))
        with pytest.raises(SpecChanged):
            await begin(rig, new, agree=no)
        assert no.told[0].leave == {"shunned": 2}
        assert not no.told[0].lets_in
        assert await rig.jobs.find(None) == before, "nothing is changed without an agreement"
        yes = Asked()
        started = await begin(rig, new, agree=yes)
        assert (yes.told[0].leave, started.job.counters.queued) == ({"shunned": 2}, 2)
        await rig.work()
        assert sorted(rig.site.paths) == ["c", "d"]


async def test_a_command_with_the_rules_that_the_job_has_asks_nobody(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await waiting(rig)
        asking = Asked()
        other = asked(spec=SPEC | START | {"user_agent": "you"}, limits=Limits(max_pages=3))
        assert (await begin(rig, other, agree=asking)).job.limits.max_pages == 3
        assert asking.told == []


async def test_rules_that_move_nothing_are_told_so(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await waiting(rig)
        asking = Asked()
        started = await begin(rig, asked(spec=SPEC | START | {"shuns": ["elsewhere"]}), agree=asking)
        assert [told.moves for told in asking.told] == [False]
        assert (started.job.spec["shuns"], started.job.counters.queued) == (["elsewhere"], 4)


async def test_a_completed_job_goes_on_where_its_rules_let_something_back_in(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.links = {"a": [found("out", 1, skip="shunned"), found("in", 1)]}
        await waiting(rig, shuns=["out"])
        await rig.work()
        asking = Asked()
        narrower = asked(spec=SPEC | START | {"shuns": ["out", "in"]})
        assert (await begin(rig, narrower, agree=asking)).step is Step.NOTHING
        assert asking.told == []
        assert (await begin(rig, asked(spec=SPEC | START), agree=asking)).step is Step.EXTEND
        assert asking.told[0].back == {"shunned": 1}
        await rig.work()
        assert rig.site.paths[-1] == "out"


async def test_what_is_done_stays_done_outside_of_the_rules(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await waiting(rig)
        await rig.work()
        asking = Asked()
        wider = SPEC | {"start": ["a", "b", "c", "d", "new"], "shuns": ["a", "b"]}
        assert (await begin(rig, asked(spec=wider), agree=asking)).step is Step.EXTEND
        told = asking.told[0]
        assert (told.outside, told.begun, dict(told.leave)) == (2, [found("new").url], {})
        await rig.work()
        job = await rig.job()
        assert (job.counters.done, rig.site.paths[-1]) == (5, "new")
        assert await rig.ledger.discrepancies(job.id) == []


@pytest.mark.parametrize("status", [Status.PENDING, Status.PAUSED, Status.COMPLETED])
def test_what_is_fixed_is_refused_with_fresh_named(status):
    there = stored(status, spec={**SPEC, "inner": {"one": ["a", "b"], "two": 1}})
    fixed = frozenset({"scope", "inner.one"})
    for spec, name in (
        ({**SPEC, "scope": "any", "inner": {"one": ["b", "a"], "two": 2}}, "the scope would"),
        ({**SPEC, "inner": {"one": ["c"], "two": 1}}, "the one would"),
    ):
        with pytest.raises(SpecChanged, match=name) as error:
            taken_over(SimpleNamespace(), there, asked(spec=spec, fixed=fixed))
        assert "--fresh" in str(error.value)


# -- restarts


async def completed(rig):
    """A job that has come to its end."""
    await begin(rig, asked())
    await rig.work()
    return await rig.job()


async def test_a_restart_takes_the_files_while_nobody_can_claim(leap, tmp_path, monkeypatch):
    async with rigged(tmp_path, leap) as rig:
        job = await completed(rig)
        refused = []

        def remove(segments, removed):
            claiming = rig.ledger.claim(removed.id, "here/2/bb", now=leap.wall())
            with pytest.raises(HalfRestarted) as error:
                claiming.send(None)
            refused.append(str(error.value))

        monkeypatch.setattr(FakeSegments, "remove", remove)
        fresh = await restart(rig.tools, job)
        assert len(refused) == 1
        assert (fresh.status, fresh.run, fresh.counters.queued) == (Status.PENDING, 2, 1)


async def test_a_restart_that_was_interrupted_is_named_with_the_command_that_ends_it(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        job = await completed(rig)
        await rig.jobs.empty(job.id)  # and the process was killed
        for command in (
            lambda: begin(rig, asked()),
            lambda: begin(rig, asked(limits=Limits(max_pages=1))),
            lambda: rig.jobs.extend(job.id, now=leap.wall()),
            lambda: verify(rig.tools, job),
        ):
            with pytest.raises(HalfRestarted, match=f"holdfast restart {job.short_id}"):
                await command()
        assert (await restart(rig.tools, job)).status is Status.PENDING
        assert (await begin(rig, asked())).step is Step.CLAIM
        await rig.work()
        assert (await rig.job()).counters.done == 1
