"""Holds a job to its promise: reads every committed byte and row again, and names what doesn't agree.

Three passes, none of which trusts another: the ledger against itself, the segments without the rows, the rows
against the stored bytes. Nothing is written. Memory is bounded: rows and records come a page at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.domain.errors import JobHeld, UsageError
from holdfast.domain.job import Job
from holdfast.engine.start import refuse_half_restarted
from holdfast.engine.tools import Tools
from holdfast.engine.verify_records import check_records
from holdfast.engine.verify_report import Progress, Report
from holdfast.engine.verify_segments import check_places, check_segments
from holdfast.ports.ledger import Discrepancy


@dataclass(frozen=True, slots=True)
class Verification:
    """What was looked at, and what didn't hold."""

    pages: int
    """Records of items that are done."""
    records: int
    links: int
    """Links and redirects that were extracted again."""
    bytes: int
    """Committed bytes of the segments."""
    laid_aside: int
    """Stored responses without a row that a repair or a retry explains."""
    discrepancies: tuple[Discrepancy, ...]
    """Those that are kept: the first of each kind."""
    total: int
    """How many there were, kept or not."""

    @property
    def holds(self) -> bool:
        """Whether the promise holds."""
        return self.total == 0


async def verify(
    tools: Tools, job: Job, *, progress: Callable[[int, int], None] | None = None
) -> Verification:
    """Check everything that is committed of a job on which nobody works, of the run as which it was read.

    JobHeld if somebody does, or takes it up meanwhile: what moves can't be compared. An earlier run never moves.
    `progress` is called with the number of records read and of those to be read, each of them twice; not every failure
    has one.
    """
    job = await _at_rest(tools, job)
    settled = job.counters.done + job.counters.redirected + job.counters.consulted + job.counters.failed
    report = Report(Progress(2 * settled, progress))
    report.add(*await tools.ledger.discrepancies(job.id, run=job.run))
    scanned = await check_segments(tools, job, report)
    placed = await check_records(tools, job, report)
    await check_places(tools, job, report, scanned, placed)
    await _still_at_rest(tools, job)
    report.progress.end()
    return Verification(
        pages=report.pages,
        records=report.records,
        links=report.links,
        bytes=report.bytes,
        laid_aside=report.laid_aside,
        discrepancies=tuple(report.kept),
        total=report.total,
    )


async def _at_rest(tools: Tools, job: Job) -> Job:
    """The job as it stands; the claim of a dead worker is no hindrance."""
    present = await tools.ledger.job(job.id)
    if job.run != present.run:
        return await tools.jobs.of_run(job.id, job.run)
    await _refuse_held(tools, job)
    await refuse_half_restarted(tools, job)
    if job.id in await tools.jobs.unfinished():
        raise UsageError(
            f"a change of job {job.short_id} was interrupted; run that command again, then verify the job"
        )
    return await tools.ledger.job(job.id)


async def _still_at_rest(tools: Tools, job: Job) -> None:
    now = await tools.jobs.of_run(job.id, job.run)
    if now.commit_no != job.commit_no:
        raise JobHeld(
            f"job {job.short_id} went on while it was verified. Verify it again when it stands still: "
            f"pause it with `holdfast pause {job.short_id}`, or wait for its end."
        )
    if now.run == (await tools.ledger.job(job.id)).run:
        await _refuse_held(tools, job)


async def _refuse_held(tools: Tools, job: Job) -> None:
    holder = await tools.jobs.holder(job.id)
    if holder is not None and tools.workers.lives(holder.worker_id) is not False:
        raise JobHeld(
            f"job {job.short_id} is being worked on, and only what stands still can be verified. "
            f"Pause it with `holdfast pause {job.short_id}`, or wait for its end."
        )
