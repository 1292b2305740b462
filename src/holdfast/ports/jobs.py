"""The seam to the jobs themselves: asked for, found, wished upon, taken back. A person's side of the ledger."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.domain.checkpoint import Checkpoint, CheckpointData, CheckpointPolicy
from holdfast.domain.errors import DamagedJob
from holdfast.domain.failures import Which
from holdfast.domain.item import Found
from holdfast.domain.job import Job, Limits, NewJob, Pace
from holdfast.domain.lease import Heartbeat
from holdfast.domain.runs import Difference, Run


@dataclass(frozen=True, slots=True)
class Tally:
    """How many items stand in a status for a reason."""

    status: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class HostReport:
    """A host of a job, as people see it."""

    name: str
    queued: int
    settled: int
    due_at: float | None


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that failed for good: a dead letter."""

    url: str
    reason: str
    attempts: int
    depth: int
    at: float | None
    """When that was committed; None where the commit is no longer known."""
    parent_url: str | None
    """The page on which it was found first; None for a start URL."""


@dataclass(frozen=True, slots=True)
class Sort:
    """Items of one depth that stand in one status for one reason."""

    depth: int
    status: str
    reason: str
    count: int
    example: str
    """The address of one of them."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a job, in the order in which it was committed."""

    id: int
    at: float
    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long a job was paused, since it was submitted or restarted."""

    since: float | None
    """When the present pause began; None if it isn't paused."""
    ended_s: float
    """What the pauses before that one came to."""

    def total_s(self, now: float) -> float:
        """All of them, the present one up to now included."""
        return self.ended_s + (0.0 if self.since is None else max(0.0, now - self.since))


@dataclass(frozen=True, slots=True)
class Errand:
    """What a change under way needs done with files before it is carried on. Done twice, it changes nothing more."""

    job: Job
    source: Job | None
    """Whose files are to be had by the job as well; None: the job's own are to be deleted."""
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Revision:
    """A change of the rules by which a job's addresses are judged: what they were, and what else it brings."""

    spec: Mapping[str, Any]
    """As it was before."""
    max_depth: int | None
    """Likewise."""
    readmitted: frozenset[str] = frozenset()
    """What was skipped for one of these reasons is judged anew."""
    relinks: bool = False
    """What was settled by its links has them judged again."""
    begins: bool = False
    """There are first items that the job did not have."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a job was at a checkpoint of one of its runs, and how its rules have changed since."""

    run: int
    commit: int
    revision: Revision | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an item stands that rules may move, or that is done already."""

    id: int
    url: str
    depth: int
    kind: str
    status: str
    reason: str | None
    handled: bool
    """It came to stand there when it was its turn, rather than when it was found."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of a job's items, all of one range of ids."""

    after: int
    until: int
    items: list[Standing]
    last: bool
    """There are none beyond."""


@dataclass(frozen=True, slots=True)
class Move:
    """An item goes from where it stands to the queue (`reason` None), or is shut out for a reason."""

    item: Standing
    reason: str | None


