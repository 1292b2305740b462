"""A person's side of the ledger: jobs submitted, found, wished upon, changed, removed."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import apsw

from holdfast.domain.checkpoint import Checkpoint, CheckpointData, CheckpointPolicy
from holdfast.domain.errors import DamagedJob
from holdfast.domain.failures import Which
from holdfast.domain.item import COUNTED, Found
from holdfast.domain.job import Job, Limits, NewJob, Pace
from holdfast.domain.lease import Heartbeat
from holdfast.domain.runs import Change, Difference, Run, RunKind
from holdfast.domain.states import Action, after
from holdfast.ports.faults import FaultPoint, reached
from holdfast.ports.jobs import (
    Errand,
    Event,
    Failure,
    HostReport,
    Move,
    Past,
    Pauses,
    Revision,
    Slice,
    Sort,
    Standing,
    Tally,
)
from holdfast.stores.sqlite import changes, filling, retrying, revising, rows, slices, steering
from holdfast.stores.sqlite.connection import Database, fetch, immediate
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")
_VISITED, _QUEUED, _EXTERNAL = ("done", None), ("pending", None), ("skipped", COUNTED)


class SqliteJobs:
    """Implements ports.jobs.Jobs on the home's file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def submit(
        self, new: NewJob, seeds: Sequence[Found], *, public_id: str, phase: str, now: float
    ) -> Job:
        """The job with its first items, or the one that another process submitted first."""
        return await self._database.run(
            steering.submit, new, seeds, public_id=public_id, phase=phase, now=now, fresh=False
        )

    async def submit_fresh(
        self, new: NewJob, seeds: Sequence[Found], *, public_id: str, phase: str, now: float
    ) -> Job:
        """A new job whatever is there."""
        return await self._database.run(
            steering.submit, new, seeds, public_id=public_id, phase=phase, now=now, fresh=True
        )

    async def find(self, reference: str | None) -> Job:
        """One job, or UnknownJob or AmbiguousJob."""
        return await self._database.run(steering.find, reference)

    async def by_identity(self, identity: str) -> Job | None:
        """The latest job of that identity."""

        def read(db: apsw.Connection) -> Job | None:
            found = fetch(db, SQL["by_identity"], {"identity": identity})
            return steering.read_job(db, found[0][0]) if found else None

        return await self._database.run(read)

    async def all(self) -> list[Job | DamagedJob]:
        """Every job, the latest first; one that can't be read hides no other."""

        def read_one(db: apsw.Connection, job_id: int) -> Job | DamagedJob:
            try:
                return steering.read_job(db, job_id)
            except DamagedJob as damaged:
                return damaged

        def read(db: apsw.Connection) -> list[Job | DamagedJob]:
            return [read_one(db, job_id) for (job_id,) in fetch(db, SQL["all_ids"])]

        return await self._database.run(read)

    async def holder(self, job_id: int) -> Heartbeat | None:
        """Who works on it."""
        found = await self._rows("holder", {"job_id": job_id})
        return Heartbeat(*found[0]) if found else None

    async def pause(self, job_id: int, *, now: float, dead: Heartbeat | None = None) -> Job:
        """A wish to a living holder, else paused at once."""
        return await self._database.run(steering.pause, job_id, now=now, dead=dead)

    async def cancel(self, job_id: int, *, now: float) -> Job:
        """Fenced in the same transaction."""
        return await self._database.run(steering.stop, job_id, Action.CANCEL, "user", now)

    async def resume(self, job_id: int, *, now: float) -> Job:
        """Back to pending; see the port."""
        return await self._database.run(steering.resume, job_id, Action.RESUME, now)

    async def extend(self, job_id: int, *, now: float) -> Job:
        """A completed job back to pending."""
        return await self._database.run(steering.resume, job_id, Action.EXTEND, now)

    async def retry(self, job_id: int, which: Which, *, now: float) -> int:
        """In slices; see stores.sqlite.retrying."""
        await self._database.run(retrying.begin, job_id, which, now)
        most, more = 0, True
        while more:
            await _breathe(job_id)
            count, more = await self._database.run(retrying.step, job_id)
            most = max(most, count)
        return most

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
        """New bounds; see stores.sqlite.revising for what they move."""

        def bound(db: apsw.Connection) -> Job:
            with immediate(db):
                job = steering.at_rest(db, job_id)
                slices.refuse_changing(db, job_id)
                bounded = replace(job, limits=limits, pace=pace, checkpoints=checkpoints)
                steering.bound(db, bounded if spec is None else replace(bounded, spec=spec))
                if revision is not None:
                    revising.begin(db, job_id, revision)
                return steering.read_job(db, job_id)

        return await self._database.run(bound)

    async def revision(self, job_id: int) -> tuple[Revision, int] | None:
        """From the plan of the change."""
        return await self._database.run(revising.under_way, job_id)

    async def upcoming(self, job_id: int, *, hosts: int, each: int) -> list[list[Standing]]:
        """By the indexes that a worker takes its items by."""
        return await self._database.run(revising.upcoming, job_id, hosts, each)

    async def standings(self, job_id: int, *, after: int) -> Slice:
        """By primary key."""
        return await self._database.run(revising.standings, job_id, after)

    async def revise(
        self, job_id: int, slice_: Slice, moves: Sequence[Move], seeds: Sequence[Found] = ()
    ) -> None:
        """One transaction; see stores.sqlite.revising."""
        await self._database.run(revising.step, job_id, slice_, moves, seeds)
        await _breathe(job_id)

    async def grant(self, job_id: int, time_limit_s: float) -> Job:
        """So much active time from now on."""
        return await self._database.run(steering.grant, job_id, time_limit_s)

    async def count_anew(self, job_id: int) -> None:
        """A person takes it up; see the port."""
        await self._rows("count_anew", {"job_id": job_id})

    async def empty(self, job_id: int) -> None:
        """Unclaimable from the first slice on; see the port."""

        def begin(db: apsw.Connection) -> None:
            with immediate(db):
                if slices.change_of(db, job_id) == "restart":
                    return
                job = steering.read_job(db, job_id)
                after(job.status, Action.RESTART)
                db.execute(SQL["changing"], {"job_id": job_id, "changing": "restart"})

        await self._database.run(begin)
        while await self._database.run(slices.empty, job_id):
            await _breathe(job_id)

    async def restart(self, job_id: int, seeds: Sequence[Found], *, phase: str, now: float) -> Job:
        """From nothing, as a new run."""
        await self.empty(job_id)
        return await self._database.run(steering.new_run, job_id, seeds, phase, now)

    async def forget(self, job_id: int) -> None:
        """Marked as being removed, which no other command looks at."""
        await self._database.run(steering.forget, job_id)

    async def remove(self, job_id: int) -> None:
        """The rows go slice by slice, that of the job last."""
        await self.forget(job_id)
        await self.finish_change(job_id)

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
        """Begun; see stores.sqlite.filling."""
        await self._database.run(filling.begin_rescan, job_id, seeds, whole, keep=keep, phase=phase, now=now)

    async def run_with(self, job_id: int, commit: int | None) -> Job:
        """By the commits of each run."""
        return await self._database.run(filling.run_with, job_id, commit)

    async def roll_back(self, job_id: int, past: Past, *, phase: str, now: float) -> None:
        """Begun; see stores.sqlite.filling."""
        await self._database.run(filling.begin_rollback, job_id, past, phase=phase, now=now)

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
        """Begun; see stores.sqlite.filling."""
        return await self._database.run(
            filling.begin_fork, job_id, past, public_id=public_id, named=named, phase=phase, now=now
        )

    async def errand(self, job_id: int) -> Errand | None:
        """From the plan of the change."""

        def read(db: apsw.Connection) -> Errand | None:
            found = filling.files(db, job_id)
            if found is None:
                return None
            kind, public_id, names = found
            job = steering.read_job(db, job_id)
            if kind == RunKind.RESCAN:
                return Errand(job, None, tuple(names))
            return Errand(job, steering.find(db, public_id), tuple(names))

        return await self._database.run(read)

    async def runs(self, job_id: int) -> list[Run]:
        """The oldest first."""
        return [rows.run(row) for row in await self._rows("runs", {"job_id": job_id})]

    async def of_run(self, job_id: int, run: int) -> Job:
        """As it stood when that run ended, or stands."""
        return await self._database.run(steering.read_job, job_id, run)

    async def differences(self, job_id: int, old: int, new: int) -> AsyncIterator[list[Difference]]:
        """Read in slices, so that no snapshot lasts."""
        ((last,),) = await self._rows("last_item", {})
        for start in range(0, last, slices.SLICE):
            bounds = (start, min(last, start + slices.SLICE))
            found = await self._database.run(filling.compared, job_id, old, new, bounds)
            if found:
                yield [Difference(row[0], Change(row[1]), *row[2:]) for row in found]

    async def finish_change(self, job_id: int) -> None:
        """Whoever else carries it on meanwhile does other slices, or the same ones to no effect."""
        while await self._database.run(changes.step, job_id):
            await _breathe(job_id)

    async def unfinished(self) -> dict[int, str]:
        """Jobs whose change was interrupted, each with that change."""
        return await self._database.run(slices.unfinished)

    async def tallies(self, job_id: int, *, run: int | None = None) -> list[Tally]:
        """Items by status and reason."""
        return [Tally(*row) for row in await self._rows("tallies", {"job_id": job_id, "run": run})]

    async def failures(self, job_id: int, *, run: int | None = None) -> AsyncIterator[list[Failure]]:
        """Read in slices, so that no snapshot lasts."""
        ((last,),) = await self._rows("last_item", {})
        for start in range(0, last, slices.SLICE):
            until = min(last, start + slices.SLICE)
            bounds = {"job_id": job_id, "after": start, "until": until, "run": run}
            found = [Failure(*row[1:]) for row in await self._rows("failures", bounds)]
            if found:
                yield found

    async def statuses(self, job_id: int, *, run: int | None = None) -> dict[int, int]:
        """Answers that settled an item, by HTTP status."""
        return {
            int(status): count
            for status, count in await self._rows("statuses", {"job_id": job_id, "run": run})
        }

    async def hosts(self, job_id: int, limit: int, *, run: int | None = None) -> list[HostReport]:
        """The largest hosts."""
        found = await self._rows("hosts", {"job_id": job_id, "limit": limit, "run": run})
        return [HostReport(*row) for row in found]

    async def checkpoints(self, job_id: int, limit: int, *, run: int | None = None) -> list[Checkpoint]:
        """The newest first."""
        found = await self._rows("checkpoints", {"job_id": job_id, "limit": limit, "run": run})
        return [rows.checkpoint(row) for row in found]

    async def events(self, job_id: int, limit: int) -> list[Event]:
        """The newest first."""
        return [Event(*row) for row in await self._rows("events", {"job_id": job_id, "limit": limit})]

    async def pauses(self, job_id: int) -> Pauses:
        """From the events, which are written with the pauses themselves."""
        return Pauses(*(await self._rows("pauses", {"job_id": job_id}))[0])

    async def checkpoint_data(
        self, job_id: int, limit: int | None = None, *, run: int | None = None
    ) -> CheckpointData:
        """Read in slices, so that no snapshot lasts: each address stands in one list, as it was when its slice was."""
        job = await self._database.run(steering.read_job, job_id, run)
        ((depth,),) = await self._rows("present_depth", {"job_id": job_id, "run": run})
        ((last,),) = await self._rows("last_item", {})
        lists: dict[tuple[str, str | None], list[str]] = {_VISITED: [], _QUEUED: [], _EXTERNAL: []}
        for start in range(0, last, slices.SLICE):
            until = min(last, start + slices.SLICE)
            bounds = {"job_id": job_id, "after": start, "until": until, "run": run}
            for url, status, reason in await self._rows("urls_between", bounds):
                urls = lists.get((status, reason if status == "skipped" else None))
                if urls is not None and (limit is None or len(urls) < limit):
                    urls.append(url)
        return CheckpointData(
            pages_visited=lists[_VISITED],
            pages_queued=lists[_QUEUED],
            external_links_found=lists[_EXTERNAL],
            current_depth=depth,
            crawl_start_time=_iso(job.started_at),
            last_checkpoint_time=_iso(job.last_checkpoint_at),
        )

    async def sorts(self, job_id: int, *, deepest: int) -> list[Sort]:
        """Counted slice by slice, so that no snapshot lasts."""
        found: dict[tuple[int, str, str], tuple[int, str]] = {}
        ((last,),) = await self._rows("last_item", {})
        for start in range(0, last, slices.SLICE):
            bounds = {"after": start, "until": min(last, start + slices.SLICE), "deepest": deepest}
            for *sort, count, _, url in await self._rows("sorts_between", {"job_id": job_id} | bounds):
                depth, status, reason = sort
                before, example = found.get((depth, status, reason), (0, url))
                found[depth, status, reason] = (before + count, example)
            await asyncio.sleep(0)
        return [Sort(*sort, count, example) for sort, (count, example) in sorted(found.items())]

    async def close(self) -> None:
        """Let go of the file."""
        await self._database.close()

    async def _rows(self, name: str, bindings: dict[str, Any]) -> list[Any]:
        def read(db: apsw.Connection) -> list[Any]:
            return fetch(db, SQL[name], bindings)

        return await self._database.run(read)


async def _breathe(job_id: int) -> None:
    """Between two slices: whoever wants to stop us is heard, and may."""
    reached(FaultPoint.MID_CHANGE, job_id)
    await asyncio.sleep(0)


def _iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()
