"""`holdfast diff`: what changed from one run of a job to another."""

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.complaints import EXIT_FAILED, say
from holdfast.cli.opened import in_home
from holdfast.cli.outcome import json_line
from holdfast.cli.params import COUNT, common
from holdfast.cli.words import clean, number, plural
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Job
from holdfast.domain.runs import Change, Difference
from holdfast.output.textdiff import TextDiff, text_diff

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.bootstrap import Home

_URL_CHARS = 2_000
_LINE_CHARS = 400


@click.command()
@click.argument("job", required=False, metavar="[JOB]")
@click.argument("runs", nargs=-1, type=COUNT, metavar="[RUN RUN]")
@click.option("--stat", is_flag=True, help="How much of each page, instead of its lines.")
@click.option("--json", is_flag=True, help="One JSON object per page and line.")
@common
def diff(job: str | None, runs: tuple[int, ...], stat: bool, json: bool) -> int:
    """Show what changed from one run of a job to another: new and gone pages, and the text of changed ones.

    Without RUN RUN: from the run before to the last one.
    """
    if runs and len(runs) != 2:  # noqa: PLR2004 - from one to the other
        raise UsageError("name two runs, such as `holdfast diff JOB 1 2`, or none")

    async def work(home: "Home") -> int:
        found = await home.tools.jobs.find(job)
        before, now = runs or await _last_two(home, found)
        pair = Pair(
            home, await home.tools.jobs.of_run(found.id, before), await home.tools.jobs.of_run(found.id, now)
        )
        counts: Counter[Change] = Counter()
        async for page in home.tools.jobs.differences(found.id, before, now):
            for one in page:
                counts[one.change] += 1
                if one.change is not Change.UNCHANGED:
                    await _show(pair, one, stat=stat, json=json)
        if not json:
            click.echo(f"from run {before} to run {now}: {summary(counts)}.")
        for damaged in pair.damaged:
            say(damaged)
        return EXIT_FAILED if pair.damaged else 0

    return in_home(work)


def summary(counts: "Mapping[Change, int]") -> str:
    """`3 new, 2 changed, 95 unchanged, 1 gone`: what there is none of is left out, but for these four."""
    named = (Change.NEW, Change.CHANGED, Change.UNCHANGED, Change.GONE)
    parts = [f"{number(counts.get(change, 0))} {change}" for change in named]
    parts += [
        f"{number(counts[change])} {change}"
        for change in Change
        if change not in named and counts.get(change)
    ]
    return ", ".join(parts)


async def changes_of(home: "Home", job: Job) -> "Mapping[Change, int] | None":
    """What became of the pages that the job asks for again; None where it doesn't, or what it asks for is gone."""
    there = {run.number for run in await home.tools.jobs.runs(job.id)}
    if job.rescan_of is None or job.rescan_of not in there:
        return None
    counts: Counter[Change] = Counter()
    async for page in home.tools.jobs.differences(job.id, job.rescan_of, job.run):
        counts.update(one.change for one in page)
    return counts


async def _last_two(home: "Home", job: Job) -> tuple[int, int]:
    runs = [run.number for run in await home.tools.jobs.runs(job.id)]
    if len(runs) == 1:
        raise UsageError(
            f"job {job.short_id} has one run only; `holdfast rescan {job.short_id}` makes another to compare it with"
        )
    before = job.rescan_of if job.rescan_of in runs else runs[-2]
    return before or runs[-2], job.run


class Pair:
    """The job in both runs, and the texts of its pages."""

    def __init__(self, home: "Home", old: Job, new: Job) -> None:
        self._tools = home.tools
        self.old = old
        self.new = new
        self.damaged: list[str] = []

    async def text(self, job: Job, item: int | None) -> str | None:
        """The visible text of a page as the run has it; None where its body can't be read."""
        from holdfast.engine.rejudge import read_body
        from holdfast.pipelines.site.rows import text_of
        from holdfast.ports.segments import DamagedRecord

        row = None if item is None else await self._tools.ledger.record(job.id, item, run=job.run)
        if row is None:
            return None
        try:
            reading = await asyncio.to_thread(read_body, self._tools, job, row)
        except DamagedRecord as error:
            self.damaged.append(f"{clean(row.item.url)} in run {job.run}: {error}")
            return None
        return None if reading is None else text_of(row.data, reading.body)

    async def diff(self, one: Difference) -> TextDiff | None:
        """Of a changed page; None where there is nothing to compare."""
        before = await self.text(self.old, one.old_item)
        now = await self.text(self.new, one.new_item)
        return None if before is None or now is None else await asyncio.to_thread(text_diff, before, now)


async def _show(pair: Pair, one: Difference, *, stat: bool, json: bool) -> None:
    found = await pair.diff(one) if one.change is Change.CHANGED else None
    if json:
        click.echo(json_line(_as_json(one, found, stat=stat)))
        return
    url = clean(one.url, _URL_CHARS)
    reason = f" ({clean(one.reason)})" if one.reason else ""
    if one.change is not Change.CHANGED:
        click.echo(f"{one.change:<9}  {url}{reason}")
    elif stat or found is None or not found.whole or not found.lines:
        click.echo(f"{one.change:<9}  {url}  {_amount(found)}")
    else:
        click.echo(f"--- {url}  run {pair.old.run}")
        click.echo(f"+++ {url}  run {pair.new.run}")
        for line in found.lines:
            click.echo(clean(line, _LINE_CHARS))


def _amount(found: TextDiff | None) -> str:
    if found is None:
        return "its text can't be read"
    if not found.added and not found.removed:
        return "not in its text"
    much = "" if found.whole else ", too much to tell line by line"
    return f"+{plural(found.added, 'line')} -{plural(found.removed, 'line')}{much}"


def _as_json(one: Difference, found: TextDiff | None, *, stat: bool) -> dict[str, Any]:
    known = {"url": one.url, "change": one.change.value, "reason": one.reason or None}
    if found is None:
        return known
    counted = known | {"added": found.added, "removed": found.removed, "whole": found.whole}
    return counted if stat else counted | {"diff": list(found.lines)}
