"""Jobs: what was asked for (NewJob), what the ledger knows of it (Job), and what bounds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from holdfast.domain.checkpoint import CheckpointPolicy, Counters
from holdfast.domain.states import Status

NO_START_PAGE = "no start page"
"""Why a job failed that got nothing from any of its start URLs."""


class Durability(StrEnum):
    """What a committed page survives: every kill (process), or a power cut as well (power)."""

    PROCESS = "process"
    POWER = "power"


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a job stops by itself. None means no limit."""

    max_pages: int | None = None
    max_depth: int | None = None
    max_bytes: int | None = None
    time_limit_s: float | None = None
    """Active time only: paused and queued time never counts."""
    host_pages: int | None = None
    """Of each host."""
    host_bytes: int | None = None
    """Of each host: none of its items is begun once the bodies of its pages have come to that."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How hard a job may push: in all, and on each host."""

    concurrency: int = 16
    per_host: int = 2
    delay_s: float = 1.0
    max_rate: float | None = None
    """Requests that begin in a second, of all hosts together."""
    target: float | None = None
    """A host that answers slowly is asked less often: so that on average so many requests are under way on it."""
    max_delay_s: float = 60.0
    """No slower than that for its slowness."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job as it is submitted."""

    kind: str
    identity: str
    """What makes two commands the same one: the name, else the kind and the start URLs."""
    spec: Mapping[str, Any]
    """The pipeline's own part, opaque to the engine: scope, patterns, start URLs."""
    name: str | None = None
    limits: Limits = field(default_factory=Limits)
    pace: Pace = field(default_factory=Pace)
    checkpoints: CheckpointPolicy = field(default_factory=CheckpointPolicy)
    durability: Durability = Durability.PROCESS
    owner: str = ""
    fixed: frozenset[str] = frozenset()
    """The parts of `spec`, by name (`group.part`), that make it another job: a command with others is refused."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the ledger holds it."""

    id: int
    public_id: str
    """UUIDv7, what a person sees; unique prefixes of it are accepted."""
    kind: str
    identity: str
    name: str | None
    spec: Mapping[str, Any]
    limits: Limits
    pace: Pace
    checkpoints: CheckpointPolicy
    durability: Durability
    owner: str
    status: Status
    reason: str | None
    """Why it stands where it stands: `user`, `disk`, `page limit`, `crashed and exceeded max retries`, ..."""
    phase: str
    run: int
    commit_no: int
    desired: str | None
    """`pause` while a person's wish waits for the worker to hear it."""
    created_at: float
    started_at: float | None
    finished_at: float | None
    active_s: float
    granted_s: float
    """Active time used up when the present time limit was granted; the limit counts from here."""
    counters: Counters
    last_checkpoint_at: float | None
    rescan_of: int | None = None
    """The run whose pages this one asks for again; None where it doesn't."""

    @property
    def short_id(self) -> str:
        """The part of the id that people type: the random end of a UUIDv7 differs first."""
        return self.public_id[-8:]
