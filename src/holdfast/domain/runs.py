"""Runs: what stands under a job's number. Only the present one is worked on; the earlier ones stay as they ended."""

from dataclasses import dataclass
from enum import StrEnum


class RunKind(StrEnum):
    """How a run came about."""

    CRAWL = "crawl"
    RESTART = "restart"
    """From nothing: what was before is forgotten."""
    RESCAN = "rescan"
    """The pages of the run before are asked for again."""
    ROLLBACK = "rollback"
    """The job as it was at one of its checkpoints."""
    FORK = "fork"
    """Another job as it was at one of its checkpoints."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run, and what it was made from."""

    number: int
    kind: RunKind
    after_commit: int
    """The job's last commit when it began: its own have greater numbers."""
    base_job: str | None = None
    """Of a fork: the id of the job that it was made from."""
    base_run: int | None = None
    base_commit: int | None = None
    rescan_of: int | None = None
    """The run whose pages it asks for again, by their validators."""


class Change(StrEnum):
    """What became of an address from one run to another."""

    NEW = "new"
    """A page now, and none before."""
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"
    """A page before; now the server says that there is none (404, 410)."""
    MOVED = "moved"
    """A page before, a redirect now."""
    UNKNOWN = "unknown"
    """A page before, and it could not be had now, or not yet."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An address in two runs."""

    url: str
    change: Change
    reason: str
    """Where it is no page now: why not."""
    old_item: int | None
    new_item: int | None
