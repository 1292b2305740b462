"""Rows to domain values, and bounds to JSON and back. The one place that knows the order of columns."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from holdfast.domain.checkpoint import Checkpoint, CheckpointPolicy, CheckpointReason, Counters
from holdfast.domain.commit import Location
from holdfast.domain.item import Item
from holdfast.domain.job import Durability, Job, Limits, NewJob, Pace
from holdfast.domain.states import Status
from holdfast.ports.ledger import RecordRow

Row = tuple[Any, ...]


def bounds_of(new: NewJob | Job) -> dict[str, Any]:
    """What bounds a job, as stored."""
    return {
        "limits": {
            "max_pages": new.limits.max_pages,
            "max_depth": new.limits.max_depth,
            "max_bytes": new.limits.max_bytes,
            "time_limit_s": new.limits.time_limit_s,
        },
        "pace": {
            "concurrency": new.pace.concurrency,
            "per_host": new.pace.per_host,
            "delay_s": new.pace.delay_s,
        },
        "checkpoints": {"items": new.checkpoints.items, "seconds": new.checkpoints.seconds},
        "durability": new.durability.value,
    }


def json_rows(values: Iterable[Any]) -> str:
    """A set of rows as one binding, for json_each."""
    return orjson.dumps(list(values)).decode()


def dumps(value: Mapping[str, Any]) -> str:
    """JSON text for a column."""
    return orjson.dumps(value).decode()


def limits_from(bounds: Mapping[str, Any]) -> Limits:
    """Limits as stored; what is missing is not limited."""
    return Limits(**bounds.get("limits", {}))


def pace_from(bounds: Mapping[str, Any]) -> Pace:
    """Pace as stored; what is missing takes its default."""
    return Pace(**bounds.get("pace", {}))


def checkpoints_from(bounds: Mapping[str, Any]) -> CheckpointPolicy:
    """The checkpoint policy as stored; what is missing takes its default."""
    return CheckpointPolicy(**bounds.get("checkpoints", {}))


def job(row: Row) -> Job:
    """A row of jobs.sql's job columns."""
    (
        job_id, public_id, kind, identity, name, owner, spec, bounds, status, reason, desired, phase, run,
        commit_no, created_at, started_at, finished_at, last_checkpoint_at, active_s, granted_s, *counters,
    ) = row  # fmt: skip
    stored = orjson.loads(bounds)
    return Job(
        id=job_id,
        public_id=public_id,
        kind=kind,
        identity=identity,
        name=name,
        owner=owner,
        spec=orjson.loads(spec),
        limits=limits_from(stored),
        pace=pace_from(stored),
        checkpoints=checkpoints_from(stored),
        durability=Durability(stored.get("durability", Durability.PROCESS)),
        status=Status(status),
        reason=reason,
        desired=desired,
        phase=phase,
        run=run,
        commit_no=commit_no,
        created_at=created_at,
        started_at=started_at,
        finished_at=finished_at,
        last_checkpoint_at=last_checkpoint_at,
        active_s=active_s,
        granted_s=granted_s,
        counters=Counters(*counters),
    )


def item(row: Row) -> Item:
    """A row of ledger.sql's item columns."""
    item_id, url, host_id, host, depth, kind, parent_id, attempts, rejudge, answered = row
    return Item(item_id, url, host_id, host, depth, kind, parent_id, attempts, bool(rejudge), bool(answered))


def checkpoint(row: Row) -> Checkpoint:
    """A row of commits, with the name of its segment."""
    number, chunk_id, epoch, seq, reason, at, items, depth, counters, segment, until = row
    return Checkpoint(
        number=number,
        chunk_id=chunk_id,
        epoch=epoch,
        seq=seq,
        reason=CheckpointReason(reason),
        at=at,
        items=items,
        depth=depth,
        counters=Counters(*orjson.loads(counters)),
        segment=segment,
        offset=until,
    )


def record(row: Row) -> RecordRow:
    """A row of ledger.sql's record columns."""
    status, parent_url, ordinal, kind, data, segment, start, length, digest, body, body_start, body_length = (
        row[8:]
    )
    return RecordRow(
        item=Item(*row[:8]),
        status=status,
        parent_url=parent_url,
        ordinal=ordinal,
        kind=kind,
        data=orjson.loads(data),
        location=None if segment is None else Location(segment, start, length),
        digest=digest,
        revisit_of=None if body is None else Location(body, body_start, body_length),
    )
