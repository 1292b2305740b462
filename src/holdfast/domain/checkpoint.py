"""When a checkpoint is due, what it says, and the full picture that can be computed at any time."""

from dataclasses import dataclass, field
from enum import StrEnum

HELD_BYTES = 64 * 1024 * 1024
"""So much evidence in memory makes a checkpoint due, whatever number of items it belongs to."""


class CheckpointReason(StrEnum):
    """Why a commit was made when it was."""

    ITEMS = "items"
    SIZE = "size"
    """Few items, but large ones."""
    TIME = "time"
    PHASE = "phase"
    PAUSE = "pause"
    LIMIT = "limit"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"
    DISK = "disk"
    FINISH = "finish"
    CAUTION = "caution"
    """Poison is suspected: one item at a time."""
    IDLE = "idle"
    """Some of us had nothing else to do before this was committed."""


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """A checkpoint is due after so many items or seconds, or `HELD_BYTES`, whichever comes first."""

    items: int = 10
    seconds: float = 120.0

    def due(self, uncommitted: int, since_last_s: float, held_bytes: int = 0) -> CheckpointReason | None:
        """The reason why one is due now, or None."""
        if uncommitted >= self.items:
            return CheckpointReason.ITEMS
        if held_bytes >= HELD_BYTES:
            return CheckpointReason.SIZE
        if uncommitted and since_last_s >= self.seconds:
            return CheckpointReason.TIME
        return None


@dataclass(frozen=True, slots=True)
class Counters:
    """What a chunk, and by summing a job, has come to. Raised inside the commit, never on its own."""

    found: int = 0
    queued: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    redirected: int = 0
    consulted: int = 0
    """Sitemaps, feeds and the like: read for the addresses in them, no pages."""
    bytes: int = 0
    external: int = 0
    """Rejected links that were too many to keep as items: counted, not listed."""

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(
            self.found + other.found,
            self.queued + other.queued,
            self.done + other.done,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.redirected + other.redirected,
            self.consulted + other.consulted,
            self.bytes + other.bytes,
            self.external + other.external,
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One commit, as the ledger remembers it."""

    number: int
    """Job-wide and never used again."""
    chunk_id: int
    epoch: int
    seq: int
    reason: CheckpointReason
    at: float
    items: int
    depth: int
    counters: Counters
    segment: str | None = None
    offset: int = 0
    """The segment's committed length after this commit."""


@dataclass(frozen=True, slots=True)
class CheckpointData:
    """Everything a checkpoint means, computed from the ledger when asked for; nothing of it is stored.

    A field that the ledger has no rows for yet takes its default (R281).
    """

    pages_visited: list[str] = field(default_factory=list)
    pages_queued: list[str] = field(default_factory=list)
    external_links_found: list[str] = field(default_factory=list)
    current_depth: int = 0
    crawl_start_time: str | None = None
    last_checkpoint_time: str | None = None
    entities_extracted_count: int = 0
    analysis_sections_completed: list[str] = field(default_factory=list)
