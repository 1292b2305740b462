"""`holdfast resume`, `retry` and `restart`: a job that is there, run here."""

from typing import TYPE_CHECKING

import click

from holdfast.cli.opened import in_home
from holdfast.cli.outcome import counted
from holdfast.cli.params import DURATION, common, job_argument
from holdfast.cli.wanted import FORMAT, OUTPUT, Output
from holdfast.cli.words import clean, plural
from holdfast.domain.errors import AccessRefused, DamagedJob, HalfRestarted, JobHeld, UsageError
from holdfast.domain.failures import Which
from holdfast.domain.job import Job
from holdfast.domain.states import Action, Status, after

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.bootstrap import Home
    from holdfast.cli.foreground import Ask, Here
    from holdfast.cli.screen import Screen


def run_options(command: "Callable[..., int]") -> "Callable[..., int]":
    """What is wanted of a run beside the crawl itself."""
    for option in (
        click.option("--quiet", is_flag=True, help="Nothing on stderr but warnings and errors."),
        click.option("--json", is_flag=True, help="Print one JSON object on stdout at the end."),
        click.option("--format", **FORMAT),
        click.option("-o", "--output", help="Write the pages to FILE, as crawl does.", **OUTPUT),
    ):
        command = option(command)
    return command


@click.command()
@job_argument
@click.option(
    "--time-limit", type=DURATION, metavar="T", help="Allow so much active time from now on, such as 30m."
)
@click.option(
    "--interrupted",
    is_flag=True,
    help="Instead of one job: each that a crash or a shutdown interrupted, one after the other.",
)
@run_options
@common
def resume(
    job: str | None,
    *,
    time_limit: float | None,
    interrupted: bool,
    output: Output | None,
    json: bool,
    quiet: bool,
) -> int:
    """Go on with a stopped job, here, with the limits that it has.

    A time limit that ran out is granted once more; --time-limit sets another. Exit codes are those of crawl.

    With --interrupted (for whatever starts services when a machine comes up) paused jobs stay paused, and the exit code
    is the greatest of all.
    """
    if interrupted and (job or time_limit or output):
        raise UsageError(
            "--interrupted takes neither a JOB nor --time-limit nor -o: it means every interrupted job"
        )
    ask, shown = prepared(output, json=json, quiet=quiet)

    async def work(home: "Home") -> int:
        from holdfast.cli.foreground import listening

        here = await listening(shown, ask)
        return await _resume(home, await home.tools.jobs.find(job), time_limit, here)

    async def work_on_all(home: "Home") -> int:
        return await _resume_interrupted(home, shown, ask)

    return in_home(work_on_all if interrupted else work, runs=True)


async def _resume(home: "Home", found: Job, time_limit: float | None, here: "Here") -> int:
    from holdfast.bootstrap import look_at_reach
    from holdfast.cli.foreground import run_here
    from holdfast.engine.start import finish_change, take_up

    look_at_reach(found, home.settings)
    await finish_change(home.tools, found)
    found = await freed(home, found)
    if found.status is not Status.PENDING:
        after(found.status, Action.RESUME)
    if time_limit is not None:
        await home.tools.jobs.grant(found.id, time_limit)
    await take_up(home.tools, found)
    here.screen.say(f"resuming job {found.short_id} from checkpoint {found.commit_no}: {counted(found)}.")
    return await run_here(home, await home.tools.ledger.job(found.id), here)


async def _resume_interrupted(home: "Home", shown: "Screen", ask: "Ask") -> int:
    from holdfast.cli.complaints import tell
    from holdfast.cli.foreground import listening

    worst = 0
    waiting = await _interrupted(home)
    if not waiting:
        shown.say("no job is interrupted.")
    for job in waiting:
        here = await listening(shown, ask)
        try:
            code = await _resume(home, job, None, here)
        except (JobHeld, HalfRestarted, DamagedJob, AccessRefused) as error:
            code = tell(error, {})
        worst = max(worst, code)
        if here.stop.asked:
            break
    return worst


