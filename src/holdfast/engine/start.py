"""The same command again: what it means for a job that is there, and doing that, up to a job that can be claimed."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from holdfast.domain.errors import HalfRestarted, JobHeld, UsageError
from holdfast.domain.failures import Which
from holdfast.domain.ids import uuid7
from holdfast.domain.job import Job, Limits, NewJob
from holdfast.domain.lease import Heartbeat
from holdfast.domain.states import Action, Status, after
from holdfast.engine.budget import BYTE_LIMIT, PAGE_LIMIT
from holdfast.engine.repair import good_length
from holdfast.engine.revising import Preview, carry_on, higher, preview, revision_since, taken_over
from holdfast.engine.tools import Tools
from holdfast.engine.watchdog import Watchdog, death
from holdfast.ports.jobs import Past

QUEUED = "queued"
"""The phase of a job that nobody has worked on yet."""


class Step(Enum):
    """What to do next with the command."""

    SUBMIT = auto()
    CLAIM = auto()
    RECOVER = auto()
    HELD = auto()
    RESUME = auto()
    EXTEND = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Decision:
    """The next step, and whether the command's bounds differ from the job's."""

    step: Step
    rebound: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """A job that waits to be claimed, or (`step` NOTHING) one that is complete already."""

    job: Job
    step: Step


def decide(job: Job | None, new: NewJob, *, holder_lives: bool, lets_in: bool = False) -> Decision:
    """What the command means, given the job that the same command made before.

    `lets_in`: by the command's rules there is more for it to do than there was.
    """
    if job is None:
        return Decision(Step.SUBMIT)
    bounds = (job.limits, job.pace, job.checkpoints, dict(job.spec))
    rebound = bounds != (new.limits, new.pace, new.checkpoints, dict(new.spec))
    match job.status:
        case Status.PENDING:
            return Decision(Step.CLAIM, rebound)
        case Status.IN_PROGRESS:
            return Decision(Step.HELD if holder_lives else Step.RECOVER, rebound)
        case Status.PAUSED | Status.TIMEOUT | Status.FAILED:
            return Decision(Step.RESUME, rebound)
        case Status.COMPLETED:
            goes_on = _raised(job, new.limits) or (lets_in and _room(job, new.limits))
            return Decision(Step.EXTEND, rebound=True) if goes_on else Decision(Step.NOTHING)
        case Status.CANCELLED:
            raise UsageError(
                f"job {job.short_id} was cancelled. Start it from nothing with `holdfast restart {job.short_id}`, "
                "or make a new job with --fresh."
            )


def _raised(job: Job, new: Limits) -> bool:
    """Whether the new limits let a finished job go on: one of them was raised, and none of the others is in the way."""
    old = job.limits
    deeper = higher(old.max_depth, new.max_depth)
    cut_short = job.reason in {PAGE_LIMIT, BYTE_LIMIT}
    if not deeper and not cut_short:
        return False
    if job.reason == BYTE_LIMIT and not higher(old.max_bytes, new.max_bytes):
        # It stands below that limit: the page that would not fit is still the next one.
        return False
    return _room(job, new)


def _room(job: Job, limits: Limits) -> bool:
    """Whether the job may have more pages."""
    pages = limits.max_pages is None or limits.max_pages > job.counters.done
    size = limits.max_bytes is None or limits.max_bytes > job.counters.bytes
    return pages and size


async def start(
    tools: Tools,
    new: NewJob,
    *,
    fresh: bool = False,
    wait: bool = False,
    random: Callable[[int], bytes],
    on_wait: Callable[[Heartbeat], None],
    agree: Callable[[Job, Preview], None],
) -> Started:
    """Do what the command means. UsageError, SpecChanged or JobHeld where it can't be done.

    `agree` is told what other rules than the job had do to its queue, before anything of that is done; raising from it
    leaves all as it is.
    """
    now = tools.clock.wall()
    job = None if fresh else await tools.jobs.by_identity(new.identity)
    if job is not None:
        await finish_change(tools, job)
        job = await free(tools, job, new, wait=wait, on_wait=on_wait)
    if job is None:
        submit = tools.jobs.submit_fresh if fresh else tools.jobs.submit
        public_id = uuid7(int(now * 1000), random(10))
        seeds = tools.pipeline_of(new.kind, new.spec).seeds(new.spec, new.limits)
        return Started(await submit(new, seeds, public_id=public_id, phase=QUEUED, now=now), Step.SUBMIT)
    new, revision = taken_over(tools, job, new)
    told = None if revision is None else await preview(tools, job, new, revision)
    decision = decide(job, new, holder_lives=False, lets_in=told is not None and told.lets_in)
    if decision.step is Step.NOTHING:
        return Started(job, Step.NOTHING)
    if told is not None:
        agree(job, told)
    if decision.step is Step.EXTEND:
        # Before the limits: a crash in between leaves a job that goes on, not one whose limit was never raised again.
        await tools.jobs.extend(job.id, now=now)
    if decision.rebound:
        await tools.jobs.change(
            job.id,
            limits=new.limits,
            pace=new.pace,
            checkpoints=new.checkpoints,
            spec=new.spec,
            revision=revision,
        )
        await carry_on(tools, job.id)
    if decision.step in {Step.CLAIM, Step.RESUME}:
        await take_up(tools, job)
    return Started(await tools.ledger.job(job.id), decision.step)


async def take_up(tools: Tools, job: Job) -> None:
    """A person wants the job to go on: a stopped one is pending from here, and crashes are counted anew."""
    if job.status is Status.PENDING:
        # Its worker is gone, and some watchdog saw that: nobody but us has to be waited for.
        await tools.jobs.count_anew(job.id)
    else:
        await tools.jobs.resume(job.id, now=tools.clock.wall())


async def retry(tools: Tools, job: Job, which: Which) -> int:
    """The job's failed items that are meant wait to be tried again; gives how many. The job waits to be claimed then.

    A crash in here leaves a job that nobody can claim before somebody has carried this to its end.
    """
    await finish_change(tools, job)
    return await tools.jobs.retry(job.id, which, now=tools.clock.wall())


async def rescan(tools: Tools, job: Job, keep: int) -> Job:
    """A new run of a completed job, waiting to be claimed: its pages are asked for again.

    What the present run has of each file is looked at and made safe first: bodies in it are pointed to from now on. A
    crash in here leaves the job as it was, or one that nobody can claim before somebody has carried this to its end.
    """
    after(job.status, Action.RESCAN)
    await finish_change(tools, job)
    whole = {}
    for segment in await tools.ledger.segments(job.id):
        whole[segment.name] = min(segment.committed, await good_length(tools, job, segment))
        if segment.synced < whole[segment.name]:
            await asyncio.to_thread(tools.segments.settle, job, segment.name)
    seeds = tools.pipeline_of(job.kind, job.spec).seeds(job.spec, job.limits)
    now = tools.clock.wall()
    await tools.jobs.rescan(job.id, seeds, whole, keep=keep, phase=QUEUED, now=now)
    await finish_change(tools, job)
    return await tools.ledger.job(job.id)


async def roll_back(tools: Tools, job: Job, commit: int) -> Job:
    """The job as it stood at that commit, paused, as a new run. A crash in here leaves it as `rescan` does."""
    await finish_change(tools, job)
    past = await _past(tools, job, commit)
    await tools.jobs.roll_back(job.id, past, phase=QUEUED, now=tools.clock.wall())
    await finish_change(tools, job)
    return await tools.ledger.job(job.id)


async def fork(
    tools: Tools, job: Job, commit: int | None, *, name: str | None, random: Callable[[int], bytes]
) -> Job:
    """Another job as this one stood at that commit, paused. Its files are links to this one's, and outlive it.

    A crash in here leaves nothing, or a job that nobody can claim before somebody has carried this to its end.
    """
    await finish_change(tools, job)
    now = tools.clock.wall()
    public_id = uuid7(int(now * 1000), random(10))
    identity = f"fork:{public_id}" if name is None else f"name:{name}"
    past = await _past(tools, job, commit)
    fork_id = await tools.jobs.fork(
        job.id, past, public_id=public_id, named=(identity, name), phase=QUEUED, now=now
    )
    await finish_change(tools, await tools.ledger.job(fork_id))
    return await tools.ledger.job(fork_id)


async def _past(tools: Tools, job: Job, commit: int | None) -> Past:
    """What the job was at that commit, and how its rules have changed since: those of now are to hold."""
    job = await tools.ledger.job(job.id)
    was = await tools.jobs.run_with(job.id, commit)
    return Past(was.run, was.commit_no if commit is None else commit, revision_since(tools, was, job))


async def restart(tools: Tools, job: Job) -> Job:
    """The job from nothing, waiting to be claimed; one whose restart was interrupted comes to its end.

    Its files go while nobody can claim it: later they might be those of another claim. A crash in between leaves rows
    or bodies that nobody reads, and a job that says so.
    """
    seeds = tools.pipeline_of(job.kind, job.spec).seeds(job.spec, job.limits)
    await tools.jobs.empty(job.id)
    tools.segments.remove(job)
    return await tools.jobs.restart(job.id, seeds, phase=QUEUED, now=tools.clock.wall())


async def remove(tools: Tools, job: Job) -> None:
    """Forget the job with all that it has.

    Its files go before its rows: those say whose the files are, to whoever finishes a removal that a crash broke off.
    """
    await tools.jobs.forget(job.id)
    tools.segments.remove(job)
    await tools.jobs.remove(job.id)


async def finish_changes(tools: Tools) -> None:
    """Carry every change of the home that was interrupted to its end, but for restarts."""
    for job_id, change in (await tools.jobs.unfinished()).items():
        if change == "remove":
            await remove(tools, await tools.ledger.job(job_id))
        elif change != "restart":
            await finish_change(tools, await tools.ledger.job(job_id))


async def finish_change(tools: Tools, job: Job) -> None:
    """Carry a change that was interrupted to its end; HalfRestarted for a restart, which a person begins anew.

    Files come first: the plan in the ledger says which, to whoever comes after a crash.
    """
    await refuse_half_restarted(tools, job)
    await carry_on(tools, job.id)
    errand = await tools.jobs.errand(job.id)
    if errand is not None and errand.source is not None:
        await asyncio.to_thread(tools.segments.link, errand.source, errand.job, errand.names)
    elif errand is not None:
        await asyncio.to_thread(tools.segments.discard, errand.job, errand.names)
    await tools.jobs.finish_change(job.id)
    # What stood at a checkpoint is judged by the rules of now.
    await carry_on(tools, job.id)


async def refuse_half_restarted(tools: Tools, job: Job) -> None:
    """HalfRestarted if the job lost part of what it had, and what it says of itself is no longer true."""
    if (await tools.jobs.unfinished()).get(job.id) == "restart":
        raise HalfRestarted(job.short_id)


async def free(
    tools: Tools, job: Job, new: NewJob | None, *, wait: bool, on_wait: Callable[[Heartbeat], None]
) -> Job:
    """The job with no claim on it: a dead holder's is taken back at once, a living one's is waited for or refused."""
    watchdog = Watchdog(tools.ledger, tools.workers, tools.clock, tools.times)
    told = False
    while (holder := await tools.jobs.holder(job.id)) is not None:
        if new is not None:
            decide(job, taken_over(tools, job, new)[0], holder_lives=True)
        if tools.workers.lives(holder.worker_id) is False:
            why, silent = death(tools.workers, holder)
            await tools.ledger.recover(
                holder, why=why, stalled=False, rules=None, now=tools.clock.wall(), silent=silent
            )
        elif not wait:
            raise held(job, holder, "wait for it with --wait" if new is not None else None)
        else:
            if not told:
                on_wait(holder)
                told = True
            await watchdog.sweep()
            await asyncio.sleep(tools.times.poll_s)
    return await tools.ledger.job(job.id)


def held(job: Job, holder: Heartbeat | None, instead: str | None = None) -> JobHeld:
    """The refusal of a job that somebody else works on; nobody where that one is done by now.

    `instead` is what the command can do about it, where it can do anything.
    """
    if holder is None:
        return JobHeld(
            f"another process took job {job.short_id} a moment ago; see it with `holdfast show {job.short_id}`"
        )
    pause = f"stop it with `holdfast pause {job.short_id}`"
    return JobHeld(
        f"job {job.short_id} is being worked on by {_named(holder)}. "
        f"See it with `holdfast watch {job.short_id}`, or {instead or pause}."
    )


def _named(holder: Heartbeat) -> str:
    machine, pid, _ = holder.worker_id.split("/", 2)
    return f"process {pid} on {machine}"
