"""`holdfast crawl`."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.asking import asked_for
from holdfast.cli.fromfile import FromFile, blamed, chosen, urls_of
from holdfast.cli.opened import in_home, settings_here
from holdfast.cli.options import crawl_options
from holdfast.cli.outcome import counted
from holdfast.cli.params import common
from holdfast.cli.words import clean, plural
from holdfast.domain.errors import JobHeld, UsageError
from holdfast.domain.job import Job, NewJob
from holdfast.domain.lease import Heartbeat

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.cli.foreground import Ask
    from holdfast.cli.screen import Screen
    from holdfast.engine.revising import Preview
    from holdfast.engine.start import Started


@click.command(cls=FromFile)
@click.argument("urls", nargs=-1, metavar="URL...|NAME", callback=urls_of)
@crawl_options
@common
def crawl(urls: tuple[str, ...], **options: Any) -> int:  # noqa: ANN401 - as click names them, see cli.options
    """Crawl a site, here, until it is done: from its URLs, or as a holdfast.toml says under NAME.

    The same command again resumes: a job is known by its --name, else by its start URLs. Other limits, scope and
    patterns are applied to it, once you have seen what they do to its queue and agreed. Ctrl-C pauses; a second one
    stops at once, and loses nothing that was committed.

    \b
    Exit codes: 0 completed, 1 failed, 2 wrong usage or state, 3 paused or shut down,
                4 time limit reached, 5 cancelled
    """  # noqa: D301 - click wants a real backspace there
    context = click.get_current_context()
    try:
        new = asked_for(urls, options)
    except UsageError as error:
        raise blamed(error, context) from None
    return carried_out(new, options)


def carried_out(new: NewJob, options: Mapping[str, Any]) -> int:
    """Work on the job that was asked for, here, until it ends; gives the exit code."""
    from holdfast.cli.foreground import Ask

    output = options["output"]
    if output is not None:
        output.check()

    from holdfast.bootstrap import look_at_reach

    look_at_reach(new, settings_here())

    if options["dry_run"]:
        from holdfast.cli.dryrun import dry_run

        return dry_run(new, options)

    async def work(home: "Home") -> int:
        return await _crawl(home, new, options, Ask(options["json"], output))

    return in_home(work, create=True, runs=True)


async def _crawl(home: "Home", new: NewJob, options: Mapping[str, Any], ask: "Ask") -> int:
    from holdfast.cli.foreground import finish, listening, run_here
    from holdfast.cli.screen import screen
    from holdfast.engine.start import Step

    shown = screen(quiet=options["quiet"])
    here = await listening(shown, ask)
    found = chosen(click.get_current_context())
    if found is not None and found.defaults:
        shown.say(f"options from {found.said}.")
    while True:
        started = await _start(home, new, options, shown)
        if started.step is Step.NOTHING:
            shown.say(_complete_already(started.job))
            # Its rows may be asked for otherwise than they were.
            return await finish(home, replace(started.job, spec=new.spec), shown, ask)
        shown.say(_begins(started))
        _keeps(started.job, new, shown)
        try:
            return await run_here(home, started.job, here)
        except JobHeld:
            # Two processes, one command: the other one claimed it first.
            if not options["wait"]:
                raise


async def _start(home: "Home", new: NewJob, options: Mapping[str, Any], shown: "Screen") -> "Started":
    from holdfast.cli.changed import agree
    from holdfast.engine.start import start

    def waits(holder: Heartbeat) -> None:
        machine, pid, _ = holder.worker_id.split("/", 2)
        shown.say(f"process {pid} on {machine} works on this job; waiting for it to end.")

    def agrees(job: Job, preview: "Preview") -> None:
        agree(preview, job, shown, yes=options["yes"])

    return await start(
        home.tools,
        new,
        fresh=options["fresh"],
        wait=options["wait"],
        random=os.urandom,
        on_wait=waits,
        agree=agrees,
    )


def _begins(started: "Started") -> str:
    from holdfast.engine.start import Step

    job = started.job
    if started.step is Step.EXTEND:
        return f"going on with job {job.short_id} beyond its old limit: {counted(job)}."
    if job.commit_no:
        return f"resuming job {job.short_id} from checkpoint {job.commit_no}: {counted(job)}."
    urls = job.spec["start_urls"]
    more = f" and {plural(len(urls) - 1, 'other')}" if len(urls) > 1 else ""
    pace = f", {job.pace.delay_s:g} s between requests to a host" if job.pace.delay_s else ""
    doing = "crawling" if "scope" in job.spec else f"{job.kind}, from"
    return f"job {job.short_id}: {doing} {clean(urls[0])}{more}{pace}."


def _keeps(job: Job, new: NewJob, shown: "Screen") -> None:
    if job.durability is not new.durability:
        shown.say(f"job {job.short_id} keeps the durability that it began with ({job.durability}).")


def _complete_already(job: Job) -> str:
    at = f" at its {job.reason}" if job.reason else ""
    more = "a higher limit lets it go on" if job.reason else "--fresh starts a new one"
    return f"job {job.short_id} is completed already{at}: {counted(job)}. Nothing to fetch; {more}."
