"""The seam to a job's items and commits: what a worker needs, what the watchdog needs, what verify reads."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.domain.checkpoint import Checkpoint
from holdfast.domain.commit import Commit, Committed, HostQueue, Location, Streamed
from holdfast.domain.item import Item
from holdfast.domain.job import Job
from holdfast.domain.lease import Claim, Heartbeat, Lease, Standing
from holdfast.domain.recovery import Recovery
from holdfast.domain.states import Status
from holdfast.ports.segments import Original


@dataclass(frozen=True, slots=True)
class SegmentState:
    """What the ledger believes of a segment."""

    name: str
    committed: int
    synced: int
    lent: bool = False
    """An earlier run's, for the bodies in it that this run's revisits stand for: nothing else in it is this run's."""


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes of one commit in a segment."""

    number: int
    segment: str
    start: int
    end: int
    crc: int | None
    """None where a repair shortened the range."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """Where it is stored what a browser made of a page."""

    location: Location
    revisit_of: Location | None = None
    """The one that it is the same as."""

    @property
    def body(self) -> Location:
        """Where the document itself lies."""
        return self.revisit_of or self.location


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record with its item, as verify and export read it."""

    item: Item
    status: str
    parent_url: str | None
    ordinal: int
    kind: str
    data: Mapping[str, Any]
    location: Location | None
    digest: bytes | None
    revisit_of: Location | None
    same_as: str | None = None
    """The address of the item whose stored body this one shares; whose rendering, if a browser showed it."""
    rendering: Rendering | None = None
    """Of a page that was shown by a browser: what is to be read in the place of its body."""

    @property
    def body(self) -> Location | None:
        """Where that lies which is to be read."""
        return self.rendering.body if self.rendering is not None else self.revisit_of or self.location

    @property
    def shares(self) -> Location | None:
        """The same, where it is another page's: `same_as`."""
        return self.rendering.revisit_of if self.rendering is not None else self.revisit_of


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where an item stands, and by which commits it came there."""

    item: Item
    status: str
    reason: str | None
    due_at: float | None
    found_commit: int
    """0: it was there from the start."""
    settled_commit: int | None


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A promise that does not hold: what kind, where, and what was found."""

    kind: str
    subject: str
    detail: str


