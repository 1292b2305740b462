"""`holdfast export`, and the same for `-o`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.opened import in_home
from holdfast.cli.options import FIELD, FIELD_HOW
from holdfast.cli.params import COUNT, FILE, common, job_argument
from holdfast.cli.screen import Screen, screen
from holdfast.cli.stderr import STDERR, console
from holdfast.cli.words import plural, size
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Job
from holdfast.domain.states import Status

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.output.export import Source
    from holdfast.output.stream import Stream

_DAMAGED_SHOWN = 3


@click.command()
@job_argument
@click.option(
    "-o",
    "--output",
    required=True,
    type=FILE,
    metavar="FILE",
    help="Where to; the ending says how: .jsonl, .jsonl.gz, .csv, .parquet or .warc.gz.",
)
@click.option("--run", type=COUNT, metavar="N", help="As run N has it, instead of the last one.")
@click.option(*FIELD, **FIELD_HOW)
@click.option("--quiet", is_flag=True, help="Nothing on stderr but warnings and errors.")
@common
def export(job: str | None, output: Path, *, run: int | None, fields: tuple[str, ...], quiet: bool) -> int:
    """Write a job's pages to a file, each page once.

    The file appears whole or not at all; one that stands there is replaced only when the new one is complete.
    A job that runs meanwhile is exported as far as it has come.
    --field adds to the job's own fields; one of the same name takes its place. Nothing is fetched for it.
    """
    check(output)
    if fields:
        from holdfast.pipelines.site.rows import extractor

        extractor(fields)
        _refuse_without_rows(output)

    async def work(home: "Home") -> int:
        from holdfast.cli.runs import run_of

        return await write(home, await run_of(home, job, run), output, screen(quiet=quiet), fields)

    return in_home(work)


def _refuse_without_rows(output: Path) -> None:
    from holdfast.output.formats import WARC, ending_of

    if ending_of(output) == WARC:
        raise UsageError(
            f"--field makes columns, and {output.name} has the exchanges as they are; name a .jsonl, say"
        )


def check(output: Path) -> None:
    """UsageError if that file can't be written; asked before any work."""
    from holdfast.output.formats import ending_of
    from holdfast.output.target import check_target

    ending_of(output)
    check_target(output)


async def write(home: "Home", job: Job, output: Path, shown: Screen, fields: Sequence[str] = ()) -> int:
    """Write the job's results, with `fields` beside its own; the exit code is 1 if a stored body is damaged."""
    from holdfast.cli.pages import pages
    from holdfast.engine.start import refuse_half_restarted
    from holdfast.output.export import export, warc_bytes
    from holdfast.output.formats import WARC

    await refuse_half_restarted(home.tools, job)
    read_from = source(home)
    raw = output.name.lower().endswith(WARC)
    total = await warc_bytes(read_from, job) if raw else job.counters.done
    with _progress(total, shown, in_bytes=raw) as advance:
        exported = await export(read_from, job, pages(job, fields), output, advance)
    what = f"{plural(exported.count, exported.unit)} to {exported.path}"
    shown.say(_said(job, what, exported.bytes))
    return _damage(exported.damaged)


def stream(home: "Home", job: Job, output: Path) -> "Stream | None":
    """A file of rows that grows while the job runs; None for a format that has to be written as a whole."""
    from holdfast.cli.pages import pages
    from holdfast.output.formats import ending_of
    from holdfast.output.stream import ENDING, Stream

    return Stream(source(home), job, pages(job), output) if ending_of(output) == ENDING else None


async def end(rows: "Stream", job: Job, shown: Screen) -> int:
    """Bring a file that grew with the job to its end; the exit code is 1 if a stored body turned out to be damaged."""
    try:
        stands = await rows.finish(job)
    finally:
        rows.close()
    shown.say(_said(job, f"{plural(stands.rows, 'page')} to {rows.path}", stands.bytes))
    return _damage(rows.damaged)


def source(home: "Home") -> "Source":
    """Where the home's results are read from."""
    from holdfast.output.export import Source

    return Source(home.tools.jobs, home.tools.ledger, home.tools.segments, home.segment_path)


def _said(job: Job, what: str, size_bytes: int) -> str:
    so_far = (
        "" if job.status in {Status.COMPLETED, Status.CANCELLED} else f", as far as the job is ({job.status})"
    )
    return f"wrote {what} ({size(size_bytes)}){so_far}."


def _damage(damaged: "Sequence[str]") -> int:
    if not damaged:
        return 0
    from holdfast.cli.complaints import say

    count = plural(len(damaged), "page stands", "pages stand")
    say(f"{count} in the file without text, because the stored body is damaged; see `holdfast verify`:")
    for line in damaged[:_DAMAGED_SHOWN]:
        say(f"  {line}")
    return 1


@contextmanager
def _progress(total: int, shown: Screen, *, in_bytes: bool) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; nothing elsewhere: the sentence at the end says all."""
    from holdfast.cli.screen import Silence

    if isinstance(shown, Silence) or not STDERR.isatty():
        yield lambda _: None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("exporting"), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True, refresh_per_second=4) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.update(task, completed=count)
