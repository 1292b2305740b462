"""`holdfast verify`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from holdfast.cli.complaints import EXIT_FAILED
from holdfast.cli.opened import in_home
from holdfast.cli.outcome import json_line
from holdfast.cli.params import COUNT, common, job_argument
from holdfast.cli.runs import run_of
from holdfast.cli.stderr import STDERR, console
from holdfast.cli.words import clean, plural, size
from holdfast.domain.job import Job

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.engine.verify import Verification

_LINE_CHARS: Final = 400


@click.command()
@job_argument
@click.option("--run", type=COUNT, metavar="N", help="Run N instead of the last one.")
@click.option("--json", is_flag=True, help="One JSON object on stdout.")
@common
def verify(job: str | None, run: int | None, json: bool) -> int:
    """Read everything that a job committed again, and check it against itself.

    Each page has one whole record with its digest, each stored response one outcome, each link of a stored
    page an item or a counted rejection, each counter its rows. Exit 1, with a list, where that doesn't hold.
    """

    async def work(home: "Home") -> int:
        from holdfast.engine.verify import verify as check

        found = await run_of(home, job, run)
        with _progress() as progress:
            verification = await check(home.tools, found, progress=progress)
        if json:
            click.echo(json_line(as_json(found, verification)))
        else:
            for line in lines(found, verification):
                click.echo(line)
        return 0 if verification.holds else EXIT_FAILED

    return in_home(work)


def as_json(job: Job, verification: "Verification") -> dict[str, Any]:
    """What was checked and what didn't hold, for programs."""
    return {"job": job.public_id, "holds": verification.holds} | asdict(verification)


def lines(job: Job, verification: "Verification") -> Iterator[str]:
    """The same for people: the list first, the verdict last."""
    for one in verification.discrepancies:
        yield clean(f"{one.kind}: {one.subject}: {one.detail}", _LINE_CHARS)
    unseen = verification.total - len(verification.discrepancies)
    if unseen > 0:
        yield f"... and {unseen:,} more"
    links = plural(verification.links, "link")
    read = f"{plural(verification.pages, 'page')}, {links}, {size(verification.bytes)}"
    if verification.holds:
        yield f"job {job.short_id} holds what was promised: {read} read again, and all agree."
    else:
        wrong = plural(verification.total, "thing doesn't", "things don't")
        yield f"job {job.short_id} does not hold what was promised: {wrong} agree."


@contextmanager
def _progress() -> "Iterator[Callable[[int, int], None] | None]":
    if not STDERR.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True, refresh_per_second=4) as bar:
        task = bar.add_task("", total=None)
        yield lambda read, total: bar.update(task, completed=read, total=total)
