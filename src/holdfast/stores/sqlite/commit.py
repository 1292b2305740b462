"""The one transaction, step by step as design.md draws it.

A crash anywhere in `write` leaves the ledger at the commit before: the items are pending, the segment's bytes past
its committed length are never read.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import apsw
import orjson

from holdfast.domain.checkpoint import Counters
from holdfast.domain.commit import Commit, Committed, Ending, HostQueue, Stored
from holdfast.domain.errors import LeaseLost, StorageFailed
from holdfast.domain.item import (
    Done,
    Failed,
    Found,
    Handled,
    ItemStatus,
    Meeting,
    Redirected,
    Rejudged,
    RetryAt,
    Skipped,
    meet,
)
from holdfast.domain.lease import Lease
from holdfast.domain.states import Action, Status, after
from holdfast.ports.faults import FaultPoint, reached
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.statements import statements

SQL = statements("commit")


def rows(values: Iterable[Any]) -> str:
    """A set of rows as one JSON binding."""
    return orjson.dumps(list(values)).decode()


_PENDING = (ItemStatus.PENDING.value, "")


@dataclass(slots=True)
class Change:
    """What the steps of one commit add up to; written by the last of them."""

    number: int
    tallies: Counter[tuple[str, str]] = field(default_factory=Counter)
    queued_by_host: Counter[int] = field(default_factory=Counter)
    settled_by_host: Counter[int] = field(default_factory=Counter)
    hosts_with_new: set[int] = field(default_factory=set)
    bytes: int = 0
    depth: int = 0

    def moves(self, host_id: int, source: tuple[str, str] | None, target: tuple[str, str]) -> None:
        """One item goes from a status to another; from None where it is new."""
        if source is not None:
            self.tallies[source] -= 1
        self.tallies[target] += 1
        came = int(target == _PENDING) - int(source == _PENDING)
        self.queued_by_host[host_id] += came
        self.settled_by_host[host_id] += int(source is None) - came
        if came > 0:
            self.hosts_with_new.add(host_id)

    def of(self, status: ItemStatus) -> int:
        """By how much the number of items in that status changes."""
        return sum(count for (name, _), count in self.tallies.items() if name == status)


def write(db: apsw.Connection, lease: Lease, commit: Commit) -> Committed:
    """Commit, or raise with nothing written: LeaseLost where the chunk is somebody else's by now."""
    try:
        with immediate(db):
            committed = _steps(db, lease, commit)
    except (apsw.IOError, apsw.FullError):
        if not _happened(db, lease):
            raise
        message = "the ledger broke off while it confirmed a commit; the commit stands. Run the same command again."
        raise StorageFailed(message) from None
    reached(FaultPoint.AFTER_COMMIT, lease)
    return committed


def _steps(db: apsw.Connection, lease: Lease, commit: Commit) -> Committed:
    seq = _fence(db, lease)
    number, desired = fetch(db, 
        SQL["next_number"],
        {"job_id": lease.job_id, "at": commit.at, "active_s": max(0.0, commit.active_s), "phase": commit.phase},
    )[0]
    change = Change(number)
    _settle(db, commit.handled, change)
    _discover(db, lease, _least(commit.handled), change)
    segment_id = _segment(db, lease, commit)
    _records(db, lease, commit, segment_id, change)
    reached(FaultPoint.IN_TRANSACTION, lease)
    status = _end(db, lease, commit, desired)
    counters = _count(db, lease, commit, change, status)
    _checkpoint(db, lease, commit, seq, segment_id, counters, change)
    return Committed(seq, number, counters, _given(db, change), desired)


def _fence(db: apsw.Connection, lease: Lease) -> int:
    found = fetch(db, 
        SQL["fence"], {"chunk_id": lease.chunk_id, "epoch": lease.epoch, "seq": lease.seq}
    )
    if not found:
        message = "the lease is lost: another worker took over, or the job was cancelled. Nothing more was written."
        raise LeaseLost(message)
    return int(found[0][0])


