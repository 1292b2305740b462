"""`holdfast resume` and `restart`: a job that is there, run here."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.opened import in_home
from holdfast.cli.outcome import counted
from holdfast.cli.params import DURATION, FILE, common, job_argument
from holdfast.domain.job import Job
from holdfast.domain.states import Action, Status, after

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.bootstrap import Home
    from holdfast.cli.foreground import Ask
    from holdfast.cli.screen import Screen
    from holdfast.engine.signals import SignalStop


def _run_options(command: "Callable[..., int]") -> "Callable[..., int]":
    for option in (
        click.option("--quiet", is_flag=True, help="Nothing on stderr but warnings and errors."),
        click.option("--json", is_flag=True, help="Print one JSON object on stdout at the end."),
        click.option(
            "-o",
            "--output",
            type=FILE,
            metavar="FILE",
            help="Export to FILE at the end.",
        ),
    ):
        command = option(command)
    return command


@click.command()
@job_argument
@click.option(
    "--time-limit", type=DURATION, metavar="T", help="Allow so much active time from now on, such as 30m."
)
@_run_options
@common
def resume(job: str | None, time_limit: float | None, output: Path | None, json: bool, quiet: bool) -> int:
    """Go on with a stopped job, here, with the limits that it has.

    A time limit that ran out is granted once more; --time-limit sets another. Exit codes are those of crawl.
    """
    ask, shown = _prepared(output, json=json, quiet=quiet)

    async def work(home: "Home") -> int:
        from holdfast.cli.foreground import listening
        from holdfast.engine.start import finish_change, take_up

        stop = await listening(shown)
        found = await home.tools.jobs.find(job)
        await finish_change(home.tools, found)
        found = await _freed(home, found)
        if found.status is not Status.PENDING:
            after(found.status, Action.RESUME)
        if time_limit is not None:
            await home.tools.jobs.grant(found.id, time_limit)
        await take_up(home.tools, found)
        shown.say(f"resuming job {found.short_id} from checkpoint {found.commit_no}: {counted(found)}.")
        return await _run(home, found.id, shown, stop, ask)

    return in_home(work, runs=True)


@click.command()
@job_argument
@click.option("--no-run", is_flag=True, help="Only reset it; `resume` runs it later.")
@_run_options
@common
def restart(job: str | None, no_run: bool, output: Path | None, json: bool, quiet: bool) -> int:
    """Forget what a stopped job has, and start it from nothing. The exit codes are those of crawl."""
    ask, shown = _prepared(output, json=json, quiet=quiet)

    async def work(home: "Home") -> int:
        from holdfast.cli.foreground import listening
        from holdfast.engine.start import restart as begin_anew

        stop = await listening(shown)
        found = await _freed(home, await home.tools.jobs.find(job))
        fresh = await begin_anew(home.tools, found)
        shown.say(
            f"restarting job {fresh.short_id} from nothing; what it had ({counted(found)}) is forgotten."
        )
        return 0 if no_run else await _run(home, fresh.id, shown, stop, ask)

    return in_home(work, runs=True)


def _prepared(output: Path | None, *, json: bool, quiet: bool) -> "tuple[Ask, Screen]":
    from holdfast.cli.foreground import Ask
    from holdfast.cli.screen import screen

    if output is not None:
        from holdfast.cli.export import check

        check(output)
    return Ask(json, output), screen(quiet=quiet)


async def _freed(home: "Home", found: Job) -> Job:
    """The job, which nobody living works on."""
    from holdfast.engine.start import free

    return await free(home.tools, found, None, wait=False, on_wait=lambda _: None)


async def _run(home: "Home", job_id: int, shown: "Screen", stop: "SignalStop", ask: "Ask") -> int:
    from holdfast.cli.foreground import run_here

    return await run_here(home, await home.tools.ledger.job(job_id), shown, stop, ask)
