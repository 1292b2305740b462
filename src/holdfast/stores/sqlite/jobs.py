"""A person's side of the ledger: jobs submitted, found, wished upon, changed, removed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import apsw

from holdfast.domain.checkpoint import Checkpoint, CheckpointData, CheckpointPolicy
from holdfast.domain.commit import Ending
from holdfast.domain.errors import AmbiguousJob, JobHeld, UnknownJob
from holdfast.domain.item import Found
from holdfast.domain.job import NO_START_PAGE, Job, Limits, NewJob, Pace
from holdfast.domain.lease import Heartbeat, Lease
from holdfast.domain.states import Action, Status, after
from holdfast.ports.jobs import Event, HostReport, Tally
from holdfast.stores.sqlite import commit, rows, slices
from holdfast.stores.sqlite.connection import Database, fetch, immediate
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")
_EVERYTHING = 2**62


class SqliteJobs:
    """Implements ports.jobs.Jobs on the home's file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def submit(
        self, new: NewJob, seeds: Sequence[Found], *, public_id: str, phase: str, now: float
    ) -> Job:
        """The job with its first items, or the one that another process submitted first."""
        return await self._database.run(_submit, new, seeds, public_id, phase, now, fresh=False)

    async def submit_fresh(
        self, new: NewJob, seeds: Sequence[Found], *, public_id: str, phase: str, now: float
    ) -> Job:
        """A new job whatever is there."""
        return await self._database.run(_submit, new, seeds, public_id, phase, now, fresh=True)

    async def find(self, reference: str | None) -> Job:
        """One job, or UnknownJob or AmbiguousJob."""
        return await self._database.run(_find, reference)

    async def by_identity(self, identity: str) -> Job | None:
        """The latest job of that identity."""

        def read(db: apsw.Connection) -> Job | None:
            found = fetch(db, SQL["by_identity"], {"identity": identity})
            return read_job(db, found[0][0]) if found else None

        return await self._database.run(read)

    async def all(self) -> list[Job]:
        """Every job, the latest first."""

        def read(db: apsw.Connection) -> list[Job]:
            return [read_job(db, job_id) for (job_id,) in fetch(db, SQL["all_ids"])]

        return await self._database.run(read)

    async def holder(self, job_id: int) -> Heartbeat | None:
        """Who works on it."""
        found = await self._rows("holder", {"job_id": job_id})
        return Heartbeat(*found[0]) if found else None

    async def pause(self, job_id: int, *, now: float, holder_lives: bool) -> Job:
        """A wish to a living holder, else paused at once."""
        return await self._database.run(_pause, job_id, now, holder_lives)

    async def cancel(self, job_id: int, *, now: float) -> Job:
        """Fenced in the same transaction."""
        return await self._database.run(_stop, job_id, Action.CANCEL, "user", now)

    async def resume(self, job_id: int, *, now: float) -> Job:
        """Back to pending; see the port."""
        return await self._database.run(_resume, job_id, Action.RESUME, now)

    async def extend(self, job_id: int, *, now: float) -> Job:
        """A completed job back to pending."""
        return await self._database.run(_resume, job_id, Action.EXTEND, now)

    async def change(
        self,
        job_id: int,
        *,
        limits: Limits,
        pace: Pace,
        checkpoints: CheckpointPolicy,
        spec: Mapping[str, Any] | None = None,
    ) -> Job:
        """New bounds; see stores.sqlite.slices for what a moved depth limit does."""

        def bound(db: apsw.Connection) -> None:
            with immediate(db):
                job = read_job(db, job_id)
                if job.status is Status.IN_PROGRESS:
                    # Items that its worker has in hand would be settled behind its back.
                    raise JobHeld(f"job {job.short_id} is being worked on; pause it, then change its limits")
                stored = {
                    "limits": asdict(limits),
                    "pace": asdict(pace),
                    "checkpoints": asdict(checkpoints),
                    "durability": job.durability.value,
                }
                db.execute(
                    SQL["set_bounds"],
                    {
                        "job_id": job_id,
                        "bounds": rows.dumps(stored),
                        "spec": rows.dumps(job.spec if spec is None else spec),
                    },
                )
                if limits.max_depth != job.limits.max_depth:
                    db.execute(SQL["changing"], {"job_id": job_id, "changing": "bounds"})

        await self._database.run(bound)
        await self.finish_change(job_id)
        return await self._database.run(read_job, job_id)

    async def restart(self, job_id: int, seeds: Sequence[Found], *, phase: str, now: float) -> Job:
        """From nothing, as a new run."""

        def begin(db: apsw.Connection) -> None:
            with immediate(db):
                if slices.change_of(db, job_id) == "restart":
                    return
                job = read_job(db, job_id)
                after(job.status, Action.RESTART)
                db.execute(SQL["changing"], {"job_id": job_id, "changing": "restart"})

        await self._database.run(begin)
        while await self._database.run(slices.empty, job_id):
            pass
        return await self._database.run(_new_run, job_id, seeds, phase, now)

    async def remove(self, job_id: int) -> None:
        """Forgotten from the first slice on; the rows go slice by slice."""

        def begin(db: apsw.Connection) -> None:
            with immediate(db):
                read_job(db, job_id)
                db.execute(SQL["changing"], {"job_id": job_id, "changing": "remove"})
                # A worker that went on writing between the slices would leave rows behind.
                db.execute(SQL["fence_off"], {"job_id": job_id, "status": Status.CANCELLED})

        await self._database.run(begin)
        await self.finish_change(job_id)

    async def finish_change(self, job_id: int) -> None:
        """Carry a removal or a change of bounds that was begun to its end."""
        while await self._database.run(slices.step, job_id):
            pass

    async def unfinished(self) -> list[int]:
        """Jobs whose removal or change of bounds was interrupted."""
        return await self._database.run(slices.unfinished)

    async def tallies(self, job_id: int) -> list[Tally]:
        """Items by status and reason."""
        return [Tally(*row) for row in await self._rows("tallies", {"job_id": job_id})]

    async def statuses(self, job_id: int) -> dict[int, int]:
        """Stored responses by HTTP status."""
        return {int(status): count for status, count in await self._rows("statuses", {"job_id": job_id})}

    async def hosts(self, job_id: int, limit: int) -> list[HostReport]:
        """The largest hosts."""
        return [HostReport(*row) for row in await self._rows("hosts", {"job_id": job_id, "limit": limit})]

    async def checkpoints(self, job_id: int, limit: int) -> list[Checkpoint]:
        """The newest first."""
        found = await self._rows("checkpoints", {"job_id": job_id, "limit": limit})
        return [rows.checkpoint(row) for row in found]

    async def events(self, job_id: int, limit: int) -> list[Event]:
        """The newest first."""
        return [Event(*row) for row in await self._rows("events", {"job_id": job_id, "limit": limit})]

    async def checkpoint_data(self, job_id: int, limit: int | None = None) -> CheckpointData:
        """Computed from the rows as they are now."""
        bound = _EVERYTHING if limit is None else limit

        def read(db: apsw.Connection) -> CheckpointData:
            def urls(status: str, reason: str | None = None) -> list[str]:
                bindings = {"job_id": job_id, "status": status, "reason": reason, "limit": bound}
                return [url for (url,) in fetch(db, SQL["urls_where"], bindings)]

            job = read_job(db, job_id)
            ((depth,),) = fetch(db, SQL["present_depth"], {"job_id": job_id})
            return CheckpointData(
                pages_visited=urls("done"),
                pages_queued=urls("pending"),
                external_links_found=urls("skipped", "external"),
                current_depth=depth,
                crawl_start_time=_iso(job.started_at),
                last_checkpoint_time=_iso(job.last_checkpoint_at),
            )

        return await self._database.run(read)

    async def close(self) -> None:
        """Let go of the file."""
        await self._database.close()

    async def _rows(self, name: str, bindings: dict[str, Any]) -> list[Any]:
        def read(db: apsw.Connection) -> list[Any]:
            return fetch(db, SQL[name], bindings)

        return await self._database.run(read)