def _settle(db: apsw.Connection, handled: tuple[Handled, ...], change: Change) -> None:
    outcomes: list[tuple[int, str, str | None, float | None, int]] = []
    rejudged: list[tuple[int, int]] = []
    for entry in handled:
        item, outcome = entry.item, entry.outcome
        change.depth = max(change.depth, item.depth)
        match outcome:
            case Done():
                outcomes.append((item.id, ItemStatus.DONE, None, None, item.depth))
                change.moves(item.host_id, _PENDING, (ItemStatus.DONE, ""))
            case Redirected(reason=reason):
                outcomes.append((item.id, ItemStatus.REDIRECTED, reason, None, item.depth))
                change.moves(item.host_id, _PENDING, (ItemStatus.REDIRECTED, reason))
            case Failed(reason=reason):
                outcomes.append((item.id, ItemStatus.FAILED, reason, None, item.depth))
                change.moves(item.host_id, _PENDING, (ItemStatus.FAILED, reason))
            case Skipped(reason=reason):
                outcomes.append((item.id, ItemStatus.SKIPPED, reason, None, item.depth))
                change.moves(item.host_id, _PENDING, (ItemStatus.SKIPPED, reason))
            case RetryAt(due_at=due_at, reason=reason):
                outcomes.append((item.id, ItemStatus.PENDING, reason, due_at, item.depth))
            case Rejudged():
                rejudged.append((item.id, item.depth))
    if outcomes:
        db.execute(SQL["settle"], {"outcomes": rows(outcomes), "number": change.number})
        if db.changes() != len(outcomes):
            message = "an item of this batch was settled before: the batch is refused. Run `holdfast verify`."
            raise StorageFailed(message)
    if rejudged:
        db.execute(SQL["rejudged"], {"items": rows(rejudged)})


def _least(handled: tuple[Handled, ...]) -> list[Found]:
    """The findings of a batch, each address once: admitted if any of them is, at the least depth of all.

    As if each had met the one before it: where a checkpoint falls decides nothing.
    """
    least: dict[bytes, Found] = {}
    for entry in handled:
        for found in getattr(entry.outcome, "found", ()):
            rival = least.get(found.fingerprint)
            if rival is None:
                least[found.fingerprint] = found
                continue
            one, other = sorted((rival, found), key=lambda each: (each.skip is not None, each.depth))
            least[found.fingerprint] = replace(one, depth=other.depth) if other.depth < one.depth else one
    return list(least.values())


def _discover(db: apsw.Connection, lease: Lease, findings: list[Found], change: Change) -> None:
    if not findings:
        return
    sought = rows((found.fingerprint.hex(), found.depth, found.skip is None) for found in findings)
    ((answer,),) = fetch(db, 
        SQL["unmet"], {"found": sought, "job_id": lease.job_id, "run": lease.run}
    )
    new: list[Found] = []
    revived = []
    nearer = []
    for index, item_id, status, reason, depth, host_id, attempts in orjson.loads(answer):
        found = findings[index]
        if item_id is None:
            new.append(found)
            continue
        match meet(ItemStatus(status), depth, found, handled=attempts > 0):
            case Meeting.REVIVED:
                revived.append((item_id, min(depth, found.depth), found.parent_id))
                change.moves(host_id, (status, reason or ""), _PENDING)
            case Meeting.NEARER:
                nearer.append((item_id, found.depth, 0))
            case Meeting.REJUDGED:
                nearer.append((item_id, found.depth, 1))
    insert(db, lease, new, change)
    if revived:
        db.execute(SQL["revived"], {"items": rows(revived)})
    if nearer:
        db.execute(SQL["nearer"], {"items": rows(nearer)})


def insert(db: apsw.Connection, lease: Lease, new: list[Found], change: Change) -> None:
    """Write new items, and give their hosts rows. Also how a job gets its first ones."""
    if not new:
        return
    names = rows({found.host for found in new})
    host_ids = {
        name: host_id
        for host_id, name in fetch(db, SQL["hosts_named"], {"chunk_id": lease.chunk_id, "names": names})
    }
    items = []
    for found in new:
        host_id = host_ids[found.host]
        items.append(
            (host_id, found.kind, found.fingerprint.hex(), found.url, found.depth, found.parent_id, found.skip)
        )
        target = _PENDING if found.skip is None else (ItemStatus.SKIPPED.value, found.skip)
        change.moves(host_id, None, target)
    db.execute(
        SQL["discovered"],
        {
            "job_id": lease.job_id,
            "run": lease.run,
            "chunk_id": lease.chunk_id,
            "items": rows(items),
            "number": change.number,
        },
    )


