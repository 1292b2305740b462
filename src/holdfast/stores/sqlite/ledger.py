"""The worker's and the watchdog's side of the ledger."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import apsw
import orjson

from holdfast.domain.checkpoint import Checkpoint
from holdfast.domain.commit import Commit, Committed, HostQueue, Location, Streamed
from holdfast.domain.errors import HalfRestarted, LeaseLost, UnknownJob, UsageError
from holdfast.domain.item import Item
from holdfast.domain.job import Durability, Job
from holdfast.domain.lease import Claim, Heartbeat, Lease, Standing
from holdfast.domain.recovery import Recovery, Suspicion, judge_recovery
from holdfast.domain.states import Action, Status, after
from holdfast.ports.ledger import Discrepancy, RecordRow, SegmentState, Span, Whereabouts
from holdfast.ports.segments import Original
from holdfast.stores.sqlite import check, commit, rows, tear
from holdfast.stores.sqlite.change import count_time, event
from holdfast.stores.sqlite.connection import Database, fetch, immediate
from holdfast.stores.sqlite.rows import json_rows
from holdfast.stores.sqlite.statements import statements
from holdfast.stores.sqlite.steering import read_job

SQL = statements("ledger")


class SqliteLedger:
    """Implements ports.ledger.Ledger on the home's file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, job_id: int, worker_id: str, *, now: float) -> Claim | None:
        """One transaction: attempts are counted here, and only a commit with progress takes them back."""
        return await self._database.run(_claim, job_id, worker_id, now)

    async def renew(self, lease: Lease, standing: Standing) -> None:
        """Fenced; LeaseLost otherwise."""
        await self._database.run(_renew, lease, standing)

    async def wish(self, lease: Lease) -> str | None:
        """A read by primary keys."""
        return await self._database.run(_wish, lease)

    async def queued_hosts(self, lease: Lease, *, after: int, limit: int, stage: int = 0) -> list[HostQueue]:
        """Hosts with items that may be handled at once, by id."""
        bindings = {"chunk_id": lease.chunk_id, "after": after, "limit": limit, "stage": stage}
        found = await self._rows("queued_hosts", bindings)
        return [HostQueue(*row) for row in found]

    async def take(self, lease: Lease, host_id: int, *, limit: int, taken: Collection[int]) -> list[Item]:
        """Nothing is written: what is taken and not committed is still pending."""
        bindings = {
            "chunk_id": lease.chunk_id,
            "host_id": host_id,
            "limit": limit,
            "taken": json_rows(taken),
        }
        return [rows.item(row) for row in await self._rows("take", bindings)]

    async def take_due(
        self,
        lease: Lease,
        *,
        now: float,
        latest: float,
        limit: int,
        taken: Collection[int],
        stage: int = 0,
    ) -> list[Item]:
        """Items whose stored due time has come, or can't be believed."""
        bindings = {
            "chunk_id": lease.chunk_id,
            "now": now,
            "latest": latest,
            "limit": limit,
            "taken": json_rows(taken),
            "stage": stage,
        }
        return [rows.item(row) for row in await self._rows("take_due", bindings)]

    async def next_due(self, lease: Lease, *, now: float, stage: int = 0) -> float | None:
        """The earliest due time ahead."""
        found = await self._rows("next_due", {"chunk_id": lease.chunk_id, "now": now, "stage": stage})
        return float(found[0][0]) if found else None

    async def take_rejudged(self, lease: Lease, *, limit: int, taken: Collection[int]) -> list[Item]:
        """Settled items whose links are to be judged again."""
        bindings = {"chunk_id": lease.chunk_id, "limit": limit, "taken": json_rows(taken)}
        return [rows.item(row) for row in await self._rows("take_rejudged", bindings)]

    async def earlier(self, lease: Lease, items: Sequence[Item]) -> list[Item]:
        """By fingerprint in the run that this one asks again for, where the body lies in what is lent to this one."""
        found = await self._rows(
            "earlier",
            {"job_id": lease.job_id, "run": lease.run, "ids": json_rows(item.id for item in items)},
        )
        known = {item_id: rows.earlier(row) for item_id, *row in found}
        return [replace(item, earlier=known[item.id]) if item.id in known else item for item in items]

    async def mark(self, lease: Lease, item_id: int) -> None:
        """Durable before the item is handled."""
        await self._database.run(_mark, lease, item_id)

    async def originals(self, lease: Lease, digests: Sequence[bytes]) -> dict[bytes, Original]:
        """Committed bodies only: what is not committed yet, the writer knows itself."""
        bindings = {
            "job_id": lease.job_id,
            "run": lease.run,
            "digests": json_rows(digest.hex() for digest in digests),
        }
        found = await self._rows("originals", bindings)
        return {
            digest: Original(Location(segment, start, length), url, float(fetched_at or 0), encoding)
            for digest, segment, start, length, url, fetched_at, encoding in found
        }

    async def commit(self, lease: Lease, batch: Commit) -> Committed:
        """See stores.sqlite.commit."""
        return await self._database.run(commit.write, lease, batch)

    async def synced(self, lease: Lease, segment: str, upto: int) -> None:
        """Forgetting this costs only a longer read-back."""
        await self._rows("synced", {"job_id": lease.job_id, "run": lease.run, "name": segment, "upto": upto})

    async def segments(self, job_id: int, *, run: int | None = None) -> list[SegmentState]:
        """Those lent first, then the oldest first."""
        found = await self._rows("segments", {"job_id": job_id, "run": run})
        return [SegmentState(name, committed, synced, bool(lent)) for name, committed, synced, lent in found]

    async def spans(self, job_id: int, segment: str, start: int, *, run: int | None = None) -> list[Span]:
        """The commits' ranges that reach past `start`."""
        found = await self._rows("spans", {"job_id": job_id, "name": segment, "start": start, "run": run})
        return [Span(*row) for row in found]

    async def laid_aside(self, job_id: int, segment: str, *, run: int | None = None) -> set[int]:
        """Offsets of stored responses whose rows were given up."""
        bindings = {"job_id": job_id, "name": segment, "run": run}
        return {start for (start,) in await self._rows("laid_aside", bindings)}

    async def cursor(self, job_id: int, *, run: int | None = None) -> dict[str, Any]:
        """The pipeline's notes as last committed."""
        found = await self._rows("cursor", {"job_id": job_id, "run": run})
        if not found:
            return {}
        ((text, public_id),) = found
        with rows.reading(public_id, "cursor"):
            return rows.mapping(text)

    async def tear(self, lease: Lease, segment: str, good: int) -> int:
        """See stores.sqlite.tear."""
        return await self._database.run(tear.write, lease, segment, good)

    async def record(self, job_id: int, item_id: int, *, run: int | None = None) -> RecordRow | None:
        """The first record of an item."""
        bounds = {"after": item_id - 1, "until": item_id, "limit": 1, "kind": None, "upto": None}
        found = await self._records(job_id, run, bounds)
        return found[0] if found else None

    async def lineage(self, job_id: int, fingerprint: bytes, *, limit: int) -> list[Whereabouts]:
        """One statement, so one moment."""
        bindings = {"job_id": job_id, "fingerprint": fingerprint, "limit": limit}
        return [rows.whereabouts(row) for row in await self._rows("lineage", bindings)]

    async def records(
        self,
        job_id: int,
        *,
        after: int,
        limit: int,
        kind: str | None = None,
        run: int | None = None,
        upto: int | None = None,
    ) -> list[RecordRow]:
        """One page of records."""
        bounds = {"after": after, "until": 2**62, "limit": limit, "kind": kind, "upto": upto}
        return await self._records(job_id, run, bounds)

    async def addressed(
        self, job_id: int, fingerprints: Sequence[bytes], *, run: int, upto: int
    ) -> dict[bytes, tuple[str, Mapping[str, Any]]]:
        """The kinds and data of those addresses' records."""
        bindings = {
            "job_id": job_id,
            "run": run,
            "fingerprints": json_rows(value.hex() for value in fingerprints),
            "upto": upto,
        }
        found = await self._rows("addressed", bindings)
        return {fingerprint: (kind, orjson.loads(data)) for fingerprint, kind, data in found}

    async def written(self, job_id: int, *, after: int, until: int, kind: str) -> list[RecordRow]:
        """Records of the commits after one and up to another."""
        bindings = {"job_id": job_id, "after": after, "until": until, "kind": kind}
        return [rows.record(row) for row in await self._rows("written", bindings)]

    async def streamed(self, job_id: int, path: str) -> Streamed | None:
        """What is known of a file of the present run."""
        found = await self._rows("streamed", {"job_id": job_id, "path": path})
        return Streamed(*found[0]) if found else None

    async def note_streamed(self, job_id: int, run: int, streamed: Streamed) -> None:
        """Without a claim: refused, silently, while there is one."""
        await self._rows("note_streamed", {"job_id": job_id, "run": run} | asdict(streamed))

    async def outside(self, job_id: int, *, after: int, limit: int) -> list[tuple[int, str]]:
        """One page of what is out of scope."""
        return await self._rows("outside", {"job_id": job_id, "after": after, "limit": limit, "run": None})

    async def heartbeats(self) -> list[Heartbeat]:
        """Every claimed chunk of the home."""
        return [Heartbeat(*row) for row in await self._rows("heartbeats", {})]

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
        """Fenced by the epoch that was seen: a chunk that moved on meanwhile is left alone."""
        return await self._database.run(
            _recover, heartbeat, why=why, stalled=stalled, rules=rules, now=now, silent=silent
        )

    async def discrepancies(self, job_id: int, *, run: int | None = None) -> list[Discrepancy]:
        """See stores.sqlite.check."""
        return await self._database.run(check.read, job_id, run)

    async def known(
        self, job_id: int, fingerprints: Sequence[bytes], *, run: int | None = None
    ) -> dict[bytes, str | None]:
        """Which of these addresses are items of the run; see the port."""
        sought = json_rows(value.hex() for value in fingerprints)
        return dict(await self._rows("known", {"job_id": job_id, "run": run, "fingerprints": sought}))

    async def commits(
        self, job_id: int, *, after: int, limit: int, run: int | None = None
    ) -> list[Checkpoint]:
        """One page of commits, by number."""
        found = await self._rows("commits", {"job_id": job_id, "after": after, "limit": limit, "run": run})
        return [rows.checkpoint(row) for row in found]

    async def job(self, job_id: int) -> Job:
        """The job as it stands now."""
        return await self._database.run(read_job, job_id)

    async def close(self) -> None:
        """Let go of the file."""
        await self._database.close()

    async def _rows(self, name: str, bindings: dict[str, Any]) -> list[Any]:
        def read(db: apsw.Connection) -> list[Any]:
            return fetch(db, SQL[name], bindings)

        return await self._database.run(read)

    async def _records(self, job_id: int, run: int | None, bounds: dict[str, Any]) -> list[RecordRow]:
        found = await self._rows("records", {"job_id": job_id, "run": run} | bounds)
        return [rows.record(row) for row in found]


