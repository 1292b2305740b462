"""The seam to what a job is about. The engine runs items; a pipeline knows what they are."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.domain.commit import Location
from holdfast.domain.item import Found, Item, Outcome, Record
from holdfast.domain.job import Job, Limits
from holdfast.ports.segments import Reading


@dataclass(frozen=True, slots=True)
class HostPace:
    """How a host wants to be treated, as learnt from itself."""

    per_host: int
    delay_s: float
    until: float = float("inf")
    """On the monotonic clock: after that it is to be met again, before its next item."""
    machine: str = ""
    """Hosts of the same machine share one pace: what is in flight, and the time since the last start. It is always the
    same for a host; "" is a machine of its own."""
    asked: bool = True
    """Learning this took a request."""


def _as_before(host_id: int, pace: HostPace) -> None:
    """Nobody is there who paces."""


def _at_any_time(host_id: int, until: float) -> None:
    """Nobody is there who waits."""


Reread = Callable[[Location], Awaitable[Reading]]
"""Reads a stored exchange back; raises DamagedRecord where it isn't one, StorageFailed if it can't be read now."""


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """What the engine lends a pipeline for one claim."""

    job: Job
    cursor: Mapping[str, Any]
    outside: Collection[str] = ()
    """Addresses that were kept though they are out of scope (COUNTED)."""
    repace: Callable[[int, HostPace], None] = _as_before
    """Tells the engine that a host (by its id) wants to be treated otherwise from now on."""
    hold: Callable[[int, float], None] = _at_any_time
    """Tells the engine to leave a host (by its id) alone until that time on the monotonic clock."""
    reread: Reread | None = None
    """For what an item has `earlier`, which names the place of its body."""


Verdict = Callable[[str, int, str], str | None]
"""Of an address, its depth and the kind of its item: why it isn't followed; None where it is."""


@dataclass(frozen=True, slots=True)
class Revised:
    """What another spec is to a job that is there."""

    spec: Mapping[str, Any]
    """As it is stored with the job: what it began with stays a part of it."""
    judged: bool = False
    """Addresses may be judged otherwise than they were."""
    readmitted: frozenset[str] = frozenset()
    """For which reasons items were skipped that would not be under the new spec, whatever their addresses."""
    relinks: bool = False
    """The links of what was settled have to be judged again: they may lead to what was only counted, or isn't known."""
    begins: bool = False
    """There are first items that the job did not have."""


class Handler(Protocol):
    """A pipeline at work on one claim."""

    @property
    def phases(self) -> Sequence[str]:
        """The ordered phases; each ends when none of its items is pending."""

    async def meet(self, host: str) -> HostPace:
        """Called before the first item of each host in a claim, and when its pace has run out: learn its rules."""

    async def handle(self, item: Item) -> Outcome:
        """Handle one item. Never raises for what the world does; only for what we did wrong."""

    async def close(self) -> None:
        """Let go of connections."""


class Pipeline(Protocol):
    """A kind of job."""

    @property
    def kind(self) -> str:
        """The name that jobs of this kind carry."""

    def seeds(self, spec: Mapping[str, Any], limits: Limits) -> list[Found]:
        """The first items of a job."""

    @property
    def judged(self) -> frozenset[str]:
        """The reasons that `verdict` may give."""

    def revised(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Revised:
        """What becomes of a job's spec by a command that asks for another one."""

    def verdict(self, spec: Mapping[str, Any], limits: Limits, cursor: Mapping[str, Any]) -> Verdict:
        """The judge of the job's links, for addresses that are known: all that can be told without who named them."""

    def relink(
        self, job: Job, cursor: Mapping[str, Any], item: Item, record: Record, reading: Reading | None
    ) -> Iterable[Found]:
        """What a stored exchange leads to, judged again from its bytes."""
