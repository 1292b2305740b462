"""Stand-ins for the engine's ports: they remember what was asked, and do as the test says."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from tests.kit.builders import appended_for, found, new_job, page
from tests.kit.clock import ManualClock

from holdfast.domain.commit import Appended, Ending, Location
from holdfast.domain.item import Done, Found, Item, Outcome, Record
from holdfast.domain.job import Durability, Job, Limits, NewJob
from holdfast.domain.lease import Claim, Heartbeat, Lease, LeaseTimes
from holdfast.domain.recovery import Recovery
from holdfast.domain.states import Status
from holdfast.engine.batch import Batch
from holdfast.engine.frontier import Frontier
from holdfast.engine.rate import rate_of
from holdfast.engine.tools import Tools
from holdfast.engine.worker import Worker
from holdfast.ports.pipeline import HostPace, PipelineRun, Revised, Verdict
from holdfast.ports.segments import DamagedRecord, Exchange, Original, Reading
from holdfast.stores.sqlite.connection import Database
from holdfast.stores.sqlite.jobs import SqliteJobs
from holdfast.stores.sqlite.ledger import SqliteLedger
from holdfast.stores.workers import LockPresence


@dataclass
class FakeWorkers:
    """Lives as the test says: True, False, or None for another machine's."""

    living: dict[str, bool | None] = field(default_factory=dict)
    crashes: dict[str, str] = field(default_factory=dict)

    def enter(self, worker_id: str) -> LockPresence:
        """No test of these needs a real lock."""
        raise NotImplementedError(worker_id)

    def lives(self, worker_id: str) -> bool | None:
        """As told; a worker nobody spoke of lives."""
        return self.living.get(worker_id, True)

    def crash(self, worker_id: str) -> str | None:
        """As told; others die without a word."""
        return self.crashes.get(worker_id)


@dataclass
class Taken:
    """A call of `recover`."""

    heartbeat: Heartbeat
    why: str
    stalled: bool
    rules: Recovery | None
    silent: bool = False


@dataclass
class FakeHeartbeats:
    """The watchdog's side of a ledger. While `down`, nothing answers."""

    beats: dict[int, Heartbeat] = field(default_factory=dict)
    taken: list[Taken] = field(default_factory=list)
    down: Exception | None = None
    becomes: Status = Status.PENDING
    """What a job is when it was taken back."""

    def shows(self, chunk: int = 1, **changes: Any) -> None:
        """A chunk's heartbeat looks like this from now on."""
        last = self.beats.get(chunk) or Heartbeat(chunk, chunk, 1, 1, 0, f"here/{chunk}/aa", None)
        self.beats[chunk] = replace(last, **changes)

    def renewed(self, chunk: int = 1) -> None:
        """The lease was renewed."""
        self.shows(chunk, beat=self.beats[chunk].beat + 1)

    async def heartbeats(self) -> list[Heartbeat]:
        """Every claimed chunk."""
        if self.down is not None:
            raise self.down
        return list(self.beats.values())

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
        """Takes it back, and remembers why."""
        assert now > 0
        self.taken.append(Taken(heartbeat, why, stalled, rules, silent))
        del self.beats[heartbeat.chunk_id]
        return self.becomes


@dataclass
class FakeSegments:
    """Segments in memory. `before_append` may wait, or raise what a disk would; `before_read` as well."""

    clock: ManualClock
    free: int = 10**12
    damaged: bool = False
    before_append: Callable[[int], Any] | None = None
    before_read: Callable[[], Any] | None = None
    appended: list[list[str]] = field(default_factory=list)
    """The addresses of each append."""
    synced: int = 0

    def writer(self, job: Job, lease: Lease, durability: Durability) -> "FakeWriter":
        """A writer of this claim's own segment."""
        assert durability is job.durability
        return FakeWriter(self, f"c{lease.chunk_id}-e{lease.epoch}")

    def read(self, job: Job, location: Location) -> Reading:
        """A page without content."""
        if self.before_read is not None:
            self.before_read()
        if self.damaged:
            raise DamagedRecord(f"{job.id} {location}")
        return Reading(location, "", 200, (), b"", b"", revisit=False, digest=b"")

    def scan(self, job: Job, segment: str, committed: int) -> Iterator[Reading | DamagedRecord]:
        """Nothing is read back."""
        raise NotImplementedError((job, segment, committed))

    def size(self, job: Job, segment: str) -> int:
        """Never torn."""
        raise NotImplementedError((job, segment))

    def crc(self, job: Job, segment: str, start: int, end: int) -> int | None:
        """Never torn."""
        raise NotImplementedError((job, segment, start, end))

    def settle(self, job: Job, segment: str) -> None:
        """Safe."""

    def link(self, source: Job, target: Job, names: Sequence[str]) -> None:
        """There is nothing to link."""

    def discard(self, job: Job, names: Sequence[str]) -> None:
        """There is nothing to delete."""

    def remove(self, job: Job) -> None:
        """Nothing to delete."""

    def free_bytes(self) -> int:
        """As told."""
        return self.free


