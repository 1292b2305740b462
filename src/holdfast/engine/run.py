"""A run, from claim to release, as a list of steps."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Final, Protocol

from holdfast.domain.checkpoint import CheckpointReason
from holdfast.domain.commit import Commit, Ending, Location
from holdfast.domain.errors import HoldfastError, StorageFull
from holdfast.domain.job import Job
from holdfast.domain.lease import Claim
from holdfast.domain.states import Action
from holdfast.engine.batch import Batch
from holdfast.engine.frontier import Frontier
from holdfast.engine.heard import Heard
from holdfast.engine.keeper import Keeper
from holdfast.engine.rate import rate_of
from holdfast.engine.repair import repair
from holdfast.engine.start import held
from holdfast.engine.tools import Tools
from holdfast.engine.worker import Worker
from holdfast.ports.faults import FaultPoint, reached
from holdfast.ports.pipeline import PipelineRun, Reread
from holdfast.ports.rows import RowStream
from holdfast.ports.segments import Reading

log = logging.getLogger(__name__)

SMALL_BYTES = 64 * 1024
"""Up to here a stored body is read on the loop: a thread for each was measured to cost a sixth of a rescan's time."""

MAX_OUTSIDE: Final = 100_000
"""So many addresses that are out of scope are held by a claim."""


class Stop(Protocol):
    """How a person or the machine asks a run to end; see engine.signals."""

    def claimed(self) -> None:
        """From now on there is a claim to be ended in order."""

    def listen(self, worker: Worker) -> None:
        """From now on, pass requests on to this worker; those that came before, at once."""


async def run(tools: Tools, job: Job, worker_id: str, stop: Stop, rows: RowStream | None = None) -> Job:
    """Work on a pending job until it ends, and give it as it then stands. `rows` grows with each commit.

    Raises JobHeld if somebody else was first, LeaseLost if somebody took over, StorageFull and StorageFailed; the last
    commit stands in each case.
    """
    # Before anything is claimed: where nobody knows what to do, nothing is to be done.
    tools.pipeline_of(job.kind, job.spec)
    with _present(tools, worker_id):
        claim = await tools.ledger.claim(job.id, worker_id, now=tools.clock.wall())
        if claim is None:
            raise held(job, await tools.jobs.holder(job.id))
        stop.claimed()
        reached(FaultPoint.AFTER_CLAIM, claim)
        await _hold(tools, claim, stop, rows)
        return await tools.ledger.job(job.id)


@contextmanager
def _present(tools: Tools, worker_id: str) -> Iterator[None]:
    """The worker shows that it lives.

    A mistake of ours is a crash: the page in hand may have brought it on, and the next claim has to know.
    """
    presence = tools.workers.enter(worker_id)
    words = None
    try:
        yield
    except HoldfastError:
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        raise
    finally:
        presence.leave(words)


async def _hold(tools: Tools, claim: Claim, stop: Stop, rows: RowStream | None) -> None:
    if claim.recovered:
        log.info(
            "the worker before this one ended without a release; going on from commit %d", claim.job.commit_no
        )
    heard = Heard(claim.lease)
    keeper = Keeper(tools, claim.lease, on_pause=heard.pause, on_lost=heard.lose, standing=heard.standing)
    keeper.start()
    try:
        await heard.unless_lost(repair(tools, claim.job, claim.lease))
        claim = replace(claim, job=await tools.ledger.job(claim.job.id))
        async with _at_work(tools, claim, rows) as worker:
            heard.tell(worker)
            stop.listen(worker)
            try:
                await worker.work()
            finally:
                # Before anything else: the claim is over, and that its lease is gone is no news from here on.
                keeper.end()
    finally:
        keeper.end()
        await asyncio.to_thread(keeper.join)


@asynccontextmanager
async def _at_work(tools: Tools, claim: Claim, rows: RowStream | None) -> AsyncIterator[Worker]:
    """A worker with all that it needs, which is let go at the end."""
    outside = await _outside(tools, claim.job)
    frontier = Frontier(claim.job.limits, rate_of(claim.job.pace.max_rate))
    lent = PipelineRun(
        claim.job, claim.cursor, outside, frontier.repace, frontier.hold_host, _reread(tools, claim.job)
    )
    handler = tools.open_handler(lent)
    writer = tools.segments.writer(claim.job, claim.lease, claim.job.durability)
    batch = Batch(tools, claim.lease, writer, rows)
    try:
        yield Worker(tools, claim, handler, batch, frontier)
    except StorageFull:
        await _pause_for_room(tools, batch)
        raise
    finally:
        try:
            await batch.close()
        finally:
            await handler.close()


def _reread(tools: Tools, job: Job) -> Reread:
    async def reread(location: Location) -> Reading:
        if location.length <= SMALL_BYTES:
            return tools.segments.read(job, location)
        return await asyncio.to_thread(tools.segments.read, job, location)

    return reread


async def _outside(tools: Tools, job: Job) -> list[str]:
    """What is out of scope and kept: as a rule no more than the pipeline's own cap lets in.

    A scope that was narrowed leaves any number of them: the first are enough to know that there is no room for more.
    """
    urls: list[str] = []
    last, page = 0, [(0, "")]
    while page and len(urls) < MAX_OUTSIDE:
        page = await tools.ledger.outside(job.id, after=last, limit=10_000)
        urls += [url for _, url in page]
        last = page[-1][0] if page else last
    return urls


async def _pause_for_room(tools: Tools, batch: Batch) -> None:
    """The disk is full: a commit without items is small enough to fit, more often than not.

    If it isn't, the claim ends as by a crash, and the same command takes it up again.
    """
    with suppress(HoldfastError):
        await tools.ledger.commit(
            batch.lease,
            Commit(CheckpointReason.DISK, tools.clock.wall(), ending=Ending(Action.PAUSE, "disk")),
        )
