"""The stores that the suite runs on. A second one is a second entry of OPENERS; no test changes."""

import contextlib
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.kit.builders import RECORD_BYTES, batch, found, new_job
from tests.kit.clock import NOON
from tests.kit.revisions import carried_on

from holdfast.domain.commit import Commit, Committed
from holdfast.domain.item import Found, Handled, Item
from holdfast.domain.job import Job, NewJob
from holdfast.domain.lease import Claim, Lease
from holdfast.ports.jobs import Jobs, Past, Revision
from holdfast.ports.ledger import Ledger
from holdfast.stores.sqlite import changes, retrying, revising, slices
from holdfast.stores.sqlite.connection import Database
from holdfast.stores.sqlite.jobs import SqliteJobs
from holdfast.stores.sqlite.ledger import SqliteLedger


@dataclass
class Store:
    """One process's view of a home."""

    jobs: Jobs
    ledger: Ledger
    closed: bool = False

    async def close(self) -> None:
        if not self.closed:
            self.closed = True
            await self.jobs.close()

    async def submit(self, *seeds: str | Found, new: NewJob | None = None, nth: int = 1) -> Job:
        """A job with these start items; `nth` makes its id one of its own."""
        findings = [found(seed) if isinstance(seed, str) else seed for seed in seeds or ("a",)]
        public_id = f"01920000-0000-7000-8000-{nth:012x}"
        return await self.jobs.submit(
            new or new_job(), findings, public_id=public_id, phase="queued", now=NOON
        )

    async def claim(self, job: Job, worker: str = "here/1/aa", now: float = NOON) -> Claim:
        """A claim that must work."""
        claim = await self.ledger.claim(job.id, worker, now=now)
        assert claim is not None
        return claim

    async def working(self, *seeds: str | Found, new: NewJob | None = None) -> "Working":
        """A new job, claimed."""
        job = await self.submit(*seeds, new=new)
        return Working(self, (await self.claim(job)).lease)


@dataclass
class Working:
    """A claim at work: keeps the lease's seq and the segment's length as a worker does."""

    store: Store
    lease: Lease
    written: int = 0
    stage: int = 0
    """The number of the phase that the claim is in."""

    @property
    def segment(self) -> str:
        return f"c{self.lease.chunk_id}-e{self.lease.epoch}"

    async def take(self, taken: Collection[int] = ()) -> list[Item]:
        """Everything that may be handled at once, host by host."""
        hosts = await self.store.ledger.queued_hosts(self.lease, after=0, limit=1000, stage=self.stage)
        items = []
        for host in hosts:
            items += await self.store.ledger.take(self.lease, host.id, limit=1000, taken=taken)
        return items

    async def item(self, path: str) -> Item:
        """The pending item of that address."""
        url = found(path).url
        return next(item for item in await self.take() if item.url == url)

    def batch(self, *entries: Handled, **notes: object) -> Commit:
        """A commit that goes on where the segment ends."""
        return batch(*entries, segment=self.segment, start=self.written, **notes)  # type: ignore[arg-type]

    async def commit(self, *entries: Handled, **notes: object) -> Committed:
        """A commit that must work."""
        prepared = self.batch(*entries, **notes)
        committed = await self.store.ledger.commit(self.lease, prepared)
        self.lease = replace(self.lease, seq=committed.seq)
        if prepared.appended is not None:
            self.written += RECORD_BYTES * len(prepared.appended.stored)
        return committed

    async def job(self) -> Job:
        return await self.store.ledger.job(self.lease.job_id)

    async def honest(self) -> None:
        """The ledger agrees with itself."""
        assert await self.store.ledger.discrepancies(self.lease.job_id) == []


def _open_sqlite(home: Path) -> Store:
    database = Database(home)
    return Store(SqliteJobs(database), SqliteLedger(database))


OPENERS: dict[str, Callable[[Path], Store]] = {"sqlite": _open_sqlite}


@dataclass
class Home:
    """A place where a store of some kind lives; `open` gives views that know nothing of each other."""

    kind: str
    where: Path
    opened: list[Store]

    def open(self) -> Store:
        store = OPENERS[self.kind](self.where)
        self.opened.append(store)
        return store


async def past_of(store: Store, job_id: int, commit: int) -> Past:
    """What the job was at that commit; the tests' rules are its depth limit."""
    was, now = await store.jobs.run_with(job_id, commit), await store.ledger.job(job_id)
    moved = was.limits.max_depth != now.limits.max_depth
    return Past(was.run, commit, Revision(was.spec, was.limits.max_depth) if moved else None)


async def roll_back(store: Store, job_id: int, commit: int) -> Job:
    """The whole way back, as the engine goes it."""
    await store.jobs.roll_back(job_id, await past_of(store, job_id, commit), phase="queued", now=NOON)
    await store.jobs.finish_change(job_id)
    return await carried_on(store.jobs, store.ledger, job_id)


async def fork(store: Store, job_id: int, commit: int, named: tuple[str, str | None] = ("fork", None)) -> int:
    """A fork, whole; its id."""
    past = await past_of(store, job_id, commit)
    fork_id = await store.jobs.fork(
        job_id, past, public_id=f"fork {named}", named=named, phase="queued", now=NOON
    )
    await store.jobs.finish_change(fork_id)
    await carried_on(store.jobs, store.ledger, fork_id)
    return fork_id


async def after_slices(
    store: Store, monkeypatch: pytest.MonkeyPatch, count: int, begin: Callable[[], Awaitable[Any]]
) -> None:
    """Crash after so many slices of a change."""
    taken = 0
    places = [(changes, "step"), (slices, "empty"), (retrying, "step"), (revising, "step")]
    whole = [getattr(*place) for place in places]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def slice_(db: apsw.Connection, job_id: int, *after: Any) -> Any:
            nonlocal taken
            if taken == count:
                raise KeyboardInterrupt
            taken += 1
            return real(db, job_id, *after)

        return slice_

    monkeypatch.setattr(slices, "SLICE", 1)
    for place, real in zip(places, whole, strict=True):
        monkeypatch.setattr(*place, counted(real))
    with contextlib.suppress(KeyboardInterrupt):
        await begin()
    for place, real in zip(places, whole, strict=True):
        monkeypatch.setattr(*place, real)
    await store.close()