class Ledger(Protocol):
    """The worker's side."""

    async def claim(self, job_id: int, worker_id: str, *, now: float) -> Claim | None:
        """Take a pending chunk of the job: epoch + 1. None if there is none to take."""

    async def renew(self, lease: Lease, standing: Standing) -> None:
        """Show that the process lives, and how its claim stands. LeaseLost if the chunk is somebody else's.

        The time since the last commit counts as active if the claim is taken away before it commits again.
        """

    async def wish(self, lease: Lease) -> str | None:
        """What a person wants of the job meanwhile; LeaseLost if the chunk is no longer ours.

        Cheap enough for four times a second.
        """

    # `stage` is the number of the phase that the claim is in: what belongs to a later one waits.

    async def queued_hosts(self, lease: Lease, *, after: int, limit: int, stage: int = 0) -> list[HostQueue]:
        """Hosts with items that may be handled at once, by id from `after` on."""

    async def take(self, lease: Lease, host_id: int, *, limit: int, taken: Collection[int]) -> list[Item]:
        """Items of a host that may be handled at once, the shallowest and oldest first, without those taken."""

    async def take_due(
        self,
        lease: Lease,
        *,
        now: float,
        latest: float,
        limit: int,
        taken: Collection[int],
        stage: int = 0,
    ) -> list[Item]:
        """Items whose stored due time has come. A due time beyond `latest` (a clock jumped) counts as come."""

    async def next_due(self, lease: Lease, *, now: float, stage: int = 0) -> float | None:
        """The earliest stored due time of an item that waits."""

    async def take_rejudged(self, lease: Lease, *, limit: int, taken: Collection[int]) -> list[Item]:
        """Settled items whose links are to be judged again."""

    async def earlier(self, lease: Lease, items: Sequence[Item]) -> list[Item]:
        """The same items, each with what the run that this one asks again for has of it, if its body is still there.

        That is a Record whose exchange is an Original.
        """

    async def mark(self, lease: Lease, item_id: int) -> None:
        """Name the item that is handled next, before it is: caution after a death without progress."""

    async def originals(self, lease: Lease, digests: Sequence[bytes]) -> dict[bytes, Original]:
        """Committed bodies with those digests."""

    async def commit(self, lease: Lease, batch: Commit) -> Committed:
        """The one transaction. LeaseLost: nothing was written, and nothing of it ever will be."""

    async def synced(self, lease: Lease, segment: str, upto: int) -> None:
        """Remember how far a segment survives a power cut."""

    # What is read of a job from here on is its present run's, unless another `run` is named.

    async def segments(self, job_id: int, *, run: int | None = None) -> list[SegmentState]:
        """All segments of the run, those lent to it first."""

    async def spans(self, job_id: int, segment: str, start: int, *, run: int | None = None) -> list[Span]:
        """The commits' byte ranges of a segment from an offset on, in order."""

    async def laid_aside(self, job_id: int, segment: str, *, run: int | None = None) -> set[int]:
        """Offsets of responses in the segment whose rows were given up by a repair or a retry; nobody's now."""

    async def cursor(self, job_id: int, *, run: int | None = None) -> Mapping[str, Any]:
        """The pipeline's notes as last committed."""

    async def tear(self, lease: Lease, segment: str, good: int) -> int:
        """The bytes from `good` on are gone: what pointed there is undone; nothing discovered is removed.

        Their items, and those whose revisit points there, return to pending, their records go, counters are counted
        anew. Gives the number of items.
        """

    async def record(self, job_id: int, item_id: int, *, run: int | None = None) -> RecordRow | None:
        """The first record of an item."""

    async def lineage(self, job_id: int, fingerprint: bytes, *, limit: int) -> list[Whereabouts]:
        """The item of that address, the one that it was found on, and so on up to a start item: `limit` at most.

        Empty where it is unknown. All as of one moment, whatever a worker does meanwhile.
        """

    async def records(
        self,
        job_id: int,
        *,
        after: int,
        limit: int,
        kind: str | None = None,
        run: int | None = None,
        upto: int | None = None,
    ) -> list[RecordRow]:
        """Records by item id from `after` on, for readers that page and hold no snapshot.

        `upto`: only those of the commits up to that one, whatever is committed meanwhile.
        """

    async def addressed(
        self, job_id: int, fingerprints: Sequence[bytes], *, run: int, upto: int
    ) -> dict[bytes, tuple[str, Mapping[str, Any]]]:
        """Kind and data of these addresses' first records, of those that have one by that commit."""

    async def written(self, job_id: int, *, after: int, until: int, kind: str) -> list[RecordRow]:
        """Records of the commits after `after` and up to `until`, in the order in which they were committed."""

    async def streamed(self, job_id: int, path: str) -> Streamed | None:
        """How far that file of rows had come by the last commit that noted it.

        None where it is no file of the job's present run, or where a repair took back rows that may stand in it.
        """

    async def note_streamed(self, job_id: int, run: int, streamed: Streamed) -> None:
        """Remember how far a file of rows has come, for a job that nobody works on. Does nothing for any other."""

    async def outside(self, job_id: int, *, after: int, limit: int) -> list[tuple[int, str]]:
        """Ids and addresses of what was kept though it is out of scope (COUNTED), by id from `after` on."""

    # -- the watchdog's side

    async def heartbeats(self) -> list[Heartbeat]:
        """Every claimed chunk of the home."""

    async def recover(
        self,
        heartbeat: Heartbeat,
        *,
        why: str,
        stalled: bool,
        rules: Recovery | None,
        now: float,
        silent: bool = False,
    ) -> Status | None:
        """Take a chunk back from the epoch that was seen, if that still holds it; None if it doesn't.

        To pending, to paused if a person had asked for that, or to failed when the recoveries without progress are
        used up (see domain.recovery). `rules` None means that a person asked: the count starts anew.
        `silent`: the worker left no trace of a crash. Either way it counts against an item only if that very claim had
        named it.
        """

    # -- what verify reads

    async def discrepancies(self, job_id: int, *, run: int | None = None) -> list[Discrepancy]:
        """Where the ledger's own counters, sequence numbers and rows disagree."""

    async def known(
        self, job_id: int, fingerprints: Sequence[bytes], *, run: int | None = None
    ) -> dict[bytes, str | None]:
        """Which of these addresses are items; each with why it was shut out when it was found, if it still is."""

    async def commits(
        self, job_id: int, *, after: int, limit: int, run: int | None = None
    ) -> list[Checkpoint]:
        """Commits by number from `after` on."""

    async def job(self, job_id: int) -> Job:
        """The job as it stands now."""

    async def close(self) -> None:
        """Let go of the store."""
