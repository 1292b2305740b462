"""`holdfast chaos`: crawls, kills its own crawl at random moments, resumes it each time, and counts what that cost."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.complaints import EXIT_FAILED, say
from holdfast.cli.crawl import crawl
from holdfast.cli.opened import in_home
from holdfast.cli.outcome import counted, json_line
from holdfast.cli.params import FILE, common
from holdfast.cli.words import plural
from holdfast.domain.errors import UnknownJob, UsageError
from holdfast.domain.job import Job

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from holdfast.bootstrap import Home
    from holdfast.ports.jobs import Jobs

_LOOK_EVERY_S: Final = 0.01
_AT_MOST_LATER_S: Final = 0.1
_EARLIEST, _LATEST = 0.02, 0.95
_OURS: Final = frozenset({"--name", "--fresh", "--wait", "-o", "--output", "--format", "--json", "--quiet"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be crawled, and how roughly."""

    words: tuple[str, ...]
    """Start URLs and options, as `crawl` takes them."""
    kills: int
    rng: random.Random
    compare: bool
    access_log: Path | None


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="URL... [OPTIONS OF CRAWL]")
@click.option(
    "--kills",
    type=click.IntRange(1, 10_000),
    default=5,
    show_default=True,
    metavar="N",
    help="Kill it so often.",
)
@click.option("--seed", type=int, metavar="N", help="The same seed kills at about the same moments.")
@click.option(
    "--compare/--no-compare",
    default=True,
    show_default=True,
    help="Crawl once more without a kill, and compare the pages.",
)
@click.option(
    "--access-log",
    type=FILE,
    metavar="FILE",
    help="The site's own access log (common or combined format), to count what was fetched again.",
)
@click.option("--json", is_flag=True, help="Print the proof as one JSON object on stdout.")
@common
def chaos(
    words: tuple[str, ...],
    *,
    kills: int,
    seed: int | None,
    compare: bool,
    access_log: Path | None,
    json: bool,
) -> int:
    """Crawl while killing the crawl, and prove that nothing was lost.

    The crawl is a process of its own, which is killed with SIGKILL at random moments and started again with the same
    command. In the end the job is verified, its export is counted, and it is compared with a crawl that nobody
    disturbed. Both jobs stay in the home, to be looked at. Exit code 1 if anything doesn't hold.
    """
    _refuse_ours(words)
    if access_log is not None and not access_log.is_file():
        raise UsageError(
            f"there is no access log {access_log}; name the file to which the site's server writes"
        )
    asked = Asked(words, kills, random.Random(seed), compare, access_log)  # noqa: S311 - no cryptography

    async def work(home: "Home") -> int:
        return await _prove(home, asked, as_json=json)

    return in_home(work, create=True, runs=True)


def _refuse_ours(words: Sequence[str]) -> None:
    """UsageError for what `crawl` would refuse, and for options that chaos needs for itself."""
    for word in words:
        if word.partition("=")[0] in _OURS:
            raise UsageError(f"chaos sets {word.partition('=')[0]} itself; leave it out")
    with crawl.make_context("chaos", list(words), parent=click.get_current_context()):
        pass


async def _prove(home: "Home", asked: Asked, *, as_json: bool) -> int:
    from holdfast.cli.proof import Log, prove

    log = Log.of(asked.access_log)
    name = f"chaos-{os.urandom(3).hex()}"
    jobs = home.another_jobs()
    try:
        killed, code = await _tormented(home, jobs, asked, name)
        if code:
            say(f"the crawl ended with exit code {code} and not for its kills: there is nothing to prove.")
            return code
        job = await jobs.find(name)
        served = log.read()
        undisturbed = await _undisturbed(home, jobs, asked, f"{name}-undisturbed") if asked.compare else None
    finally:
        await jobs.close()
    if killed < asked.kills:
        say(
            f"the crawl came to its end after {plural(killed, 'kill')}: a larger site can be killed more often."
        )
    proof = await prove(home, job, killed, undisturbed=undisturbed, served=served)
    if as_json:
        click.echo(json_line(proof.as_json()))
    else:
        for line in proof.lines():
            click.echo(line)
    return 0 if proof.holds else EXIT_FAILED


async def _tormented(home: "Home", jobs: "Jobs", asked: Asked, name: str) -> tuple[int, int]:
    """Start, kill, start again, until it comes to its end: how often it was killed, and how it ended."""
    killed = 0
    moments = sorted(asked.rng.uniform(_EARLIEST, _LATEST) for _ in range(asked.kills))
    for moment in moments:
        async with _crawling(home, asked, name) as child:
            if await _comes_to(jobs, name, child, moment):
                await asyncio.sleep(asked.rng.uniform(0.0, _AT_MOST_LATER_S))
            if child.returncode is not None:
                return killed, child.returncode
            child.send_signal(signal.SIGKILL)
            await child.wait()
        killed += 1
        job = await _find(jobs, name)
        say(f"kill {killed} of {asked.kills}" + (f": {_stands(job)}." if job else ", before it had begun."))
    async with _crawling(home, asked, name) as child:
        return killed, await child.wait()


def _stands(job: Job) -> str:
    return f"checkpoint {job.commit_no} stands, {counted(job)}"


async def _undisturbed(home: "Home", jobs: "Jobs", asked: Asked, name: str) -> Job | None:
    say("crawling once more, without a kill, to compare.")
    async with _crawling(home, asked, name) as child:
        if await child.wait():
            return None
    return await jobs.find(name)


@asynccontextmanager
async def _crawling(home: "Home", asked: Asked, name: str) -> "AsyncIterator[Process]":
    """The crawl as a process in a session of its own: Ctrl-C is for us, and we see to it that it ends."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast", "--home", str(home.path)),
        *("crawl", *asked.words, "--name", name, "--quiet"),
        stdin=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGTERM)
            await child.wait()


async def _comes_to(jobs: "Jobs", name: str, child: "Process", moment: float) -> bool:
    """Until so much of what is known is done, and something of it by this very process; False if it ended before."""
    before: int | None = None
    while child.returncode is None:
        job = await _find(jobs, name)
        if job is not None:
            before = job.commit_no if before is None else before
            known = job.counters.done + job.counters.queued
            if job.commit_no > before and job.counters.done >= moment * known:
                return True
        await asyncio.sleep(_LOOK_EVERY_S)
    return False


async def _find(jobs: "Jobs", name: str) -> Job | None:
    try:
        return await jobs.find(name)
    except UnknownJob:
        return None