def _segment(db: apsw.Connection, lease: Lease, commit: Commit) -> int | None:
    appended = commit.appended
    if appended is None:
        return None
    found = fetch(db, 
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
        message = f"segment {appended.segment} does not go on where the ledger left it. Run `holdfast verify`."
        raise StorageFailed(message)
    return int(found[0][0])


def _records(
    db: apsw.Connection, lease: Lease, commit: Commit, segment_id: int | None, change: Change
) -> None:
    stored = iter(commit.appended.stored if commit.appended else ())
    table = []
    for entry in commit.handled:
        for ordinal, record in enumerate(getattr(entry.outcome, "records", ())):
            size = int(record.data.get("size", 0))
            change.bytes += size
            place = _place(next(stored)) if record.exchange is not None else (None,) * 6
            table.append((entry.item.id, ordinal, record.kind, record.data, size, *place))
    if table:
        db.execute(
            SQL["records"],
            {
                "job_id": lease.job_id,
                "run": lease.run,
                "number": change.number,
                "segment_id": segment_id,
                "records": rows(table),
            },
        )


def _place(stored: Stored) -> tuple[Any, ...]:
    body = stored.revisit_of
    return (
        stored.location.offset,
        stored.location.length,
        stored.digest.hex(),
        *((body.segment, body.offset, body.length) if body else (None, None, None)),
    )


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
        ((others,),) = fetch(db, 
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


def event(db: apsw.Connection, job_id: int, at: float, kind: str, detail: str) -> None:
    """Put an event into the outbox, in the transaction at hand."""
    db.execute(SQL["event"], {"job_id": job_id, "at": at, "kind": kind, "detail": detail})


def tally(db: apsw.Connection, chunk_id: int, change: Change) -> None:
    """Write what the moves add up to: queue lengths by host, and items by status and reason."""
    hosts = {host: 0 for host in (*change.queued_by_host, *change.settled_by_host)}
    if hosts:
        table = rows((host, change.queued_by_host[host], change.settled_by_host[host], None) for host in hosts)
        db.execute(SQL["hosts_changed"], {"hosts": table})
    moved = [(status, reason, count) for (status, reason), count in change.tallies.items() if count]
    for statement, part in (
        ("tallied_less", [row for row in moved if row[2] < 0]),
        ("tallied_more", [row for row in moved if row[2] > 0]),
    ):
        if part:
            db.execute(SQL[statement], {"chunk_id": chunk_id, "tallies": rows(part)})


def count(db: apsw.Connection, chunk_id: int, change: Change, **notes: Any) -> Counters:
    """Raise the chunk's counters by the change, and leave the notes of the claim."""
    ((*numbers, depth),) = fetch(db, 
        SQL["counted"],
        {
            "chunk_id": chunk_id,
            "found": sum(change.tallies.values()),
            "queued": change.of(ItemStatus.PENDING),
            "done": change.of(ItemStatus.DONE),
            "failed": change.of(ItemStatus.FAILED),
            "skipped": change.of(ItemStatus.SKIPPED),
            "redirected": change.of(ItemStatus.REDIRECTED),
            "bytes": change.bytes,
            "depth": change.depth,
            "external": 0,
            "cursor": None,
            "cautious_left": 0,
            "progress": False,
            "status": None,
        }
        | notes,
    )
    change.depth = depth
    return Counters(*numbers)


def _count(
    db: apsw.Connection, lease: Lease, commit: Commit, change: Change, status: Status | None
) -> Counters:
    tally(db, lease.chunk_id, change)
    if commit.host_due:
        due = rows((host_id, 0, 0, due_at) for host_id, due_at in commit.host_due.items())
        db.execute(SQL["hosts_changed"], {"hosts": due})
    return count(
        db,
        lease.chunk_id,
        change,
        external=sum(getattr(entry.outcome, "unkept", 0) for entry in commit.handled),
        cursor=None if commit.cursor is None else orjson.dumps(commit.cursor).decode(),
        cautious_left=commit.cautious_left,
        progress=bool(commit.handled),
        status=status,
    )


def _checkpoint(
    db: apsw.Connection,
    lease: Lease,
    commit: Commit,
    seq: int,
    segment_id: int | None,
    counters: Counters,
    change: Change,
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
            "seq": seq,
            "reason": commit.reason,
            "at": commit.at,
            "items": len(commit.handled),
            "depth": change.depth,
            "counters": rows(asdict(counters).values()),
            "segment_id": segment_id,
            "start": appended.start if appended else None,
            "until": appended.end if appended else None,
            "crc": appended.crc if appended else None,
        },
    )


def _given(db: apsw.Connection, change: Change) -> tuple[HostQueue, ...]:
    if not change.hosts_with_new:
        return ()
    found = fetch(db, SQL["hosts_with_new"], {"ids": rows(change.hosts_with_new)})
    return tuple(HostQueue(*row) for row in found)


def _happened(db: apsw.Connection, lease: Lease) -> bool:
    ((there,),) = fetch(db, 
        SQL["happened"], {"chunk_id": lease.chunk_id, "epoch": lease.epoch, "seq": lease.seq + 1}
    )
    return bool(there)
