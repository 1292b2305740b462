"""What other rules would do to a job that is there: told, and asked about."""

import signal
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.stderr import STDERR
from holdfast.cli.words import clean, number, plural
from holdfast.domain.errors import SpecChanged
from holdfast.domain.job import Job

if TYPE_CHECKING:
    from holdfast.cli.screen import Screen
    from holdfast.engine.revising import Preview

_URLS_SHOWN: Final = 3
_NOTHING_CHANGED: Final = "nothing of it is changed"


def told(preview: "Preview", job: Job) -> list[str]:
    """A line for each thing that would become of the job's items."""
    lines = []
    if preview.leave:
        lines.append(
            f"{number(preview.leave.total())} of {number(job.counters.queued)} queued leave the queue"
            f" ({_reasons(preview.leave)})"
        )
    if preview.back:
        least = "at least " if preview.uncounted else ""
        verb = "comes back" if preview.back.total() == 1 else "come back"
        lines.append(f"{least}{number(preview.back.total())} {verb} (left out as {_reasons(preview.back)})")
    if preview.uncounted:
        some = "more" if preview.back else "some"
        lines.append(
            f"{some} may come back: {plural(preview.uncounted, 'link')} out of scope had only been counted,"
            " and the pages that hold them are read again"
        )
    if preview.begun:
        shown = ", ".join(clean(url) for url in preview.begun[:_URLS_SHOWN])
        more = len(preview.begun) - _URLS_SHOWN
        lines.append(f"added to where it begins: {shown}{f' and {number(more)} more' if more > 0 else ''}")
    if preview.outside:
        verb = "lies" if preview.outside == 1 else "lie"
        lines.append(
            f"{plural(preview.outside, 'page')} that it has {verb} outside of it now, and stay as they are"
        )
    return lines


def sentence(preview: "Preview", job: Job) -> str:
    """The same in one sentence, for whoever gets an error."""
    return f"this changes what job {job.short_id} has before it: {'; '.join(told(preview, job))}"


def agree(preview: "Preview", job: Job, shown: "Screen", *, yes: bool) -> None:
    """Say what changes, and have a person agree to it. SpecChanged, and nothing is changed, where nobody does."""
    if not preview.moves:
        shown.say(f"nothing in the queue of job {job.short_id} changes by that.")
        return
    if yes:
        shown.say(f"{sentence(preview, job)}.")
        return
    if not (sys.stdin is not None and sys.stdin.isatty() and STDERR.isatty()):
        raise SpecChanged(
            f"{sentence(preview, job)}. {_NOTHING_CHANGED.capitalize()} yet: say --yes to do it"
        )
    for line in (f"holdfast: this changes what job {job.short_id} has before it:", *told(preview, job)):
        click.echo(line if line.startswith("holdfast:") else f"  {line}", err=True)
    if not _confirmed():
        raise SpecChanged(f"job {job.short_id} stays as it was: {_NOTHING_CHANGED}")


def _confirmed() -> bool:
    """A person's answer; Ctrl-C is one too, and ends the command here."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm("Do that?", err=True)
    finally:
        signal.signal(signal.SIGINT, before)


def _reasons(counts: Counter[str]) -> str:
    return ", ".join(f"{reason.replace('_', ' ')} {number(count)}" for reason, count in counts.most_common())
