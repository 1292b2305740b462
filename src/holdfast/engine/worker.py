"""The loop: take an item, handle it, keep its outcome, commit when a checkpoint is due.

Three kinds of coroutine share one frontier and one batch: runners handle items, the feeder (engine.feeder) fills the
frontier, the committer writes. Any of them may say how the claim ends; then what is in flight is drained and committed.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.domain.checkpoint import HELD_BYTES, CheckpointReason
from holdfast.domain.commit import Committed, Ending, cursor_of
from holdfast.domain.errors import HoldfastError, LeaseLost
from holdfast.domain.item import Failed, Handled, Item, Outcome, Rejudged, RetryAt, Skipped
from holdfast.domain.job import NO_START_PAGE
from holdfast.domain.lease import Claim, Lease, Standing
from holdfast.domain.recovery import DEADLY, DEADLY_SILENT
from holdfast.domain.states import Action
from holdfast.engine.batch import Batch, Notes
from holdfast.engine.budget import BYTE_LIMIT, HOST_BUDGET, PAGE_LIMIT, Budget, gained
from holdfast.engine.feeder import Feeder
from holdfast.engine.frontier import DUE_CAP_S, Frontier
from holdfast.engine.pulse import Gate, Pulse
from holdfast.engine.rejudge import rejudge
from holdfast.engine.steady import SteadyTime
from holdfast.engine.tools import Tools
from holdfast.ports.faults import FaultPoint, reached
from holdfast.ports.pipeline import Handler

log = logging.getLogger(__name__)

IDLE_S = 0.5
"""While pages are in flight or hosts are met, commits only for the runners that are free are so far apart at least."""

POISON = "poison"
"""Why an item failed that two workers in a row died on."""

_REASONS = {
    Action.COMPLETE: CheckpointReason.FINISH,
    Action.FAIL: CheckpointReason.FINISH,
    Action.PAUSE: CheckpointReason.PAUSE,
    Action.TIME_OUT: CheckpointReason.TIMEOUT,
    Action.RELEASE: CheckpointReason.SHUTDOWN,
}


class Worker:
    """Works on one claim until it ends."""

    def __init__(
        self, tools: Tools, claim: Claim, handler: Handler, batch: Batch, frontier: Frontier
    ) -> None:
        self._tools = tools
        self._job = claim.job
        self._claim = claim
        self._handler = handler
        self._batch = batch
        self._frontier = frontier
        self._budget = Budget(claim.job.limits, claim.job.counters)
        self._counters = claim.job.counters
        self._cursor = claim.cursor
        self._cautious_left = claim.cautious_left
        self._in_hand: set[int] = set()
        self._touched: set[int] = set()
        self._gate = Gate()
        self._due = Pulse()
        self._commit_turn = asyncio.Lock()
        self._ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._steady = SteadyTime(tools.clock, claim.job.last_checkpoint_at or 0.0)
        self._feeder = Feeder(tools, claim.job, handler, self._frontier, self)

    def end(self, action: Action, reason: str | None = None) -> None:
        """Stop taking, drain, commit, and end the claim like this. The first to say so decides."""
        if not self._ending.done():
            self._ending.set_result(Ending(action, reason))
            self._wake_all()

    def lose(self, lost: LeaseLost) -> None:
        """The lease is gone: drop everything in memory and stop."""
        if not self._ending.done():
            self._ending.set_exception(lost)
            # A claim that something else has ended already (a full disk) asks nobody how it ends.
            self._ending.exception()
            self._wake_all()

    def _wake_all(self) -> None:
        self._gate.let_all()
        self._frontier.changed.ring()
        self._due.ring()

    async def work(self) -> Ending:
        """Until the claim ends; gives how it ended, committed. Raises LeaseLost and the storage errors."""
        self._set_deadline()
        if (spent := self._budget.spent()) is not None:
            self.end(Action.COMPLETE, spent)
        await self._batch.catch_up(self._job.commit_no, over=self._ending.done)
        await self._suspect()
        runners = [asyncio.create_task(self._run()) for _ in range(self._job.pace.concurrency)]
        others = [asyncio.create_task(self._feeder.feed()), asyncio.create_task(self._write())]
        try:
            await self._until_ending(runners + others)
            await self._drain(runners)
            # A commit that has begun is never cut off: whether it happened would have to be read back.
            await asyncio.gather(*others)
        finally:
            tasks = [*runners, *others]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._feeder.stop()
        return await self._finish(self._ending.result())

    # -- runners: item -> outcome

    async def _run(self) -> None:
        while (item := await self._next()) is not None:
            try:
                outcome = await self._handle(item)
            except asyncio.CancelledError:
                self._give_back(item)
                raise
            self._keep(item, outcome)

    async def _next(self) -> Item | None:
        while not self._ending.done():
            item = self._take()
            if item is not None:
                if self._cautious_left:
                    await self._tools.ledger.mark(self._batch.lease, item.id)
                return item
            # With a runner free, what waits to be committed may be due early: its findings are all that is left.
            self._due.ring()
            await self._gate.wait()
        return None

    def _take(self) -> Item | None:
        """An item, if what is taken and not committed stays within a checkpoint plus the concurrency.

        None either while too much evidence waits: in memory are that and what is in flight.
        """
        hands = 1 if self._cautious_left else self._job.checkpoints.items + self._job.pace.concurrency
        if len(self._in_hand) >= hands or self._batch.held_bytes >= HELD_BYTES or not self._budget.reserve():
            return None
        item = self._frontier.next(self._tools.clock.monotonic())
        if item is None:
            self._budget.settle(None)
            return None
        self._in_hand.add(item.id)
        return item

    async def _handle(self, item: Item) -> Outcome:
        reached(FaultPoint.HANDLING, item)
        try:
            if self._frontier.shut(item):
                return Skipped(HOST_BUDGET)
            if item.rejudge:
                return await rejudge(self._tools, self._job, self._notes, item)
            return await self._handler.handle(item)
        except HoldfastError:
            # The disk's fault, or the lease's: no page's.
            raise
        except Exception:
            # Our own mistake on one page must not cost the other pages; the traceback goes to the log.
            log.exception(
                "handling %s failed",
                item.url,
                extra={"error_type": "internal_error", "retry_count": item.attempts},
            )
            # What was settled before stays so: a body that can't be read back costs only the links in it.
            return Rejudged() if item.rejudge else Failed("internal_error")

    def _notes(self) -> Mapping[str, Any]:
        """The pipeline's notes as they stand, committed or about to be."""
        return self._cursor

    def _keep(self, item: Item, outcome: Outcome) -> None:
        kept = self._budget.settle(outcome)
        pages, size = gained(outcome) if kept else (0, 0)
        self._frontier.finished(item, pages=pages, size=size)
        if not kept:
            self._drop(item)
        else:
            if isinstance(outcome, RetryAt) and outcome.host_due_at is not None:
                wait = min(outcome.host_due_at - self._tools.clock.wall(), DUE_CAP_S)
                self._frontier.hold_host(item.host_id, self._tools.clock.monotonic() + wait)
            if isinstance(outcome, RetryAt):
                outcome = replace(outcome, due_at=self._steady.from_wall(outcome.due_at))
            self._touched.add(item.host_id)
            self._batch.add(entry := Handled(item, outcome))
            self._cursor = cursor_of((entry,)) or self._cursor
            # The first begins to wait; a full batch need not.
            waiting = len(self._batch)
            if waiting == 1 or waiting >= self._checkpoint_items or self._batch.held_bytes >= HELD_BYTES:
                self._due.ring()
        spent = self._budget.spent()
        if spent is not None:
            self.end(Action.COMPLETE, spent)

    def _give_back(self, item: Item) -> None:
        """Not handled to its end: it is still pending in the ledger, as if it had never been taken."""
        self._frontier.finished(item)
        self._budget.settle(None)
        self._drop(item)

    def _drop(self, item: Item) -> None:
        self._in_hand.discard(item.id)
        self._frontier.release(item)

    # -- the committer: outcomes -> ledger

    @property
    def _checkpoint_items(self) -> int:
        return 1 if self._cautious_left else self._job.checkpoints.items

    async def _write(self) -> None:
        policy = self._job.checkpoints
        while not self._ending.done():
            since_s = self._batch.since_last_s
            reason = policy.due(len(self._batch), since_s, self._batch.held_bytes)
            reason = reason or self._due_anyway(since_s)
            if reason is None:
                longest = min(policy.seconds, IDLE_S) if self._starved else policy.seconds
                await self._due.heard(longest - since_s if len(self._batch) else None)
                continue
            await self._commit(reason)

    def _due_anyway(self, since_s: float) -> CheckpointReason | None:
        """What waits is committed early if only that may give us more to do, or if the next item may be our last."""
        if not len(self._batch):
            return None
        if self._cautious_left:
            return CheckpointReason.CAUTION
        nothing_comes = not self._in_flight and not self._feeder.meeting
        if self._starved and (nothing_comes or since_s >= IDLE_S):
            return CheckpointReason.IDLE
        return None

    @property
    def _in_flight(self) -> int:
        return len(self._in_hand) - len(self._batch)

    @property
    def _starved(self) -> bool:
        """A runner is free, and as far as the ledger knows nothing comes for it before a checkpoint would."""
        soon = self._tools.clock.monotonic() + self._job.checkpoints.seconds
        return self._in_flight < self._job.pace.concurrency and self._frontier.barren(until=soon)

    async def _commit(
        self, reason: CheckpointReason, ending: Ending | None = None, phase: str | None = None
    ) -> Committed:
        async with self._commit_turn:
            return await self._commit_next(reason, ending, phase)

    async def _commit_next(
        self, reason: CheckpointReason, ending: Ending | None, phase: str | None
    ) -> Committed:
        if self._tools.segments.free_bytes() < self._tools.min_free_bytes:
            self.end(Action.PAUSE, "disk")
        now, wall = self._tools.clock.monotonic(), self._steady.now()
        touched, self._touched = self._touched, set()
        self._cautious_left = max(0, self._cautious_left - min(len(self._batch), self._checkpoint_items))
        notes = Notes(
            reason=reason,
            host_due=self._frontier.due_times(now=now, wall=wall, since=touched),
            cautious_left=self._cautious_left,
            phase=phase,
            ending=ending,
        )
        handled, committed = await self._batch.commit(notes, most=self._job.checkpoints.items)
        for entry in handled:
            self._drop(entry.item)
        log.info(
            "checkpoint %d, %d items",
            committed.number,
            len(handled),
            extra={"checkpoint_id": committed.number, "checkpoint_type": reason.value},
        )
        self._counters = committed.counters
        if committed.desired == "pause":
            self.end(Action.PAUSE, "user")
        self._feeder.committed(handled, committed)
        self._gate.let_all()
        return committed

    # -- what the feeder asks

    @property
    def lease(self) -> Lease:
        """The claim as it stands after the last commit."""
        return self._batch.lease

    @property
    def steady(self) -> SteadyTime:
        """The time by which due times are stored and compared."""
        return self._steady

    @property
    def over(self) -> bool:
        """The claim ends."""
        return self._ending.done()

    @property
    def idle(self) -> bool:
        """Nothing is in flight, and nothing waits to be committed."""
        return not self._in_hand and not self._commit_turn.locked()

    def call(self) -> None:
        """Whoever waits for an item looks again."""
        self._gate.let_all()

    async def enter(self, phase: str | None) -> None:
        """The next phase begins with a checkpoint; after the last one the job is complete, if it came to anything."""
        if phase is not None:
            await self._commit(CheckpointReason.PHASE, phase=phase)
        elif self._counters.done:
            self.end(Action.COMPLETE)
        else:
            self.end(Action.FAIL, NO_START_PAGE)

    @property
    def hosts_at_work(self) -> dict[str, int]:
        """For displays: whom it is asking now, and for how many items each."""
        return self._frontier.at_work()

    @property
    def standing(self) -> Standing:
        """Read by the keeper, for its renewals."""
        return Standing(self._batch.lease.seq, self._batch.since_last_s, self._feeder.waiting_until)

    async def _suspect(self) -> None:
        """The item that earlier claims died on: quarantined after two deaths, else handled first, alone."""
        claim = self._claim
        if claim.marked is None or not claim.cautious_left:
            return
        if claim.marked_deaths >= DEADLY or claim.marked_silent >= DEADLY_SILENT:
            deaths = claim.marked_deaths + claim.marked_silent
            log.warning("quarantined after %d deaths: %s", deaths, claim.marked.url)
            self._batch.add(Handled(claim.marked, Failed(POISON)))
            await self._commit(CheckpointReason.CAUTION)
        else:
            (marked,) = await self._feeder.recalled([claim.marked])
            self._frontier.put(marked, now=self._tools.clock.monotonic(), first=True)

    # -- the end of a claim

    def _set_deadline(self) -> None:
        limit = self._job.limits.time_limit_s
        if limit is None:
            return
        left = limit - (self._job.active_s - self._job.granted_s)
        asyncio.get_running_loop().call_later(max(0.0, left), self.end, Action.TIME_OUT, "time limit")

    async def _until_ending(self, tasks: list[asyncio.Task[None]]) -> None:
        """Until somebody says how the claim ends, or one of the coroutines fails."""
        watched: set[asyncio.Future[Any]] = {self._ending, *tasks}
        done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        await asyncio.wait({self._ending})
        self._ending.result()

    async def _drain(self, runners: list[asyncio.Task[None]]) -> None:
        """Let what is in flight come to its end, for a while."""
        done, _ = await asyncio.wait(runners, timeout=self._tools.times.drain_s)
        for task in done:
            task.result()

    async def _finish(self, ending: Ending) -> Ending:
        """Everything that was handled is committed; the last commit, without items, ends the claim."""
        reason = _REASONS[ending.action]
        if ending.reason in {PAGE_LIMIT, BYTE_LIMIT}:
            reason = CheckpointReason.LIMIT
        elif ending.reason == "disk":
            reason = CheckpointReason.DISK
        while len(self._batch):
            await self._commit(reason)
        await self._batch.sync()
        await self._commit(reason, ending, phase="completed" if ending.action is Action.COMPLETE else None)
        return ending
