"""`holdfast pause`, `cancel` and `rm`: wishes about a job, whoever works on it."""

import asyncio
import sys
from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.complaints import say
from holdfast.cli.opened import home_words, in_home
from holdfast.cli.outcome import command, counted
from holdfast.cli.params import common, job_argument
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Job
from holdfast.domain.states import Action, Status, after

if TYPE_CHECKING:
    from holdfast.bootstrap import Home

_POLL_S: Final = 0.1
_PATIENCE_S: Final = 10.0
"""Beyond what a worker may take to drain what is in flight."""


@click.command()
@job_argument
@common
def pause(job: str | None) -> int:
    """Pause a running job: what is in flight is finished and committed, then it stops.

    It stays paused, whatever happens to the machine, until it is resumed.
    """

    async def work(home: "Home") -> int:
        return await _pause(home, await home.tools.jobs.find(job))

    return in_home(work)


@click.command()
@job_argument
@common
def cancel(job: str | None) -> int:
    """Stop a job for good. What it has stays readable; `restart` starts it from nothing."""

    async def work(home: "Home") -> int:
        found = await home.tools.jobs.find(job)
        holder = await home.tools.jobs.holder(found.id)
        stopped = await home.tools.jobs.cancel(found.id, now=home.tools.clock.wall())
        if holder is not None:
            await _gone(home, holder.worker_id)
        say(f"job {stopped.short_id} is cancelled, with what it has kept: {counted(stopped)}.")
        return 0

    return in_home(work)


@click.command()
@job_argument
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@common
def rm(job: str | None, yes: bool) -> int:
    """Remove a job with its pages and segments. A job that is being worked on is left alone."""

    async def work(home: "Home") -> int:
        from holdfast.engine.start import finish_changes, free, remove

        await finish_changes(home.tools)
        found = await home.tools.jobs.find(job)
        await free(home.tools, found, None, wait=False, on_wait=lambda _: None)
        if not yes:
            _confirm(found)
        await remove(home.tools, found)
        say(f"removed job {found.short_id}: {counted(found)}.")
        return 0

    return in_home(work)


async def _pause(home: "Home", job: Job) -> int:
    jobs, tools = home.tools.jobs, home.tools
    deadline = tools.clock.monotonic() + tools.times.drain_s + _PATIENCE_S
    told = False
    while job.status is Status.IN_PROGRESS or not told:
        holder = await jobs.holder(job.id)
        lives = holder is not None and tools.workers.lives(holder.worker_id) is not False
        if not told or not lives:
            after(job.status, Action.PAUSE)
            job = await jobs.pause(job.id, now=tools.clock.wall(), dead=None if lives else holder)
            told = True
        elif tools.clock.monotonic() >= deadline:
            say(f"job {job.short_id} was asked to pause, but has not done so yet; see `holdfast show`.")
            return 1
        else:
            await asyncio.sleep(_POLL_S)
        job = await tools.ledger.job(job.id)
    if job.status is Status.PAUSED:
        resume = command("resume", job.short_id, *home_words())
        say(f"job {job.short_id} is paused at checkpoint {job.commit_no}: {counted(job)}.")
        say(f"Resume with: {resume}")
        return 0
    raise UsageError(
        f"job {job.short_id} is {job.status} by now, so there is nothing to pause; see `holdfast show`"
    )


async def _gone(home: "Home", worker_id: str) -> None:
    """Until a living worker has heard that its lease is lost. It is fenced off already, so this only waits.

    For a process that can't wake this one: hence the polling.
    """
    deadline = home.tools.clock.monotonic() + _PATIENCE_S
    while home.tools.workers.lives(worker_id) and home.tools.clock.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(_POLL_S)


def _confirm(job: Job) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            f"this removes job {job.short_id} with {counted(job)}; say --yes to do it without a terminal"
        )
    if not click.confirm(f"Remove job {job.short_id} with {counted(job)}?", err=True):
        raise UsageError(f"job {job.short_id} was not removed")