@dataclass
class FakeWriter:
    """Counts what it is given."""

    segments: FakeSegments
    name: str
    length: int = 0
    closed: bool = False

    async def append(self, exchanges: Sequence[Exchange], known: Mapping[bytes, Original]) -> Appended:
        """Each exchange takes a hundred bytes."""
        assert not self.closed
        if self.segments.before_append is not None:
            waiting = self.segments.before_append(len(exchanges))
            if waiting is not None:
                await waiting
        del known
        result = appended_for(exchanges, self.name, self.length)
        self.length = result.end
        self.segments.appended.append([sent.response.url for sent in exchanges])
        return result

    async def sync(self) -> tuple[str, int] | None:
        """Safe."""
        self.segments.synced += 1
        return (self.name, self.length) if self.length else None

    async def close(self) -> None:
        """Twice does nothing more."""
        self.closed = True


Behaviour = Callable[[Item], Any]


@dataclass
class FakeSite:
    """A handler and pipeline in one: each path behaves as its function says, given the item; else it is a page.

    A behaviour gives an outcome, or an awaitable of one. A list is used up one by one, its last entry for ever.
    """

    clock: ManualClock
    behaviours: dict[str, Behaviour | list[Behaviour]] = field(default_factory=dict)
    links: dict[str, Sequence[Found]] = field(default_factory=dict)
    pace: HostPace = field(default_factory=lambda: HostPace(per_host=4, delay_s=0.0))
    paces: dict[str, HostPace] = field(default_factory=dict)
    takes_s: float = 0.0
    phases: Sequence[str] = ("crawl",)
    kind: str = "test"
    started: list[tuple[str, float]] = field(default_factory=list)
    """Each address with the monotonic time at which its handling began."""
    met: list[str] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    relinked: list[tuple[Item, Mapping[str, Any]]] = field(default_factory=list)
    """What was judged again, and by which notes."""

    def path(self, url: str) -> str:
        """The path by which `found` knows that address."""
        return url.removeprefix("http://site/").removeprefix("http://")

    async def meet(self, host: str) -> HostPace:
        """The host's own pace, or that of all."""
        self.met.append(host)
        return self.paces.get(host, self.pace)

    async def handle(self, item: Item) -> Outcome:
        """As the path behaves."""
        path = self.path(item.url)
        self.started.append((path, self.clock.monotonic()))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.takes_s)
            behaviour = self.behaviours.get(path)
            if isinstance(behaviour, list):
                behaviour = behaviour.pop(0) if len(behaviour) > 1 else behaviour[0]
            outcome = self._page(item) if behaviour is None else behaviour(item)
            result: Outcome = await outcome if asyncio.iscoroutine(outcome) else outcome
            return result
        finally:
            self.in_flight -= 1

    def _page(self, item: Item) -> Outcome:
        return Done((page(item.url),), tuple(self.links.get(self.path(item.url), ())))

    async def close(self) -> None:
        """Nothing is open."""

    def seeds(self, spec: Mapping[str, Any], limits: Limits) -> list[Found]:
        """The start addresses of the spec."""
        del limits
        return [found(path) for path in spec.get("start", ("a",))]

    @property
    def judged(self) -> frozenset[str]:
        """By depth and by name."""
        return frozenset({"depth", "shunned"})

    def revised(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Revised:
        """What the new spec says beyond the old one."""
        return Revised(
            new,
            judged=old.get("shuns") != new.get("shuns"),
            readmitted=frozenset(new.get("readmits", ())) - frozenset(old.get("readmits", ())),
            relinks=bool(new.get("relinks")),
            begins=old.get("start") != new.get("start"),
        )

    def verdict(self, spec: Mapping[str, Any], limits: Limits, cursor: Mapping[str, Any]) -> Verdict:
        """What the spec shuns by its path, and what lies too deep."""
        del cursor
        shunned, most = spec.get("shuns", ()), limits.max_depth

        def verdict(url: str, depth: int, kind: str) -> str | None:
            del kind
            if self.path(url) in shunned:
                return "shunned"
            return "depth" if most is not None and depth > most else None

        return verdict

    def relink(
        self, job: Job, cursor: Mapping[str, Any], item: Item, record: Record, reading: Reading | None
    ) -> Iterable[Found]:
        """The links of the path, one deeper than the item stands now."""
        del job, record, reading
        self.relinked.append((item, cursor))
        return [
            replace(link, depth=item.depth + 1, skip=None) for link in self.links.get(self.path(item.url), ())
        ]

    @property
    def paths(self) -> list[str]:
        """What was handled, in order."""
        return [path for path, _ in self.started]


def _no_keeper() -> NoReturn:
    raise AssertionError("a worker alone has no keeper")


@dataclass
class Rig:
    """A worker with a real ledger, and all else faked."""

    clock: ManualClock
    ledger: SqliteLedger
    jobs: SqliteJobs
    site: FakeSite
    segments: FakeSegments
    times: LeaseTimes = field(default_factory=LeaseTimes)
    min_free_bytes: int = 0

    @property
    def tools(self) -> Tools:
        """What the engine is handed."""

        def open_handler(run: PipelineRun) -> FakeSite:
            del run
            return self.site

        return Tools(
            jobs=self.jobs,
            ledger=self.ledger,
            segments=self.segments,
            workers=FakeWorkers(),
            clock=self.clock,
            pipeline_of=lambda _kind, _spec: self.site,
            open_handler=open_handler,
            another_ledger=_no_keeper,
            times=self.times,
            min_free_bytes=self.min_free_bytes,
        )

    async def submit(self, *start: str, new: NewJob | None = None) -> Job:
        """A job with those start pages."""
        seeds = [found(path) for path in start or ("a",)]
        public_id = "01920000-0000-7000-8000-000000000001"
        return await self.jobs.submit(
            new or new_job(), seeds, public_id=public_id, phase="queued", now=self.clock.wall()
        )

    async def claim(self) -> Claim:
        """The latest job, claimed."""
        job = await self.jobs.find(None)
        claim = await self.ledger.claim(job.id, "here/1/aa", now=self.clock.wall())
        assert claim is not None
        return claim

    def worker(self, claim: Claim) -> Worker:
        """At work on that claim as soon as it is told to."""
        writer = self.segments.writer(claim.job, claim.lease, claim.job.durability)
        frontier = Frontier(claim.job.limits, rate_of(claim.job.pace.max_rate))
        return Worker(self.tools, claim, self.site, Batch(self.tools, claim.lease, writer), frontier)

    async def work(self) -> Ending:
        """A claim, worked on to its end."""
        return await self.worker(await self.claim()).work()

    async def job(self) -> Job:
        """As it stands; and the ledger must agree with itself."""
        job = await self.jobs.find(None)
        assert await self.ledger.discrepancies(job.id) == []
        return job

    async def crash(self) -> None:
        """The worker's process is gone, and somebody saw it."""
        job = await self.jobs.find(None)
        holder = await self.jobs.holder(job.id)
        assert holder is not None
        await self.ledger.recover(
            holder, why="its worker died", stalled=False, rules=Recovery(), now=self.clock.wall()
        )

    async def reasons(self) -> list[str]:
        """Why each checkpoint was made, the oldest first."""
        job = await self.jobs.find(None)
        return [str(made.reason) for made in reversed(await self.jobs.checkpoints(job.id, 1000))]

    async def batches(self) -> list[int]:
        """How many items each checkpoint took."""
        job = await self.jobs.find(None)
        return [made.items for made in reversed(await self.jobs.checkpoints(job.id, 1000))]


@asynccontextmanager
async def rigged(home: Path, clock: ManualClock, **changes: Any) -> AsyncIterator[Rig]:
    """A rig in that home."""
    database = Database(home)
    rig = Rig(
        clock=clock,
        ledger=SqliteLedger(database),
        jobs=SqliteJobs(database),
        site=FakeSite(clock),
        segments=FakeSegments(clock),
        **changes,
    )
    try:
        yield rig
    finally:
        await database.close()