def _claim(db: apsw.Connection, job_id: int, worker_id: str, now: float) -> Claim | None:
    with immediate(db):
        found = fetch(db, SQL["job_to_claim"], {"job_id": job_id})
        if not found:
            raise UnknownJob(f"job {job_id} is gone; `holdfast ls` lists what is there")
        status, changing = found[0]
        if changing == "restart":
            raise HalfRestarted(read_job(db, job_id).short_id)
        if changing is not None:
            raise UsageError(
                f"a change of this job ({changing}) was interrupted; run that command again first"
            )
        if status != Status.PENDING:
            return None
        claimed = fetch(db, SQL["claim"], {"job_id": job_id, "worker_id": worker_id})
        if not claimed:
            return None
        (
            chunk_id,
            run,
            epoch,
            seq,
            cursor,
            cautious_left,
            marked_id,
            marked_deaths,
            marked_silent,
            recovered,
        ) = claimed[0]
        db.execute(SQL["forget_recovery"], {"chunk_id": chunk_id})
        db.execute(SQL["job_claimed"], {"job_id": job_id, "now": now})
        event(db, job_id, now, "recovered" if recovered else "claimed", worker_id)
        marked = fetch(db, SQL["item"], {"item_id": marked_id}) if marked_id is not None else []
        job = read_job(db, job_id)
        with rows.reading(job.public_id, "cursor"):
            notes = rows.mapping(cursor)
    # FULL makes each COMMIT wait for the disk; it is set between transactions because it can't be set in one.
    db.execute(f"PRAGMA synchronous = {'FULL' if job.durability is Durability.POWER else 'NORMAL'}")
    return Claim(
        lease=Lease(job_id, chunk_id, run, epoch, seq, worker_id),
        job=job,
        cursor=notes,
        cautious_left=cautious_left,
        marked=rows.item(marked[0]) if marked else None,
        marked_deaths=marked_deaths,
        marked_silent=marked_silent,
        recovered=bool(recovered),
    )


