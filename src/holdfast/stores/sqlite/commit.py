"""The one transaction, step by step as design.md draws it.

A crash anywhere in `write` leaves the ledger at the commit before: the items are pending, the segment's bytes past
its committed length are never read.
"""

from dataclasses import asdict, replace
from typing import Any

import apsw
import orjson

from holdfast.domain.checkpoint import Counters
from holdfast.domain.commit import Commit, Committed, Ending, HostQueue, Stored
from holdfast.domain.errors import LeaseLost, StorageFailed
from holdfast.domain.item import (
    Consulted,
    Done,
    Failed,
    Handled,
    ItemStatus,
    Outcome,
    Redirected,
    Rejudged,
    RetryAt,
    Skipped,
)
from holdfast.domain.lease import Lease
from holdfast.domain.states import Action, Status, after
from holdfast.ports.faults import FaultPoint, reached
from holdfast.stores.sqlite.change import PENDING, Change, count, event, tally
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.findings import discover, least
from holdfast.stores.sqlite.rows import dumps, json_rows
from holdfast.stores.sqlite.statements import statements

SQL = statements("commit")

_SETTLED: dict[type[Outcome], ItemStatus] = {
    Done: ItemStatus.DONE,
    Redirected: ItemStatus.REDIRECTED,
    Consulted: ItemStatus.CONSULTED,
    Failed: ItemStatus.FAILED,
    Skipped: ItemStatus.SKIPPED,
}


def write(db: apsw.Connection, lease: Lease, commit: Commit) -> Committed:
    """Commit, or raise with nothing written: LeaseLost where the chunk is somebody else's by now."""
    try:
        with immediate(db):
            committed = _steps(db, lease, commit)
    except (apsw.IOError, apsw.FullError):
        if not _happened(db, lease):
            raise
        message = (
            "the ledger broke off while it confirmed a commit; the commit stands. Run the same command again."
        )
        raise StorageFailed(message) from None
    reached(FaultPoint.AFTER_COMMIT, lease)
    return committed


def _steps(db: apsw.Connection, lease: Lease, commit: Commit) -> Committed:
    seq, deepest = _fence(db, lease)
    number, desired = fetch(
        db,
        SQL["next_number"],
        {
            "job_id": lease.job_id,
            "at": commit.at,
            "active_s": max(0.0, commit.active_s),
            "phase": commit.phase,
        },
    )[0]
    change = Change(number, deepest)
    _settle(db, commit.handled, change)
    discover(db, lease, least(commit.handled), change)
    segment_id = _segment(db, lease, commit)
    _records(db, lease, commit, segment_id, change)
    if any(getattr(entry.outcome, "widens", False) for entry in commit.handled):
        db.execute(SQL["widened"], {"job_id": lease.job_id, "run": lease.run})
    reached(FaultPoint.IN_TRANSACTION, lease)
    status = _end(db, lease, commit, desired)
    counters = _count(db, lease, commit, change)
    _note(db, lease, commit, status)
    if commit.streamed is not None:
        db.execute(SQL["streamed"], {"job_id": lease.job_id, "run": lease.run} | asdict(commit.streamed))
    _checkpoint(db, replace(lease, seq=seq), commit, change, {"segment_id": segment_id, "counters": counters})
    return Committed(seq, number, counters, _given(db, change), desired)


def _fence(db: apsw.Connection, lease: Lease) -> tuple[int, int]:
    """The chunk's new seq, and the greatest depth at which anything of it was found."""
    found = fetch(db, SQL["fence"], {"chunk_id": lease.chunk_id, "epoch": lease.epoch, "seq": lease.seq})
    if not found:
        message = (
            "the lease is lost: another worker took over, or the job was cancelled. Nothing more was written."
        )
        raise LeaseLost(message)
    seq, deepest = found[0]
    return seq, deepest


def _settle(db: apsw.Connection, handled: tuple[Handled, ...], change: Change) -> None:
    outcomes: list[tuple[int, str, str | None, float | None, int, bool]] = []
    rejudged: list[tuple[int, int]] = []
    for entry in handled:
        item, outcome = entry.item, entry.outcome
        change.depth = max(change.depth, item.depth)
        if isinstance(outcome, Rejudged):
            rejudged.append((item.id, item.depth))
        elif isinstance(outcome, RetryAt):
            outcomes.append(
                (item.id, ItemStatus.PENDING, outcome.reason, outcome.due_at, item.depth, outcome.tried)
            )
        else:
            reason = outcome.reason
            outcomes.append((item.id, _SETTLED[type(outcome)], reason, None, item.depth, True))
            change.moves(item.host_id, PENDING, (_SETTLED[type(outcome)], reason or ""))
    if outcomes:
        db.execute(SQL["settle"], {"outcomes": json_rows(outcomes), "number": change.number})
        if db.changes() != len(outcomes):
            message = "an item of this batch was settled before: the batch is refused. Run `holdfast verify`."
            raise StorageFailed(message)
    if rejudged:
        db.execute(SQL["rejudged"], {"items": json_rows(rejudged)})