async def _interrupted(home: "Home") -> list[Job]:
    """Jobs that wait for a worker, or whose worker is dead; the oldest first."""
    found = []
    for job in reversed(await home.tools.jobs.all()):
        if not isinstance(job, Job):
            continue
        holder = await home.tools.jobs.holder(job.id)
        died = holder is not None and home.tools.workers.lives(holder.worker_id) is False
        if died or job.status is Status.PENDING:
            found.append(job)
    return found


@click.command()
@job_argument
@click.option("--no-run", is_flag=True, help="Only reset it; `resume` runs it later.")
@run_options
@common
def restart(job: str | None, no_run: bool, output: Output | None, json: bool, quiet: bool) -> int:
    """Forget what a stopped job has, and start it from nothing. The exit codes are those of crawl."""
    ask, shown = prepared(output, json=json, quiet=quiet)

    async def work(home: "Home") -> int:
        from holdfast.bootstrap import look_at_reach
        from holdfast.cli.foreground import listening, run_here
        from holdfast.engine.start import restart as begin_anew

        here = await listening(shown, ask)
        found = await freed(home, await home.tools.jobs.find(job))
        if not no_run:
            look_at_reach(found, home.settings)
        fresh = await begin_anew(home.tools, found)
        shown.say(
            f"restarting job {fresh.short_id} from nothing; what it had ({counted(found)}) is forgotten."
        )
        return 0 if no_run else await run_here(home, fresh, here)

    return in_home(work, runs=True)


@click.command()
@job_argument
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only those that fit: reason=WORD, status=NUMBER, host=NAME or url~=RE. Given again, all must hold.",
)
@click.option("--no-run", is_flag=True, help="Only put them back; `resume` runs the job later.")
@run_options
@common
def retry(
    job: str | None, *, where: tuple[str, ...], no_run: bool, output: Output | None, json: bool, quiet: bool
) -> int:
    """Try a stopped job's failed pages again, here: all, or those that fit.

    `show` lists the causes, `show --failed` the pages. The exit codes are those of crawl.
    """
    which = Which.asked(where)
    ask, shown = prepared(output, json=json, quiet=quiet)

    async def work(home: "Home") -> int:
        from holdfast.bootstrap import look_at_reach
        from holdfast.cli.foreground import finish, listening, run_here
        from holdfast.engine.start import retry as put_back

        here = await listening(shown, ask)
        found = await freed(home, await home.tools.jobs.find(job))
        if not no_run:
            look_at_reach(found, home.settings)
        count = await put_back(home.tools, found, which)
        found = await home.tools.ledger.job(found.id)
        if not count:
            shown.say(_nothing_failed(found, which))
            return await finish(home, found, shown, ask)
        shown.say(f"trying {plural(count, 'failed page')} of job {found.short_id} again.")
        return 0 if no_run else await run_here(home, found, here)

    return in_home(work, runs=True)


def _nothing_failed(job: Job, which: Which) -> str:
    failed = plural(job.counters.failed, "page has failed", "pages have failed")
    if not job.counters.failed:
        return f"job {job.short_id} has no failed pages; there is nothing to try again."
    return f"no failed page of job {job.short_id} fits {clean(str(which))}, or is within its depth limit; {failed}."


def prepared(output: Output | None, *, json: bool, quiet: bool) -> "tuple[Ask, Screen]":
    """What those options ask for, looked at, and where the run is shown."""
    from holdfast.cli.foreground import Ask
    from holdfast.cli.screen import screen

    if output is not None:
        output.check()
    return Ask(json, output), screen(quiet=quiet)


async def freed(home: "Home", found: Job) -> Job:
    """The job, which nobody living works on."""
    from holdfast.engine.start import free

    return await free(home.tools, found, None, wait=False, on_wait=lambda _: None)
