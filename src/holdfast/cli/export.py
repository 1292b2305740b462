"""`holdfast export`, and the same for `-o`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from holdfast.cli.opened import in_home
from holdfast.cli.options import FIELD, FIELD_HOW
from holdfast.cli.params import COUNT, common, job_argument
from holdfast.cli.screen import Screen, screen
from holdfast.cli.stderr import STDERR, console
from holdfast.cli.wanted import FORMAT, OUTPUT, Output
from holdfast.cli.words import plural, size
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Job
from holdfast.domain.states import Status

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.output.export import Exported, Source
    from holdfast.output.stream import Stream

_DAMAGED_SHOWN = 3


@click.command()
@job_argument
@click.option(
    "-o",
    "--output",
    required=True,
    help="Where to; the ending says how: .jsonl, .jsonl.gz, .csv, .parquet, .warc.gz, .wacz or .cdxj.",
    **OUTPUT,
)
@click.option("--format", **FORMAT)
@click.option("--run", type=COUNT, metavar="N", help="As run N has it, instead of the last one.")
@click.option(*FIELD, **FIELD_HOW)
@click.option("--quiet", is_flag=True, help="Nothing on stderr but warnings and errors.")
@common
def export(job: str | None, output: Output, *, run: int | None, fields: tuple[str, ...], quiet: bool) -> int:
    """Write a job's pages to a file or a directory, each page once.

    It appears whole or not at all; what stands there is replaced only when the new one is complete, and a directory
    only if it was exported by Holdfast.
    A job that runs meanwhile is exported as far as it has come.
    --field adds to the job's own fields; one of the same name takes its place. Nothing is fetched for it.
    """
    output.check()
    if fields:
        from holdfast.pipelines.site.rows import extractor

        extractor(fields)
        _refuse_without_rows(output)

    async def work(home: "Home") -> int:
        from holdfast.cli.runs import run_of

        return await write(home, await run_of(home, job, run), output, screen(quiet=quiet), fields)

    return in_home(work)


def _refuse_without_rows(output: Output) -> None:
    from holdfast.output.formats import ARCHIVES, ending_of

    if output.folder is not None or ending_of(output.path) in ARCHIVES:
        raise UsageError(f"--field makes columns, and {output.path.name} would have none; name a .jsonl, say")


async def write(home: "Home", job: Job, output: Output, shown: Screen, fields: Sequence[str] = ()) -> int:
    """Write the job's results, with `fields` beside its own; the exit code is 1 if a stored body is damaged."""
    from holdfast.engine.start import refuse_half_restarted
    from holdfast.output.export import warc_bytes
    from holdfast.output.formats import WACZ, WARC

    await refuse_half_restarted(home.tools, job)
    read_from = source(home)
    raw = output.folder is None and output.path.name.lower().endswith((WARC, WACZ))
    total = await warc_bytes(read_from, job) if raw else job.counters.done
    with _progress(total, shown, in_bytes=raw) as advance:
        written = await exported(read_from, job, output, advance, fields)
    what = f"{plural(written.count, written.unit)} to {written.path}"
    shown.say(_said(job, what, written.bytes))
    return _damage(written.damaged)


async def exported(
    read_from: "Source", job: Job, output: Output, advance: Callable[[int], None], fields: Sequence[str] = ()
) -> "Exported":
    """Write the job's results in the format that is asked for."""
    from holdfast.cli import pages
    from holdfast.output.formats import ending_of

    if output.folder is not None:
        from holdfast.output.tree import export_tree

        tree = pages.tree_of(output.folder, read_from.ledger, job)
        return await export_tree(read_from, job, tree, output.path, advance)
    match ending_of(output.path):
        case ".wacz":
            from holdfast.output.wacz import export_wacz

            return await export_wacz(read_from, job, pages.entry_of, output.path, advance)
        case ".cdxj":
            from holdfast.output.cdxj import export_cdxj

            return await export_cdxj(read_from, job, pages.entry_of, output.path, advance)
        case _:
            from holdfast.output.export import export

            return await export(read_from, job, pages.rows(job, fields), output.path, advance)


def stream(home: "Home", job: Job, output: Output) -> "Stream | None":
    """A file of rows that grows while the job runs; None for a format that has to be written as a whole."""
    from holdfast.cli.pages import rows
    from holdfast.output.formats import ending_of
    from holdfast.output.stream import ENDING, Stream

    if output.folder is not None or ending_of(output.path) != ENDING:
        return None
    return Stream(source(home), job, rows(job), output.path)


async def end(rows: "Stream", job: Job, shown: Screen) -> int:
    """Bring a file that grew with the job to its end; the exit code is 1 if a stored body turned out to be damaged."""
    try:
        stands = await rows.finish(job)
    finally:
        rows.close()
    shown.say(_said(job, f"{plural(stands.rows, rows.unit)} to {rows.path}", stands.bytes))
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
    say(f"{count} there without text, because the stored body is damaged; see `holdfast verify`:")
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
