"""What a person's actions do to a job, one transaction each."""

from collections.abc import Sequence
from dataclasses import replace

import apsw

from holdfast.domain.errors import AmbiguousJob, HalfRestarted, JobHeld, UnknownJob
from holdfast.domain.item import Found
from holdfast.domain.job import NO_START_PAGE, Job, NewJob
from holdfast.domain.lease import Heartbeat, Lease
from holdfast.domain.runs import Run, RunKind
from holdfast.domain.states import Action, Status, after
from holdfast.stores.sqlite import rows, slices
from holdfast.stores.sqlite.change import Change, count, count_time, event, tally
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.findings import insert
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")


def read_job(db: apsw.Connection, job_id: int, run: int | None = None) -> Job:
    """The job as it stands, or as it stood at the end of an earlier run; UnknownJob if it is gone, or that run is."""
    found = fetch(db, SQL["job"], {"job_id": job_id, "run": run})
    if not found and run is not None:
        job = read_job(db, job_id)
        there = ", ".join(str(row[0]) for row in fetch(db, SQL["runs"], {"job_id": job_id}))
        raise UnknownJob(f"job {job.short_id} has no run {run}; these are there: {there}")
    if not found:
        raise UnknownJob("the job is gone; `holdfast ls` lists what is there")
    return rows.job(found[0])


def find(db: apsw.Connection, reference: str | None) -> Job:
    """By name, id, or the beginning or end of one; None: the latest."""
    if reference is None:
        found = fetch(db, SQL["latest"])
        if not found:
            raise UnknownJob("this home has no jobs yet; start one with `holdfast crawl URL`")
        return read_job(db, found[0][0])
    named = fetch(db, SQL["by_name"], {"reference": reference})
    if named:
        return read_job(db, named[0][0])
    matches = fetch(db, SQL["by_id"], {"reference": reference.lower()}) if reference else []
    if not matches:
        raise UnknownJob(f"no job is called {reference!r}; `holdfast ls` lists them all")
    if len(matches) > 1:
        ids = ", ".join(public_id for _, public_id in matches)
        raise AmbiguousJob(f"{reference!r} fits more than one job; use more of the id: {ids}")
    return read_job(db, matches[0][0])


def submit(
    db: apsw.Connection,
    new: NewJob,
    seeds: Sequence[Found],
    *,
    public_id: str,
    phase: str,
    now: float,
    fresh: bool,
) -> Job:
    """The job with its first items; unless `fresh`, the one of that identity that is there already."""
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
        begin_run(db, job_id, Run(1, RunKind.CRAWL, 0))
        seed(db, job_id, 1, seeds, number=0)
        event(db, job_id, now, "submitted", new.kind)
        return read_job(db, job_id)


def begin_run(db: apsw.Connection, job_id: int, run: Run) -> None:
    """Write down what a run is made from."""
    db.execute(SQL["begin_run"], {"job_id": job_id, "run": run.number} | rows.run_bindings(run))


def seed(db: apsw.Connection, job_id: int, run: int, seeds: Sequence[Found], number: int) -> int:
    """A chunk with its first items, by the very steps of a commit; gives the chunk."""
    ((chunk_id,),) = fetch(db, SQL["chunk"], {"job_id": job_id, "run": run})
    change = Change(number)
    by_fingerprint = {seed.fingerprint: seed for seed in seeds}
    lease = Lease(job_id, chunk_id, run, epoch=0, seq=0, worker_id="")
    insert(db, lease, list(by_fingerprint.values()), change)
    tally(db, chunk_id, change)
    count(db, chunk_id, change)
    return int(chunk_id)


def new_run(db: apsw.Connection, job_id: int, seeds: Sequence[Found], phase: str, now: float) -> Job:
    """The first items again, in a job that was emptied."""
    with immediate(db):
        ((run, number),) = fetch(db, SQL["new_run"], {"job_id": job_id, "phase": phase})
        db.execute(SQL["not_even_one"], {"job_id": job_id})
        begin_run(db, job_id, Run(run, RunKind.RESTART, number))
        seed(db, job_id, run, seeds, number)
        event(db, job_id, now, "restarted", f"run {run}")
        return read_job(db, job_id)


