"""`holdfast report`: a job as one page."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast import __version__
from holdfast.cli.opened import in_home
from holdfast.cli.outcome import json_line
from holdfast.cli.params import FILE, common, job_argument
from holdfast.cli.screen import Silence, screen
from holdfast.cli.stderr import STDERR, console
from holdfast.cli.words import size
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Job

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.output.report.figures import Figures


@click.command()
@job_argument
@click.option(
    "-o", "--output", type=FILE, metavar="FILE", help="Where to write the page, such as report.html."
)
@click.option("--json", is_flag=True, help="The figures as one JSON object on stdout.")
@click.option(
    "--first-parents",
    is_flag=True,
    help="Name for each broken link only the page where it was found first; reads no stored page.",
)
@click.option("--quiet", is_flag=True, help="Nothing on stderr but warnings and errors.")
@common
def report(job: str | None, output: Path | None, json: bool, first_parents: bool, quiet: bool) -> None:
    """Write a job's figures and charts as one HTML page that needs nothing else.

    Pages over time with every kill and resume, statuses, depths, types, hosts, the slowest and biggest pages,
    broken links with the pages that hold them, redirects, duplicates, a map of the site, and what was left out.
    The file appears whole or not at all. A job that runs meanwhile is reported as far as it has come.
    """
    if output is None and not json:
        raise UsageError("name a file to write the report to, such as -o report.html, or take --json")
    if output is not None:
        _check(output)

    async def work(home: "Home") -> None:
        from holdfast.output.report.write import write

        found = await home.tools.jobs.find(job)
        shown = screen(quiet=quiet)
        with _progress(silent=isinstance(shown, Silence)) as progress:
            figures = await _figures(home, found, progress, read_links=not first_parents)
        if output is not None:
            made = write(figures, output)
            shown.say(f"wrote the report of job {found.short_id} to {output} ({size(made)}).")
        if json:
            click.echo(json_line(asdict(figures)))

    in_home(work)


def _check(output: Path) -> None:
    from holdfast.output.target import check_target

    if output.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            f"a report is a page: name it with the ending .html, as in {output.with_suffix('.html').name}"
        )
    check_target(output)


async def _figures(
    home: "Home", job: Job, progress: Callable[[str, int, int], None], *, read_links: bool
) -> "Figures":
    from holdfast.cli.essentials import essentials
    from holdfast.cli.pages import seen
    from holdfast.engine.start import refuse_half_restarted
    from holdfast.output.report.gather import Asked, Sources, gather

    await refuse_half_restarted(home.tools, job)
    tools = home.tools
    sources = Sources(
        tools.jobs,
        tools.ledger,
        tools.segments,
        tools.pipeline_of(job.kind, job.spec),
        tools.workers,
        tools.clock,
        seen,
    )
    return await gather(sources, job, Asked(read_links, essentials(job), __version__), progress)


@contextmanager
def _progress(*, silent: bool) -> Iterator[Callable[[str, int, int], None]]:
    if silent or not STDERR.isatty():
        yield lambda _doing, _done, _total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True, refresh_per_second=4) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda doing, done, total: bar.update(task, description=doing, completed=done, total=total)
