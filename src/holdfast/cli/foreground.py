"""Runs a job in this process, with its display, until it ends: what crawl, resume and restart share."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.complaints import say
from holdfast.cli.logs import HANDLER
from holdfast.cli.opened import home_words
from holdfast.cli.outcome import EXIT, as_json, command, ended, json_line
from holdfast.cli.screen import Screen
from holdfast.cli.view import Observer
from holdfast.domain.errors import HoldfastError, LeaseLost, StorageFailed, StorageFull
from holdfast.domain.job import Job
from holdfast.domain.states import Status
from holdfast.engine.run import run
from holdfast.engine.signals import SignalStop, heard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from holdfast.bootstrap import Home
    from holdfast.cli.view import AtWork
    from holdfast.cli.wanted import Output
    from holdfast.output.stream import Stream

    Handler = Callable[[int, FrameType | None], object] | signal.Handlers

REFRESH_S: Final = 0.25
_STOPPED_HERE: Final = 3


@dataclass(frozen=True, slots=True)
class Ask:
    """What is wanted of a run beside the crawl itself."""

    json: bool = False
    output: "Output | None" = None


@dataclass(frozen=True, slots=True)
class Here:
    """What a run has on this side: where it is shown, what stops it, what is wanted beside."""

    screen: Screen
    stop: SignalStop
    ask: Ask

    def at_work(self) -> "Mapping[str, int]":
        """Whom the run is asking now."""
        return self.stop.worker.hosts_at_work if self.stop.worker else {}


async def listening(screen: Screen, ask: Ask) -> Here:
    """Ctrl-C and the like are heard from here on. One that came before ends the command here, with nothing begun."""
    stop = SignalStop(
        on_first=lambda: screen.say("stopping once what is in flight is done; Ctrl-C again stops at once."),
        at_once=lambda: _leave(screen),
    )
    await asyncio.sleep(0)
    return Here(screen, stop, ask)


async def run_here(home: "Home", job: Job, here: Here) -> int:
    """Work on a pending job until it ends; say how, and give the exit code."""
    screen, ask = here.screen, here.ask
    HANDLER.context["job_id"] = job.short_id
    rows = _streams(home, job, ask)
    try:
        async with displayed(home, job, screen, here.at_work):
            job = await run(home.tools, job, home.worker_id(), here.stop, rows)
    except LeaseLost:
        job = await home.tools.ledger.job(job.id)
        if job.status is not Status.CANCELLED:
            raise
    except (StorageFull, StorageFailed):
        with suppress(HoldfastError):
            _answer(await home.tools.ledger.job(job.id), ask)
        raise
    _hear(signal.SIG_IGN)
    tallies = await home.tools.jobs.tallies(job.id) if job.status is Status.FAILED else []
    words = home_words() if ask.output is None else [*ask.output.words, *home_words()]
    # Even a quiet command says how it failed, or how to go on.
    tell = screen.say if job.status is Status.COMPLETED else say
    for sentence in ended(job, words, tallies):
        tell(sentence)
    return await finish(home, job, screen, ask, rows)


def _streams(home: "Home", job: Job, ask: Ask) -> "Stream | None":
    """The file that grows while the job runs, if that is what is wanted."""
    if ask.output is None:
        return None
    from holdfast.cli.export import stream

    return stream(home, job, ask.output)


async def finish(home: "Home", job: Job, screen: Screen, ask: Ask, rows: "Stream | None" = None) -> int:
    """Say what a rescan has found, write the output if there is room and time for it, answer, and give the exit code.

    That is 1 too for a damaged body.
    """
    damaged = 0
    changes = await _changes(home, job, screen)
    if ask.output is not None and _wants_output(job):
        from holdfast.cli.export import end, write

        # Writing may take long: Ctrl-C ends it, and leaves what was there before.
        _hear(signal.default_int_handler, signal.SIG_DFL)
        rows = rows or _streams(home, job, ask)
        try:
            if rows is not None:
                damaged = await end(rows, job, screen)
            else:
                damaged = await write(home, job, ask.output, screen)
        except BaseException:
            _answer(job, ask, changes)
            raise
        _hear(signal.SIG_IGN)
    _answer(job, ask, changes)
    return EXIT[job.status] or damaged


async def _changes(home: "Home", job: Job, screen: Screen) -> dict[str, int] | None:
    """What became of the pages that were asked for again, once all of them have been."""
    if job.rescan_of is None or job.status is not Status.COMPLETED:
        return None
    from holdfast.cli.diff import changes_of, summary

    counts = await changes_of(home, job)
    if counts is None:
        return None
    screen.say(f"since run {job.rescan_of}: {summary(counts)}. See them with: {_diff(job)}")
    return {change.value: count for change, count in counts.items()}


def _diff(job: Job) -> str:
    return command("diff", job.short_id, str(job.rescan_of), str(job.run), *home_words())


def _hear(interrupt: "Handler", end: "Handler | None" = None) -> None:
    """What signals do when the run has come to its end. An impatient one more changes nothing of that."""
    loop = asyncio.get_running_loop()
    held_back = signal.pthread_sigmask(signal.SIG_BLOCK, heard())
    try:
        for number in heard():
            # A loop that still knew of it would give it back to Python as it closes: Ctrl-C would break off the exit.
            loop.remove_signal_handler(number)
            signal.signal(number, interrupt if number is signal.SIGINT or end is None else end)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held_back)


def _wants_output(job: Job) -> bool:
    """Whatever the job has is worth having, unless the machine is going down or its disk is full."""
    return job.status is not Status.PENDING and job.reason != "disk"


def _answer(job: Job, ask: Ask, changes: "Mapping[str, int] | None" = None) -> None:
    if ask.json:
        click.echo(json_line(as_json(job) | ({} if changes is None else {"changes": dict(changes)})))


@asynccontextmanager
async def displayed(
    home: "Home", job: Job, screen: Screen, at_work: "AtWork | None" = None
) -> AsyncIterator[None]:
    """Show the job while the block lasts. A display that fails never fails the crawl."""
    jobs = home.another_jobs()
    observer = Observer(jobs, job.public_id, home.tools.clock, at_work)

    async def keep_showing() -> None:
        while True:
            with suppress(HoldfastError):
                screen.show(await observer.look())
            await asyncio.sleep(REFRESH_S)

    showing = asyncio.create_task(keep_showing())
    try:
        yield
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await showing
        screen.close()
        await jobs.close()


def _leave(screen: Screen) -> None:
    """At once: nothing that is committed needs us, and the next run finds that we are gone."""
    screen.abandon()
    with suppress(OSError):
        os.write(
            sys.stderr.fileno(),
            b"holdfast: stopped at once; what was committed is safe. Run the same command again.\n",
        )
    os._exit(_STOPPED_HERE)
