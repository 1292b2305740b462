"""`holdfast watch`."""

import asyncio
from typing import TYPE_CHECKING

import click

from holdfast.cli.complaints import say
from holdfast.cli.opened import home_words, in_home
from holdfast.cli.outcome import died, ended
from holdfast.cli.params import common, job_argument
from holdfast.domain.job import Job
from holdfast.domain.states import STOPPED, Status

if TYPE_CHECKING:
    from holdfast.bootstrap import Home


@click.command()
@job_argument
@common
def watch(job: str | None) -> int:
    """Watch a job that another process runs, until it stops or Ctrl-C. Watching never touches the job."""

    async def work(home: "Home") -> Job:
        return await _watch(home, await home.tools.jobs.find(job))

    try:
        stopped = in_home(work)
    except KeyboardInterrupt:
        return 0
    tell = (
        died(stopped, home_words())
        if stopped.status is Status.IN_PROGRESS
        else ended(stopped, home_words(), [])
    )
    for sentence in tell:
        say(sentence)
    return 0


async def _watch(home: "Home", job: Job) -> Job:
    from holdfast.cli.foreground import displayed
    from holdfast.cli.screen import screen

    shown = screen(quiet=False)
    async with displayed(home, job, shown):
        while not await _stopped(home, job):
            await asyncio.sleep(home.tools.times.poll_s)
            job = await home.tools.ledger.job(job.id)
    return job


async def _stopped(home: "Home", job: Job) -> bool:
    """Whether nobody works on it: it has come to an end, or its worker has."""
    if job.status in STOPPED or job.status is Status.PENDING:
        return True
    holder = await home.tools.jobs.holder(job.id)
    return holder is not None and home.tools.workers.lives(holder.worker_id) is False
