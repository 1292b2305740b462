"""`holdfast rescan`, `checkpoints`, `rollback` and `fork`: a job's runs, and going back in them."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.again import freed, prepared, run_options
from holdfast.cli.opened import home_words, in_home
from holdfast.cli.outcome import as_json, command, counted, json_line
from holdfast.cli.params import COUNT, common, job_argument
from holdfast.cli.words import clean, number, plural
from holdfast.domain.checkpoint import Checkpoint
from holdfast.domain.job import Job

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.bootstrap import Home
    from holdfast.cli.wanted import Output

KEPT = 3
_SHOWN = 20
_PAGE = 1_000


@click.command()
@job_argument
@click.option(
    "--keep",
    type=click.IntRange(min=2, max=10**6),
    default=KEPT,
    show_default=True,
    metavar="N",
    help="Keep the last N runs, this one included; older ones are removed.",
)
@click.option("--no-run", is_flag=True, help="Only begin the new run; `resume` carries it out.")
@run_options
@common
def rescan(
    job: str | None, *, keep: int, no_run: bool, output: "Output | None", json: bool, quiet: bool
) -> int:
    """Crawl a completed job again, here, and fetch only what has changed.

    The pages of its last run are asked for by their validators (ETag, Last-Modified); what has not changed is not
    sent again. `diff` shows the changes. The last run stays readable. The exit codes are those of crawl.
    """
    ask, shown = prepared(output, json=json, quiet=quiet)

    async def work(home: "Home") -> int:
        from holdfast.bootstrap import look_at_reach
        from holdfast.cli.foreground import listening, run_here
        from holdfast.engine.start import rescan as begin_anew

        here = await listening(shown, ask)
        found = await freed(home, await home.tools.jobs.find(job))
        if not no_run:
            look_at_reach(found, home.settings)
        fresh = await begin_anew(home.tools, found, keep)
        shown.say(
            f"run {fresh.run} of job {fresh.short_id}: asking again for what run {fresh.rescan_of} has: "
            f"{plural(fresh.counters.queued, 'address', 'addresses')}."
        )
        return 0 if no_run else await run_here(home, fresh, here)

    return in_home(work, runs=True)


@click.command()
@job_argument
@click.option("--run", type=COUNT, metavar="N", help="Those of run N instead of the last one.")
@click.option(
    "--last", type=COUNT, default=_SHOWN, show_default=True, metavar="N", help="The last N of them."
)
@click.option("--all", "everything", is_flag=True, help="All of them, the oldest first.")
@click.option("--json", is_flag=True, help="One JSON object per checkpoint and line.")
@common
def checkpoints(job: str | None, run: int | None, last: int, everything: bool, json: bool) -> None:
    """List a job's checkpoints: number, time, reason and counters.

    `rollback` and `fork` take the numbers.
    """

    async def work(home: "Home") -> None:
        found = await run_of(home, job, run)
        pages = _all(home, found) if everything else _last(home, found, last)
        async for page in pages:
            for one in page:
                click.echo(json_line(checkpoint_json(one)) if json else _line(one))

    in_home(work)


@click.command()
@click.argument("job", metavar="JOB")
@click.argument("commit", type=COUNT, metavar="COMMIT")
@click.option("--json", is_flag=True, help="Print one JSON object on stdout at the end.")
@common
def rollback(job: str, commit: int, json: bool) -> int:
    """Take a whole job back to one of its checkpoints, as a new run. It is paused then; `resume` goes on from there.

    The run before stays readable, and so do its checkpoints: rolling back to a later one of them brings it back.
    """

    async def work(home: "Home") -> int:
        from holdfast.engine.start import roll_back

        found = await freed(home, await home.tools.jobs.find(job))
        now = await roll_back(home.tools, found, commit)
        _tell(
            f"job {now.short_id} stands as it did at checkpoint {commit}: {counted(now)}. "
            f"That is run {now.run}; run {found.run} stays readable.",
            now,
            json=json,
        )
        return 0

    return in_home(work)


@click.command()
@job_argument
@click.argument("commit", required=False, type=COUNT, metavar="[COMMIT]")
@click.option("--name", metavar="N", help="Call the new job N.")
@click.option("--json", is_flag=True, help="Print one JSON object on stdout at the end.")
@common
def fork(job: str | None, commit: int | None, name: str | None, json: bool) -> int:
    """Make a new job that is what another one was at a checkpoint: at COMMIT, else at its last one.

    It is paused; `resume` goes on with it. Its files are hard links: they take no room, and outlive the other job.
    """
    if name is not None:
        from holdfast.cli.asking import checked_name

        checked_name(name)

    async def work(home: "Home") -> int:
        from holdfast.engine.start import fork as begin

        found = await freed(home, await home.tools.jobs.find(job))
        made = await begin(home.tools, found, commit, name=name, random=os.urandom)
        called = f" ({clean(name)})" if name else ""
        _tell(
            f"job {made.short_id}{called} is what job {found.short_id} was at checkpoint {made.commit_no}: "
            f"{counted(made)}.",
            made,
            json=json,
        )
        return 0

    return in_home(work)


def _tell(sentence: str, job: Job, *, json: bool) -> None:
    from holdfast.cli.complaints import say

    say(sentence)
    say(f"Go on with: {command('resume', job.short_id, *home_words())}")
    if json:
        click.echo(json_line(as_json(job)))


async def run_of(home: "Home", reference: str | None, run: int | None) -> Job:
    """The job, as one of its runs stands."""
    found = await home.tools.jobs.find(reference)
    return found if run is None else await home.tools.jobs.of_run(found.id, run)


async def _last(home: "Home", job: Job, count: int) -> "AsyncIterator[list[Checkpoint]]":
    yield await home.tools.jobs.checkpoints(job.id, count, run=job.run)


async def _all(home: "Home", job: Job) -> "AsyncIterator[list[Checkpoint]]":
    after = 0
    while page := await home.tools.ledger.commits(job.id, after=after, limit=_PAGE, run=job.run):
        yield page
        after = page[-1].number


def checkpoint_json(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint for programs."""
    from holdfast.cli.show import iso

    return asdict(checkpoint) | {"reason": checkpoint.reason.value, "at": iso(checkpoint.at)}


def _line(one: Checkpoint) -> str:
    from holdfast.cli.show import stamp

    counters = one.counters
    return (
        f"{number(one.number):>8}  {stamp(one.at)}  {one.reason.value:<8}  {plural(one.items, 'item'):>9}  "
        f"{number(counters.done)} done, {number(counters.queued)} queued, {number(counters.failed)} failed, "
        f"{number(counters.found)} found"
    )
