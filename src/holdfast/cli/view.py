"""What a display shows of a running job: read from the ledger now and then, by a connection of its own."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.cli.words import rough
from holdfast.domain.checkpoint import Checkpoint
from holdfast.domain.job import Job
from holdfast.domain.states import Status
from holdfast.ports.clock import Clock
from holdfast.ports.jobs import HostReport, Jobs

WINDOW_S: Final = 15.0
"""Speeds are what they were over so many seconds."""
SPARKS: Final = 40
_SPARK_S: Final = 1.0
_HOSTS: Final = 50
_HOSTS_EVERY_S: Final = 2.0
_SURE_AFTER_S: Final = 3.0


AtWork = Callable[[], Mapping[str, int]]
"""Whom the crawl of this very process is asking now, and for how many items each."""


@dataclass(frozen=True, slots=True)
class Left:
    """How long it may still take: at least `least_s`; at most `most_s`, unless the queue grows (None)."""

    least_s: float
    most_s: float | None

    def __str__(self) -> str:
        """`3 to 9 min left`; a growing queue has no end that we could know."""
        least = rough(self.least_s)
        if self.most_s is None:
            return f"at least {least} left, the queue is growing"
        most = rough(self.most_s)
        if least == most:
            return f"about {least} left"
        number, unit = least.split(" ")
        return f"{number if most.endswith(f' {unit}') else least} to {most} left"


@dataclass(frozen=True, slots=True)
class View:
    """One look at a job."""

    job: Job
    at: float
    checkpoint: Checkpoint | None = None
    hosts: tuple[HostReport, ...] = ()
    """Those with items queued, the largest first."""
    pages_per_s: float | None = None
    bytes_per_s: float | None = None
    left: Left | None = None
    sparks: tuple[float, ...] = ()
    """Pages per second, second by second."""

    since_s: float = 0.0
    """Active time since the last checkpoint, as far as whoever looks has seen it."""
    other_hosts: bool = False
    """There are more hosts than were looked at."""
    at_work: tuple[tuple[str, int], ...] = ()
    """Hosts that are being asked now, the busiest first; nobody but the process at work knows that."""

    @property
    def state(self) -> str:
        """The phase, or what happens instead of it."""
        if self.job.status is not Status.IN_PROGRESS:
            return self.job.status.value
        if self.job.desired == "pause":
            return "pausing"
        # A completed job that goes on is in its last phase until its first commit.
        return "starting" if self.job.phase == Status.COMPLETED.value else self.job.phase

    @property
    def active_s(self) -> float:
        """Active time up to now; the ledger's own ends at the last checkpoint."""
        return self.job.active_s + self.since_s


@dataclass(frozen=True, slots=True)
class Sample:
    """Counters at a moment of the monotonic clock."""

    at: float
    done: int
    queued: int
    bytes: int


@dataclass(slots=True)
class Speed:
    """Folds samples into speeds and an honest estimate."""

    samples: deque[Sample] = field(default_factory=deque)
    sparks: deque[float] = field(default_factory=lambda: deque(maxlen=SPARKS))
    _spark_from: Sample | None = None

    def add(self, sample: Sample) -> None:
        """One more; a job that was restarted meanwhile counts from there."""
        if self.samples and sample.done < self.samples[-1].done:
            self.samples.clear()
            self._spark_from = None
        self.samples.append(sample)
        while len(self.samples) > 2 and sample.at - self.samples[1].at >= WINDOW_S:  # noqa: PLR2004 - both ends
            self.samples.popleft()
        first = self._spark_from
        if first is None:
            self._spark_from = sample
        elif sample.at - first.at >= _SPARK_S:
            self.sparks.append((sample.done - first.done) / (sample.at - first.at))
            self._spark_from = sample

    @property
    def period_s(self) -> float:
        """How long the samples reach back."""
        return self.samples[-1].at - self.samples[0].at if self.samples else 0.0

    def per_s(self, name: str) -> float | None:
        """How fast that counter rises (or falls); None before that can be told."""
        if self.period_s < _SPARK_S:
            return None
        return float(getattr(self.samples[-1], name) - getattr(self.samples[0], name)) / self.period_s

    def left(self, max_pages: int | None) -> Left | None:
        """From the speed, and from how the queue shrank while it was worked off."""
        pages = self.per_s("done")
        if pages is None or pages <= 0 or self.period_s < _SURE_AFTER_S:
            return None
        queued, done = self.samples[-1].queued, self.samples[-1].done
        budget = None if max_pages is None else max(0, max_pages - done)
        shrinks = -(self.per_s("queued") or 0.0)
        # Short of the whole queue by what a limit allows; longer by what is still to be found.
        least = min(queued, budget) / pages if budget is not None else queued / pages
        most = queued / shrinks if shrinks > 0 else None
        if budget is not None:
            most = budget / pages if most is None else min(most, budget / pages)
        return Left(least, None if most is None else max(least, most))


class Observer:
    """Looks at one job again and again."""

    def __init__(self, jobs: Jobs, public_id: str, clock: Clock, at_work: AtWork | None = None) -> None:
        self._jobs = jobs
        self._public_id = public_id
        self._clock = clock
        self._at_work = at_work or dict
        self._speed = Speed()
        self._hosts: tuple[HostReport, ...] = ()
        self._other_hosts = False
        self._hosts_at = float("-inf")
        self._commit_no = -1
        self._commit_at = 0.0

    async def look(self) -> View:
        """The job now: a few short reads, none of which holds a snapshot."""
        job = await self._jobs.find(self._public_id)
        checkpoints = await self._jobs.checkpoints(job.id, 1)
        now = self._clock.monotonic()
        if now - self._hosts_at >= _HOSTS_EVERY_S:
            self._hosts_at = now
            hosts = await self._jobs.hosts(job.id, _HOSTS + 1)
            self._hosts = tuple(host for host in hosts[:_HOSTS] if host.queued)
            self._other_hosts = len(hosts) > _HOSTS
        if job.commit_no != self._commit_no or job.status is not Status.IN_PROGRESS:
            # Not from the wall-clock time of the last checkpoint: that may lie before a long pause.
            self._commit_no, self._commit_at = job.commit_no, now
        counters = job.counters
        self._speed.add(Sample(now, counters.done, counters.queued, counters.bytes))
        return View(
            job=job,
            at=self._clock.wall(),
            checkpoint=checkpoints[0] if checkpoints else None,
            hosts=self._hosts,
            at_work=tuple(sorted(self._at_work().items(), key=lambda host: -host[1])),
            other_hosts=self._other_hosts,
            pages_per_s=self._speed.per_s("done"),
            bytes_per_s=self._speed.per_s("bytes"),
            left=self._speed.left(job.limits.max_pages),
            sparks=tuple(self._speed.sparks),
            since_s=now - self._commit_at,
        )