def _lost() -> LeaseLost:
    return LeaseLost("the lease is lost: another worker took over, or the job was cancelled")


def _renew(db: apsw.Connection, lease: Lease, standing: Standing) -> None:
    bindings = {"chunk_id": lease.chunk_id, "epoch": lease.epoch} | asdict(standing)
    if not fetch(db, SQL["renew"], bindings):
        raise _lost()


def _wish(db: apsw.Connection, lease: Lease) -> str | None:
    found = fetch(db, SQL["wish"], {"chunk_id": lease.chunk_id, "epoch": lease.epoch})
    if not found or not found[0][0]:
        raise _lost()
    desired: str | None = found[0][1]
    return desired


def _mark(db: apsw.Connection, lease: Lease, item_id: int) -> None:
    bindings = {"chunk_id": lease.chunk_id, "epoch": lease.epoch, "item_id": item_id}
    if not fetch(db, SQL["mark"], bindings):
        raise _lost()


def _recover(
    db: apsw.Connection,
    heartbeat: Heartbeat,
    *,
    why: str,
    stalled: bool,
    rules: Recovery | None,
    now: float,
    silent: bool,
) -> Status | None:
    with immediate(db):
        found = fetch(db, SQL["recovering"], {"chunk_id": heartbeat.chunk_id, "epoch": heartbeat.epoch})
        if not found:
            return None
        job_id, claims, stalls, marked, deaths, silent_deaths, cautious_left, desired = found[0]
        job = read_job(db, job_id)
        suspicion = Suspicion(
            claims_since_progress=claims,
            stalls_since_progress=stalls,
            marked=bool(marked),
            marked_deaths=deaths,
            marked_silent=silent_deaths,
            silent=silent,
            cautious_left=cautious_left,
            batch=job.checkpoints.items + job.pace.concurrency,
        )
        verdict = judge_recovery(suspicion, rules, stalled=stalled)
        action = Action.FAIL if verdict.failed else (Action.PAUSE if desired else Action.RECOVER)
        status = after(Status.IN_PROGRESS, action)
        reason = verdict.failed or ("user" if desired else why)
        count_time(db, job_id)
        db.execute(
            SQL["taken_back"],
            {
                "chunk_id": heartbeat.chunk_id,
                "status": status,
                "claims": verdict.claims_since_progress,
                "stalls": verdict.stalls_since_progress,
                "cautious_left": verdict.cautious_left,
                "marked_deaths": verdict.marked_deaths,
                "marked_silent": verdict.marked_silent,
            },
        )
        db.execute(SQL["job_taken_back"], {"job_id": job_id, "status": status, "reason": reason, "now": now})
        event(db, job_id, now, "taken back" if status is Status.PENDING else status, reason)
    return status