def pause(db: apsw.Connection, job_id: int, *, now: float, dead: Heartbeat | None) -> Job:
    """A wish to whoever works on it by now; paused at once where nobody does, or only the one who was seen dead."""
    with immediate(db):
        after(read_job(db, job_id).status, Action.PAUSE)
        holders = {
            (chunk_id, epoch) for _, chunk_id, epoch, *_ in fetch(db, SQL["holder"], {"job_id": job_id})
        }
        if holders <= ({(dead.chunk_id, dead.epoch)} if dead else set()):
            return _stopped(db, job_id, Action.PAUSE, "user", now)
        db.execute(SQL["wish_pause"], {"job_id": job_id})
        event(db, job_id, now, "pause asked for", "")
        return read_job(db, job_id)


def stop(db: apsw.Connection, job_id: int, action: Action, reason: str, now: float) -> Job:
    """End the job's work and fence off whoever holds it, in the same transaction."""
    with immediate(db):
        return _stopped(db, job_id, action, reason, now)


def _stopped(db: apsw.Connection, job_id: int, action: Action, reason: str, now: float) -> Job:
    status = after(read_job(db, job_id).status, action)
    count_time(db, job_id)
    db.execute(SQL["fence_off"], {"job_id": job_id, "status": status})
    db.execute(
        SQL["set_status"],
        {
            "job_id": job_id,
            "status": status,
            "reason": reason,
            "now": now,
            "finished": status is Status.CANCELLED,
        },
    )
    event(db, job_id, now, status, reason)
    return read_job(db, job_id)


def resume(db: apsw.Connection, job_id: int, action: Action, now: float) -> Job:
    """Back to pending with all that was done."""
    with immediate(db):
        job = read_job(db, job_id)
        status = after(job.status, action)
        if slices.change_of(db, job_id) == "restart":
            raise HalfRestarted(job.short_id)
        slices.refuse_changing(db, job_id)
        if job.status is Status.TIMEOUT:
            db.execute(SQL["grant_time"], {"job_id": job_id})
        if job.reason == NO_START_PAGE:
            _retry_seeds(db, job_id)
        db.execute(SQL["chunks_pending"], {"job_id": job_id})
        db.execute(
            SQL["set_status"],
            {"job_id": job_id, "status": status, "reason": None, "now": now, "finished": False},
        )
        event(db, job_id, now, "resumed", f"was {job.status}")
        return read_job(db, job_id)


def at_rest(db: apsw.Connection, job_id: int) -> Job:
    """The job, if its bounds may change: items that its worker has in hand would be settled behind its back."""
    job = read_job(db, job_id)
    if job.status is Status.IN_PROGRESS:
        raise JobHeld(f"job {job.short_id} is being worked on; pause it, then change its limits")
    if slices.change_of(db, job_id) == "restart":
        raise HalfRestarted(job.short_id)
    return job


def forget(db: apsw.Connection, job_id: int) -> None:
    """Nobody can claim the job from here on. Somebody who took it up meanwhile keeps it: JobHeld."""
    with immediate(db):
        job = read_job(db, job_id)
        if job.status is Status.IN_PROGRESS:
            raise JobHeld(f"job {job.short_id} is being worked on by now; see it with `holdfast show`")
        if fetch(db, SQL["forked_from"], {"public_id": job.public_id}):
            raise JobHeld(
                f"job {job.short_id} is being forked, and its pages are needed for that; remove it afterwards"
            )
        db.execute(SQL["changing"], {"job_id": job_id, "changing": "remove"})


def bound(db: apsw.Connection, job: Job) -> None:
    """Store the job's bounds and spec as they stand in `job`."""
    stored = {"job_id": job.id, "bounds": rows.dumps(rows.bounds_of(job)), "spec": rows.dumps(job.spec)}
    db.execute(SQL["set_bounds"], stored)


def grant(db: apsw.Connection, job_id: int, time_limit_s: float) -> Job:
    """A time limit that counts from here, whatever was used up before."""
    with immediate(db):
        job = at_rest(db, job_id)
        bound(db, replace(job, limits=replace(job.limits, time_limit_s=time_limit_s)))
        db.execute(SQL["grant_time"], {"job_id": job_id})
        return read_job(db, job_id)


def _retry_seeds(db: apsw.Connection, job_id: int) -> None:
    slices.put_back(db, job_id, fetch(db, SQL["failed_seeds"], {"job_id": job_id}))