def read_job(db: apsw.Connection, job_id: int) -> Job:
    """The job as it stands; UnknownJob if it is gone."""
    found = fetch(db, SQL["job"], {"job_id": job_id})
    if not found:
        raise UnknownJob("the job is gone; `holdfast ls` lists what is there")
    return rows.job(found[0])


def _iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def _find(db: apsw.Connection, reference: str | None) -> Job:
    if reference is None:
        found = fetch(db, SQL["latest"])
        if not found:
            raise UnknownJob("this home has no jobs yet; start one with `holdfast crawl URL`")
        return read_job(db, found[0][0])
    named = fetch(db, SQL["by_name"], {"reference": reference})
    if named:
        return read_job(db, named[0][0])
    matches = fetch(db, SQL["by_id"], {"reference": reference.lower()})
    if not matches:
        raise UnknownJob(f"no job is called {reference!r}; `holdfast ls` lists them all")
    if len(matches) > 1:
        ids = ", ".join(public_id for _, public_id in matches)
        raise AmbiguousJob(f"{reference!r} fits more than one job; use more of the id: {ids}")
    return read_job(db, matches[0][0])


def _submit(
    db: apsw.Connection,
    new: NewJob,
    seeds: Sequence[Found],
    public_id: str,
    phase: str,
    now: float,
    *,
    fresh: bool,
) -> Job:
    with immediate(db):
        there = fetch(db, SQL["by_identity"], {"identity": new.identity})
        if there and not fresh:
            return read_job(db, there[0][0])
        ((job_id,),) = fetch(
            db,
            SQL["submit"],
            {
                "public_id": public_id,
                "kind": new.kind,
                "identity": new.identity,
                "name": new.name,
                "owner": new.owner,
                "spec": rows.dumps(new.spec),
                "bounds": rows.dumps(rows.bounds_of(new)),
                "phase": phase,
                "now": now,
            },
        )
        _seed(db, job_id, 1, seeds, number=0)
        commit.event(db, job_id, now, "submitted", new.kind)
        return read_job(db, job_id)


