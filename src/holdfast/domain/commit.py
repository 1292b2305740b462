"""A commit: all that one transaction takes a chunk forward by, and what comes back of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.domain.checkpoint import CheckpointReason, Counters
from holdfast.domain.item import Handled, Record
from holdfast.domain.states import Action


@dataclass(frozen=True, slots=True)
class Location:
    """Where a stored exchange lies: bytes [offset, offset + length) of a segment."""

    segment: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one exchange in the segments."""

    location: Location
    digest: bytes
    """SHA-256 of the payload as stored."""
    revisit_of: Location | None = None
    """The committed (or earlier in this batch) body that this record only points to."""


@dataclass(frozen=True, slots=True)
class Appended:
    """One append to a segment: a byte range with its checksum, and the place of each exchange in it."""

    segment: str
    start: int
    end: int
    crc: int
    stored: tuple[Stored, ...]
    """One for each exchange given, in their order."""
    synced: bool = False
    """The bytes up to `end` were fsynced."""
    closed: tuple[str, int] | None = None
    """The claim's segment that this append left behind, and its length: fsynced whole."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """How far a file of rows has come: its first `bytes` are the rows of all commits up to `commit_no`."""

    path: str
    commit_no: int
    bytes: int
    crc: int
    """CRC-32 of those bytes."""
    rows: int


@dataclass(frozen=True, slots=True)
class Ending:
    """How a claim ends with this commit."""

    action: Action
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything that one transaction writes."""

    reason: CheckpointReason
    at: float
    handled: tuple[Handled, ...] = ()
    appended: Appended | None = None
    host_due: Mapping[int, float] = field(default_factory=dict)
    """Durable politeness: not before this wall-clock time, by host id."""
    active_s: float = 0.0
    """Active time since the last commit of this claim."""
    cursor: Mapping[str, Any] | None = None
    phase: str | None = None
    cautious_left: int | None = None
    """None: as before this commit."""
    ending: Ending | None = None
    streamed: Streamed | None = None
    """A file of rows as it stood before this commit."""


@dataclass(frozen=True, slots=True)
class HostQueue:
    """A host that has items waiting in a phase."""

    id: int
    name: str
    queued: int
    due_at: float | None
    pages: int = 0
    """That were had of it."""
    bytes: int = 0
    """Of their bodies."""
    stage: int = 0
    """The phase, by number, before which none of its items is handled: a host has a queue for each phase."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What the ledger answers: the chunk's new seq, and what a person wants meanwhile."""

    seq: int
    number: int
    counters: Counters
    hosts: tuple[HostQueue, ...] = ()
    """The hosts that this commit gave new items."""
    desired: str | None = None


def cursor_of(handled: tuple[Handled, ...]) -> Mapping[str, Any] | None:
    """The pipeline's notes after a batch; None where it leaves them as they were."""
    noted = (getattr(entry.outcome, "cursor", None) for entry in reversed(handled))
    return next((cursor for cursor in noted if cursor is not None), None)


def exchanges(handled: tuple[Handled, ...]) -> list[Record]:
    """The records of a batch that carry an exchange, in the order in which they are stored."""
    return [
        record
        for entry in handled
        for record in getattr(entry.outcome, "records", ())
        if record.exchange is not None
    ]
