"""The engine's side of the commit: segment first, then the ledger, in one order, one at a time."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from holdfast.domain.checkpoint import CheckpointReason
from holdfast.domain.commit import Appended, Commit, Committed, Ending, cursor_of, exchanges
from holdfast.domain.item import Handled
from holdfast.domain.lease import Lease
from holdfast.engine.tools import Tools
from holdfast.ports.faults import FaultPoint, reached
from holdfast.ports.rows import RowStream
from holdfast.ports.segments import SegmentWriter

FINDING_BYTES = 640
"""About so much memory a finding takes until it is committed."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What a commit carries beside its outcomes."""

    reason: CheckpointReason
    host_due: Mapping[int, float]
    cautious_left: int = 0
    phase: str | None = None
    ending: Ending | None = None


class Batch:
    """Outcomes on their way into the ledger."""

    def __init__(
        self, tools: Tools, lease: Lease, writer: SegmentWriter, rows: RowStream | None = None
    ) -> None:
        self._tools = tools
        self._writer = writer
        self._rows = rows
        self._waiting: deque[tuple[Handled, int]] = deque()
        """Each with the bytes of its evidence."""
        self._held_bytes = 0
        self._committed_at = tools.clock.monotonic()
        self._unsynced = 0
        self.lease = lease

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, handled: Handled) -> None:
        """An outcome to commit."""
        size = _evidence_bytes(handled)
        self._waiting.append((handled, size))
        self._held_bytes += size

    @property
    def held_bytes(self) -> int:
        """How much evidence is in memory, what is being written included."""
        return self._held_bytes

    @property
    def since_last_s(self) -> float:
        """Seconds since the last commit of this claim."""
        return self._tools.clock.monotonic() - self._committed_at

    async def commit(self, notes: Notes, *, most: int) -> tuple[tuple[Handled, ...], Committed]:
        """Write up to `most` outcomes. Raises with the ledger as it was; the outcomes are then lost with this claim.

        A crash before the append loses what was handled; after it, bytes that nobody reads; after COMMIT, nothing. Then
        the rows go to their file, if there is one: how far it has come is noted by the commit after.
        """
        taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        handled = tuple(entry for entry, _ in taken)
        appended = await self._append(handled)
        reached(FaultPoint.AFTER_SEGMENT, appended)
        now = self._tools.clock.monotonic()
        committed = await self._tools.ledger.commit(
            self.lease,
            Commit(
                reason=notes.reason,
                at=self._tools.clock.wall(),
                handled=handled,
                appended=appended,
                host_due=notes.host_due,
                active_s=now - self._committed_at,
                cursor=cursor_of(handled),
                phase=notes.phase,
                cautious_left=notes.cautious_left,
                ending=notes.ending,
                streamed=None if self._rows is None else self._rows.standing,
            ),
        )
        self._committed_at = now
        self._held_bytes -= sum(size for _, size in taken)
        self.lease = replace(self.lease, seq=committed.seq)
        if appended is not None:
            if appended.closed is not None:
                await self._tools.ledger.synced(self.lease, *appended.closed)
            self._unsynced += appended.end - appended.start
            if self._unsynced >= self._tools.unsynced_bytes:
                await self.sync()
        if self._rows is not None:
            await self._rows.follow(committed.number, handled)
        return handled, committed

    async def catch_up(self, number: int, *, over: Callable[[], bool]) -> None:
        """Bring the file of rows, if there is one, to where the ledger stands."""
        if self._rows is not None:
            await self._rows.catch_up(number, over=over)

    async def _append(self, handled: tuple[Handled, ...]) -> Appended | None:
        sent = [record.exchange for record in exchanges(handled)]
        if not sent:
            return None
        known = await self._tools.ledger.originals(
            self.lease,
            [one.digest for one in sent if one.response.payload and one.original is None],
        )
        return await self._writer.append(sent, known)

    async def sync(self) -> None:
        """Make the segment safe from a power cut as far as it is written, and remember that."""
        synced = await self._writer.sync()
        self._unsynced = 0
        if synced is not None:
            await self._tools.ledger.synced(self.lease, *synced)

    async def close(self) -> None:
        """Let go of the segment."""
        await self._writer.close()


def _evidence_bytes(handled: Handled) -> int:
    """Findings count, too: a sitemap has fifty thousand, and a commit of ten such would be a long one."""
    payload = sum(len(record.exchange.response.payload) for record in exchanges((handled,)))
    return payload + FINDING_BYTES * len(getattr(handled.outcome, "found", ()))