def _seed(db: apsw.Connection, job_id: int, run: int, seeds: Sequence[Found], number: int) -> None:
    """A chunk with its first items, by the very steps of a commit."""
    ((chunk_id,),) = fetch(db, SQL["chunk"], {"job_id": job_id, "run": run})
    change = commit.Change(number)
    by_fingerprint = {seed.fingerprint: seed for seed in seeds}
    lease = Lease(job_id, chunk_id, run, epoch=0, seq=0, worker_id="")
    commit.insert(db, lease, list(by_fingerprint.values()), change)
    commit.tally(db, chunk_id, change)
    commit.count(db, chunk_id, change)


def _new_run(db: apsw.Connection, job_id: int, seeds: Sequence[Found], phase: str, now: float) -> Job:
    with immediate(db):
        ((run, number),) = fetch(db, SQL["new_run"], {"job_id": job_id, "phase": phase})
        _seed(db, job_id, run, seeds, number)
        commit.event(db, job_id, now, "restarted", f"run {run}")
        return read_job(db, job_id)


def _pause(db: apsw.Connection, job_id: int, now: float, holder_lives: bool) -> Job:
    if not holder_lives:
        return _stop(db, job_id, Action.PAUSE, "user", now)
    with immediate(db):
        after(read_job(db, job_id).status, Action.PAUSE)
        db.execute(SQL["wish_pause"], {"job_id": job_id})
        commit.event(db, job_id, now, "pause asked for", "")
        return read_job(db, job_id)


def _stop(db: apsw.Connection, job_id: int, action: Action, reason: str, now: float) -> Job:
    with immediate(db):
        status = after(read_job(db, job_id).status, action)
        ending = Ending(action, reason)
        db.execute(SQL["fence_off"], {"job_id": job_id, "status": status})
        db.execute(
            SQL["set_status"],
            {
                "job_id": job_id,
                "status": status,
                "reason": ending.reason,
                "now": now,
                "finished": status is Status.CANCELLED,
            },
        )
        commit.event(db, job_id, now, status, reason)
        return read_job(db, job_id)


def _resume(db: apsw.Connection, job_id: int, action: Action, now: float) -> Job:
    with immediate(db):
        job = read_job(db, job_id)
        status = after(job.status, action)
        if job.status is Status.TIMEOUT:
            db.execute(SQL["grant_time"], {"job_id": job_id})
        if job.reason == NO_START_PAGE:
            _retry_seeds(db, job_id)
        db.execute(SQL["chunks_pending"], {"job_id": job_id})
        db.execute(
            SQL["set_status"],
            {"job_id": job_id, "status": status, "reason": None, "now": now, "finished": False},
        )
        commit.event(db, job_id, now, "resumed", f"was {job.status}")
        return read_job(db, job_id)


def _retry_seeds(db: apsw.Connection, job_id: int) -> None:
    found = fetch(db, SQL["failed_seeds"], {"job_id": job_id})
    ids = commit.rows(item_id for item_id, *_ in found)
    sizes = slices.sizes(db, job_id, ids)
    db.execute(SQL["drop_failures"], {"job_id": job_id, "ids": ids})
    db.execute(SQL["reopen"], {"ids": ids})
    sources = [(chunk, host, status, reason or "") for _, chunk, host, status, reason in found]
    slices.moved(db, sources, ("pending", ""), sizes)