def _segment(db: apsw.Connection, lease: Lease, commit: Commit) -> int | None:
    appended = commit.appended
    if appended is None:
        return None
    found = fetch(
        db,
        SQL["segment"],
        {
            "job_id": lease.job_id,
            "run": lease.run,
            "chunk_id": lease.chunk_id,
            "epoch": lease.epoch,
            "name": appended.segment,
            "start": appended.start,
            "until": appended.end,
            "synced": appended.synced,
        },
    )
    if not found:
        message = (
            f"segment {appended.segment} does not go on where the ledger left it. Run `holdfast verify`."
        )
        raise StorageFailed(message)
    return int(found[0][0])


def _records(
    db: apsw.Connection, lease: Lease, commit: Commit, segment_id: int | None, change: Change
) -> None:
    stored = iter(commit.appended.stored if commit.appended else ())
    rows = []
    for entry in commit.handled:
        for ordinal, record in enumerate(getattr(entry.outcome, "records", ())):
            size = int(record.data.get("size", 0))
            change.bytes += size
            if isinstance(entry.outcome, Done):
                change.bytes_by_host[entry.item.host_id] += size
            if record.exchange is not None:
                change.hosts_that_answered.add(entry.item.host_id)
            place = _NOWHERE if record.exchange is None else _place(segment_id, next(stored))
            rows.append(
                {
                    "item_id": entry.item.id,
                    "ordinal": ordinal,
                    "job_id": lease.job_id,
                    "run": lease.run,
                    "number": change.number,
                    "kind": record.kind,
                    "data": dumps(record.data),
                    "size": size,
                }
                | place
            )
    db.executemany(SQL["record"], rows)


def _place(segment_id: int | None, stored: Stored) -> dict[str, Any]:
    body = stored.revisit_of
    return {
        "segment_id": segment_id,
        "start": stored.location.offset,
        "length": stored.location.length,
        "digest": stored.digest,
        "body": body and body.segment,
        "body_start": body and body.offset,
        "body_length": body and body.length,
    }


_NOWHERE = dict.fromkeys(("segment_id", "start", "length", "digest", "body", "body_start", "body_length"))


def _end(db: apsw.Connection, lease: Lease, commit: Commit, desired: str | None) -> Status | None:
    """The chunk's new status, if this commit ends the claim; the job follows, unless other chunks go on."""
    ending = commit.ending
    if ending is None:
        return None
    if ending.action is Action.RELEASE and desired == "pause":
        # A person's wish that the worker had not heard yet: released, the job would resume by itself.
        ending = Ending(Action.PAUSE, "user")
    status = after(Status.IN_PROGRESS, ending.action)
    if ending.action is Action.COMPLETE:
        ((others,),) = fetch(
            db,
            SQL["others_unfinished"],
            {"job_id": lease.job_id, "run": lease.run, "chunk_id": lease.chunk_id},
        )
        if others:
            return status
    db.execute(
        SQL["job_ended"],
        {
            "job_id": lease.job_id,
            "status": status,
            "reason": ending.reason,
            "at": commit.at,
            "finished": status not in {Status.PENDING, Status.PAUSED},
        },
    )
    event(db, lease.job_id, commit.at, status, ending.reason or "")
    return status


def _count(db: apsw.Connection, lease: Lease, commit: Commit, change: Change) -> Counters:
    change.host_due = commit.host_due
    tally(db, lease.chunk_id, change)
    unkept = sum(getattr(entry.outcome, "unkept", 0) for entry in commit.handled)
    return count(db, lease.chunk_id, change, external=unkept)


def _note(db: apsw.Connection, lease: Lease, commit: Commit, status: Status | None) -> None:
    db.execute(
        SQL["noted"],
        {
            "chunk_id": lease.chunk_id,
            "cursor": None if commit.cursor is None else orjson.dumps(commit.cursor).decode(),
            "cautious_left": commit.cautious_left,
            "progress": bool(commit.handled),
            "status": status,
        },
    )


def _checkpoint(
    db: apsw.Connection, lease: Lease, commit: Commit, change: Change, written: dict[str, Any]
) -> None:
    appended = commit.appended
    db.execute(
        SQL["checkpoint"],
        {
            "job_id": lease.job_id,
            "number": change.number,
            "run": lease.run,
            "chunk_id": lease.chunk_id,
            "epoch": lease.epoch,
            "seq": lease.seq,
            "reason": commit.reason,
            "at": commit.at,
            "items": len(commit.handled),
            "unsettled": sum(isinstance(entry.outcome, RetryAt | Rejudged) for entry in commit.handled),
            "depth": change.depth,
            "counters": json_rows(asdict(written["counters"]).values()),
            "segment_id": written["segment_id"],
            "start": appended.start if appended else None,
            "until": appended.end if appended else None,
            "crc": appended.crc if appended else None,
            "cursor": None if commit.cursor is None else dumps(commit.cursor),
        },
    )


def _given(db: apsw.Connection, change: Change) -> tuple[HostQueue, ...]:
    if not change.hosts_with_new:
        return ()
    found = fetch(db, SQL["hosts_with_new"], {"ids": json_rows(change.hosts_with_new)})
    return tuple(HostQueue(*row) for row in found)


def _happened(db: apsw.Connection, lease: Lease) -> bool:
    ((there,),) = fetch(
        db, SQL["happened"], {"chunk_id": lease.chunk_id, "epoch": lease.epoch, "seq": lease.seq + 1}
    )
    return bool(there)
