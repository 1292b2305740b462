"""`holdfast ls`."""

from typing import TYPE_CHECKING

import click

from holdfast.cli.complaints import EXIT_FAILED, say
from holdfast.cli.opened import in_home
from holdfast.cli.params import common
from holdfast.cli.words import clean, duration, number, rough
from holdfast.domain.errors import DamagedJob
from holdfast.domain.job import Job
from holdfast.domain.states import Status, parse_status

if TYPE_CHECKING:
    from holdfast.bootstrap import Home

_HEADS = ("JOB", "STATUS", "PAGES", "QUEUED", "FAILED", "ACTIVE", "AGE", "WHAT")
_RIGHT = frozenset({"PAGES", "QUEUED", "FAILED", "ACTIVE", "AGE"})


@click.command()
@click.option("--status", metavar="STATUS", help="Only those that stand there, such as paused.")
@click.option("--json", is_flag=True, help="One JSON object per job and line.")
@common
def ls(status: str | None, json: bool) -> int:
    """List the jobs, the latest first."""
    only = frozenset(Status) if status is None else {parse_status(status)}

    async def work(home: "Home") -> int:
        everything = await home.tools.jobs.all()
        jobs = [job for job in everything if isinstance(job, Job) and job.status in only]
        damaged = [job for job in everything if isinstance(job, DamagedJob)]
        if jobs:
            await _list(home, jobs, json=json)
        elif everything and not damaged and not json:
            say(f"no job is {' or '.join(only)}; `holdfast ls` lists them all.")
        elif not everything and not json:
            say("no jobs yet; start one with `holdfast crawl URL`.")
        for one in damaged:
            say(f"{one}.")
        return EXIT_FAILED if damaged else 0

    return in_home(work)


async def _list(home: "Home", jobs: list[Job], *, json: bool) -> None:
    if json:
        from holdfast.cli.outcome import as_json, json_line

        for job in jobs:
            click.echo(json_line(as_json(job)))
        return
    now = home.tools.clock.wall()
    rows = [(*_row(job, await standing(home, job), now),) for job in jobs]
    for line in columns(rows):
        click.echo(line)


async def standing(home: "Home", job: Job) -> str:
    """The status, with its reason; a job whose worker died is told apart from one that is worked on."""
    if job.status is Status.IN_PROGRESS:
        holder = await home.tools.jobs.holder(job.id)
        if holder is not None and home.tools.workers.lives(holder.worker_id) is False:
            return "in_progress (its worker died)"
        return "in_progress (pausing)" if job.desired == "pause" else job.status.value
    return f"{job.status} ({clean(job.reason, 40)})" if job.reason else job.status.value


def columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Aligned lines with their heads; no line ends in blanks."""
    table = [_HEADS, *rows]
    widths = [max(len(row[index]) for row in table) for index in range(len(_HEADS))]
    return [
        "  ".join(
            cell.rjust(width) if head in _RIGHT else cell.ljust(width)
            for cell, width, head in zip(row, widths, _HEADS, strict=True)
        ).rstrip()
        for row in table
    ]


def _row(job: Job, stands: str, now: float) -> tuple[str, ...]:
    urls = job.spec.get("start_urls", ())
    first = clean(str(urls[0]), 60) if urls else job.kind
    more = f" +{len(urls) - 1}" if len(urls) > 1 else ""
    named = f"{clean(job.name, 40)}: " if job.name else ""
    counters = job.counters
    return (
        job.short_id,
        stands,
        number(counters.done),
        number(counters.queued),
        number(counters.failed),
        duration(job.active_s),
        rough(now - job.created_at),
        f"{named}{first}{more}",
    )
