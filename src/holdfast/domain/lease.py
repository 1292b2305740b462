"""Leases: a claim on a chunk, and how the watchdog tells that one has run out."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from holdfast.domain.item import Item
from holdfast.domain.job import Job


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim on a chunk. The epoch is the fencing token: each claim raises it, every write names it."""

    job_id: int
    chunk_id: int
    run: int
    epoch: int
    seq: int
    worker_id: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What a worker gets when it claims a chunk."""

    lease: Lease
    job: Job
    cursor: Mapping[str, Any]
    """The pipeline's own notes, saved with each commit."""
    cautious_left: int
    """So many items are to be handled one at a time, each named before it is handled (poison)."""
    marked: Item | None
    """The item that a dead claim had named, if nothing was committed since."""
    marked_deaths: int
    """How many claims in a row crashed, or hung, while it was named."""
    marked_silent: int
    """How many ended without a trace, or let their lease run out: by a kill or a stop from outside, most likely."""
    recovered: bool
    """The claim before this one ended without a release."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a renewal tells of its claim."""

    seq: int
    """Of the last commit."""
    since_commit_s: float = 0.0
    """Active time since then."""
    waiting_until: float | None = None
    """There is nothing to do before this wall-clock time."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """The two clocks of a lease, and how fast wishes are heard. All in seconds, all settings."""

    renew_s: float = 10.0
    expire_s: float = 120.0
    stall_s: float = 1800.0
    stale_s: float = 3600.0
    poll_s: float = 0.25
    drain_s: float = 5.0
    sweep_s: float = 60.0
    max_retries: int = 3

    @property
    def max_stalls(self) -> int:
        """After so many stalls in a row without progress the job is stale, not just a chunk stuck.

        Only a stall is looked at: a time in between means the stall after it, never the one before.
        """
        return max(1, ceil(round(self.stale_s / self.stall_s, 6)))


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What the watchdog reads of a claimed chunk."""

    job_id: int
    chunk_id: int
    epoch: int
    beat: int
    seq: int
    worker_id: str
    waiting_until: float | None
    """The chunk waits for a stored due time: no progress until then is no staleness."""
    public_id: str = ""
    """The job's, for what is told of it."""
    claims_since_progress: int = 0
    """This one included: as many retries there will have been when it is taken back."""

    @property
    def short_id(self) -> str:
        """The job's id as people type it."""
        return self.public_id[-8:]


@dataclass(frozen=True, slots=True)
class Sighting:
    """Since when, on the watchdog's own monotonic clock, a heartbeat and a seq have looked the same."""

    heartbeat: Heartbeat
    beat_since: float
    seq_since: float


def sight(last: Sighting | None, heartbeat: Heartbeat, now: float, wall_now: float) -> Sighting:
    """Fold what was read now into what was seen before; anything that changed starts its period anew.

    While a chunk waits for a stored due time it makes no progress and needs none: its period begins when that time
    has come.
    """
    if last is None or last.heartbeat.epoch != heartbeat.epoch:
        return Sighting(heartbeat, now, now)
    due = heartbeat.waiting_until
    waits = due is not None and due > wall_now
    beat_since = last.beat_since if last.heartbeat.beat == heartbeat.beat else now
    seq_since = last.seq_since if last.heartbeat.seq == heartbeat.seq and not waits else now
    return Sighting(heartbeat, beat_since, seq_since)


def expired(sighting: Sighting, times: LeaseTimes, now: float) -> bool:
    """Nobody renewed the lease for the whole period, as seen by one clock."""
    return now - sighting.beat_since >= times.expire_s


def stalled_for(sighting: Sighting, now: float) -> float:
    """Seconds without progress."""
    return now - sighting.seq_since