class Jobs(Protocol):
    """All jobs of a home.

    What is read of a job is its present run's, unless another `run` is named.
    """

    async def submit(
        self, new: NewJob, seeds: Sequence[Found], *, public_id: str, phase: str, now: float
    ) -> Job:
        """Write the job, its chunk and its first items in one transaction.

        If a job of the same identity came to be meanwhile (two processes, one command), that one is returned.
        """

    async def submit_fresh(
        self, new: NewJob, seeds: Sequence[Found], *, public_id: str, phase: str, now: float
    ) -> Job:
        """As submit, but never the job that is there: `--fresh`."""

    async def find(self, reference: str | None) -> Job:
        """By id, unique prefix or end of one, or name (the latest of that name); None: the latest job."""

    async def by_identity(self, identity: str) -> Job | None:
        """The latest job that the same command made."""

    async def all(self) -> list[Job | DamagedJob]:
        """Every job, the latest first; in the place of one that can't be read stands why."""

    async def holder(self, job_id: int) -> Heartbeat | None:
        """Who works on the job, or None."""

    async def pause(self, job_id: int, *, now: float, dead: Heartbeat | None = None) -> Job:
        """Set the wish; where nobody holds the job, or only the claim that was seen dead, it is paused at once."""

    async def cancel(self, job_id: int, *, now: float) -> Job:
        """Cancel and fence: every late commit is refused from here on."""

    async def resume(self, job_id: int, *, now: float) -> Job:
        """A stopped job back to pending, its work kept.

        A time limit that ran out is granted anew, the count of recoveries starts again, and a job that failed for
        want of a start page tries those again.
        """

    async def extend(self, job_id: int, *, now: float) -> Job:
        """A completed job back to pending, because a limit was raised."""

    async def retry(self, job_id: int, which: Which, *, now: float) -> int:
        """Failed items that are meant go back to pending (in slices), as if never tried; gives how many.

        The job is pending then. Where none is meant it stays as it was.
        """

    async def change(
        self,
        job_id: int,
        *,
        limits: Limits,
        pace: Pace,
        checkpoints: CheckpointPolicy,
        spec: Mapping[str, Any] | None = None,
        revision: Revision | None = None,
    ) -> Job:
        """Apply new bounds. With a `revision` nobody can claim the job before `revise` has had its last slice.

        JobHeld if it is in progress, UsageError while another change of it is under way.
        """

    async def revision(self, job_id: int) -> tuple[Revision, int] | None:
        """The revision that is under way, and after which item it goes on; None if there is none."""

    async def upcoming(self, job_id: int, *, hosts: int, each: int) -> list[list[Standing]]:
        """Of the first hosts that have anything queued, which take turns, what is next: `each` items at most.

        What waits for its time is not among them.
        """

    async def standings(self, job_id: int, *, after: int) -> Slice:
        """The items of the job's next slice that are queued, skipped or done, by id. No snapshot is held."""

    async def revise(
        self, job_id: int, slice_: Slice, moves: Sequence[Move], seeds: Sequence[Found] = ()
    ) -> None:
        """Move items of a slice, in one transaction. With the last one `seeds` come in, and the revision is through.

        Does nothing where that slice was moved before, or the revision is over: somebody else carries it on.
        """

    async def grant(self, job_id: int, time_limit_s: float) -> Job:
        """The job may take so much active time from now on, whatever it has used up."""

    async def count_anew(self, job_id: int) -> None:
        """The count of recoveries without progress starts again, because a person takes up a pending job."""

    async def empty(self, job_id: int) -> None:
        """Begin a restart: what the earlier runs left is removed (in slices). Nobody can claim it before `restart`."""

    async def restart(self, job_id: int, seeds: Sequence[Found], *, phase: str, now: float) -> Job:
        """From nothing, as a new run; emptied first where that wasn't done."""

    async def forget(self, job_id: int) -> None:
        """Begin a removal: nobody can find or claim the job from here on. JobHeld if it is in progress."""

    async def remove(self, job_id: int) -> None:
        """Remove the job's rows (in slices); forgotten first where that wasn't done."""

    async def rescan(
        self,
        job_id: int,
        seeds: Sequence[Found],
        whole: Mapping[str, int],
        *,
        keep: int,
        phase: str,
        now: float,
    ) -> None:
        """Begin a new run of a completed job: `seeds` and the pages of its present run are to be asked for again.

        `whole` are the present run's segments, each as far as it is whole and survives a power cut. Of the job's runs
        the last `keep`, this one included, are kept. Nobody can claim the job before `finish_change`.
        """

    async def run_with(self, job_id: int, commit: int | None) -> Job:
        """The job as of the latest run that has that commit; None: as it stands. UsageError if none has it."""

    async def roll_back(self, job_id: int, past: Past, *, phase: str, now: float) -> None:
        """Begin a new run that is what stood then; the job is paused with it after `finish_change`.

        Then the revision, if there is one, is under way. Numbers of commits go on; they are never used again.
        """

    async def fork(
        self,
        job_id: int,
        past: Past,
        *,
        public_id: str,
        named: tuple[str, str | None],
        phase: str,
        now: float,
    ) -> int:
        """Begin another job that is what stood then; gives its id.

        `named`: its identity, and the name that a person gave it. It is paused, and nobody can claim it before
        `finish_change`, and the revision. JobHeld if the job that it is made from is in progress.
        """

    async def errand(self, job_id: int) -> Errand | None:
        """What is to be done with files before the job's change is carried on; None if nothing."""

    async def runs(self, job_id: int) -> list[Run]:
        """The runs that are kept, the oldest first; the last one is the present one."""

    async def of_run(self, job_id: int, run: int) -> Job:
        """The job as it stood when an earlier run ended, or as it stands in the present one; UnknownJob without it."""

    def differences(self, job_id: int, old: int, new: int) -> AsyncIterator[list[Difference]]:
        """What became of each page from one run to another, unchanged ones included, some at a time."""

    async def unfinished(self) -> dict[int, str]:
        """Jobs whose change was interrupted, each with that change.

        It is one of `remove`, `restart`, `bounds`, `retry`, `rescan`, `rollback` and `fork`.
        """

    async def finish_change(self, job_id: int) -> None:
        """Carry a change that was begun to its end, whoever began it.

        A restart is left to `restart`, and new bounds to `revise`.
        """

    def failures(self, job_id: int, *, run: int | None = None) -> AsyncIterator[list[Failure]]:
        """All items that failed, some at a time, in the order of their discovery."""

    async def statuses(self, job_id: int, *, run: int | None = None) -> dict[int, int]:
        """Answers that settled an item, by HTTP status."""

    async def tallies(self, job_id: int, *, run: int | None = None) -> list[Tally]:
        """Items by status and reason, the largest first."""

    async def hosts(self, job_id: int, limit: int, *, run: int | None = None) -> list[HostReport]:
        """The hosts with the most items, those with some queued before the others."""

    async def checkpoints(self, job_id: int, limit: int, *, run: int | None = None) -> list[Checkpoint]:
        """The last checkpoints, the newest first."""

    async def events(self, job_id: int, limit: int) -> list[Event]:
        """The last events, the newest first."""

    async def pauses(self, job_id: int) -> Pauses:
        """When it was paused, and for how long in all."""

    async def checkpoint_data(
        self, job_id: int, limit: int | None = None, *, run: int | None = None
    ) -> CheckpointData:
        """The full picture, computed now. `limit` bounds each list.

        Each address that was known at the beginning stands in one list at the most, whatever a worker does meanwhile.
        """

    async def sorts(self, job_id: int, *, deepest: int) -> list[Sort]:
        """All items by depth, status and reason, counted now. What lies deeper than `deepest` counts as that deep.

        Each item that was known at the beginning is counted once, whatever a worker does meanwhile.
        """

    async def close(self) -> None:
        """Let go of the store."""
