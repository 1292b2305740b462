"""How a job ended, for people, for programs and for the shell."""

import json
import shlex
from typing import Any

from holdfast.cli.words import clean, duration, number, plural, size
from holdfast.domain.job import NO_START_PAGE, Job
from holdfast.domain.states import Status
from holdfast.ports.jobs import Tally

EXIT = {
    Status.COMPLETED: 0,
    Status.FAILED: 1,
    Status.IN_PROGRESS: 1,
    Status.PAUSED: 3,
    Status.PENDING: 3,
    Status.TIMEOUT: 4,
    Status.CANCELLED: 5,
}
_CAUSES_SHOWN = 3


def as_json(job: Job) -> dict[str, Any]:
    """The job as programs read it. Keys are only ever added."""
    counters = job.counters
    return {
        "job": job.public_id,
        "name": job.name,
        "status": job.status.value,
        "reason": job.reason,
        "phase": job.phase,
        "run": job.run,
        "pages": counters.done,
        "failed": counters.failed,
        "queued": counters.queued,
        "skipped": counters.skipped,
        "redirected": counters.redirected,
        "consulted": counters.consulted,
        "found": counters.found,
        "external": counters.external,
        "bytes": counters.bytes,
        "seconds": round(job.active_s, 3),
        "checkpoint": job.commit_no,
    }


def json_line(value: dict[str, Any]) -> str:
    """One object on one line, ASCII."""
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def counted(job: Job) -> str:
    """`120 pages, 35 queued, 2 failed`: what is zero and obvious is left out."""
    counters = job.counters
    parts = [plural(counters.done, "page")]
    parts += [f"{number(count)} {word}" for count, word in ((counters.queued, "queued"),) if count]
    parts += [f"{number(count)} {word}" for count, word in ((counters.failed, "failed"),) if count]
    return ", ".join(parts)


def command(*words: str) -> str:
    """A command as a person would type it."""
    return shlex.join(["holdfast", *words])


def ended(job: Job, more: list[str], tallies: list[Tally]) -> list[str]:  # noqa: PLR0911 - one for each status
    """What a person is told when a run ends: where the job stands, and what to type, with `more`, to go on."""
    resume = f"Resume with: {command('resume', job.short_id, *more)}"
    spent = f"{size(job.counters.bytes)} in {duration(job.active_s)}"
    match job.status:
        case Status.COMPLETED if job.reason:
            return [f"completed at its {job.reason}: {counted(job)}, {spent}. A higher limit lets it go on."]
        case Status.COMPLETED:
            return [f"completed: {counted(job)}, {spent}."]
        case Status.FAILED:
            return [f"failed: {_why(job, tallies)}.", resume]
        case Status.PAUSED if job.reason == "disk":
            return [
                f"paused, because the disk is nearly full: {counted(job)}. Free some space first.",
                resume,
            ]
        case Status.PAUSED:
            return [f"paused at checkpoint {job.commit_no}: {counted(job)}.", resume]
        case Status.TIMEOUT:
            return [
                f"time limit reached: {counted(job)}, {spent}. It is granted once more when resumed.",
                resume,
            ]
        case Status.CANCELLED:
            again = command("restart", job.short_id, *more)
            return [f"cancelled, with what it has kept: {counted(job)}. Start it from nothing with: {again}"]
        case Status.PENDING:
            return [f"stopped at checkpoint {job.commit_no}: {counted(job)}.", resume]
        case Status.IN_PROGRESS:
            return [f"another process works on job {job.short_id} now: {counted(job)}."]


def died(job: Job, more: list[str]) -> list[str]:
    """What a person is told of a job whose worker is gone without a word."""
    resume = f"Resume with: {command('resume', job.short_id, *more)}"
    return [f"the process that worked on job {job.short_id} has died: {counted(job)}.", resume]


def _why(job: Job, tallies: list[Tally]) -> str:
    if job.reason != NO_START_PAGE:
        return job.reason or "for no recorded reason"
    # That a sitemap which was looked for isn't there keeps no page from being had.
    causes = [
        tally for tally in tallies if tally.status in {"failed", "skipped"} and tally.reason != "absent"
    ][:_CAUSES_SHOWN]
    if not causes:
        return "no start URL gave a page"
    return f"no start URL gave a page ({', '.join(_cause(cause) for cause in causes)})"


def _cause(tally: Tally) -> str:
    if tally.status == "skipped" and tally.reason == "robots":
        return "robots.txt forbids it; --ignore-robots asks anyway"
    if tally.reason == "private_address":
        return "its address is a private one; --allow-private goes there all the same"
    return clean(tally.reason or tally.status)
