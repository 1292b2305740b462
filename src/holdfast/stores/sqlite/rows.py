"""Rows to domain values, and bounds to JSON and back. The one place that knows the order of columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar

import orjson

from holdfast.domain.checkpoint import Checkpoint, CheckpointPolicy, CheckpointReason, Counters
from holdfast.domain.commit import Location
from holdfast.domain.errors import DamagedJob
from holdfast.domain.item import Item, Record
from holdfast.domain.job import Durability, Job, Limits, NewJob, Pace
from holdfast.domain.runs import Run, RunKind
from holdfast.domain.states import Status
from holdfast.ports.ledger import RecordRow, Rendering, Whereabouts
from holdfast.ports.segments import Original

Row = tuple[Any, ...]
Group = TypeVar("Group", Limits, Pace, CheckpointPolicy)


def bounds_of(new: NewJob | Job) -> dict[str, Any]:
    """What bounds a job, as stored."""
    return {
        "limits": {
            "max_pages": new.limits.max_pages,
            "max_depth": new.limits.max_depth,
            "max_bytes": new.limits.max_bytes,
            "time_limit_s": new.limits.time_limit_s,
            "host_pages": new.limits.host_pages,
            "host_bytes": new.limits.host_bytes,
        },
        "pace": {
            "concurrency": new.pace.concurrency,
            "per_host": new.pace.per_host,
            "delay_s": new.pace.delay_s,
            "max_rate": new.pace.max_rate,
            "target": new.pace.target,
            "max_delay_s": new.pace.max_delay_s,
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


def group(kind: type[Group], bounds: Mapping[str, Any], name: str) -> Group:
    """One group of bounds as stored: what is missing takes its default, what we don't know is a newer Holdfast's."""
    stored = bounds.get(name, {})
    known = {field.name: stored[field.name] for field in fields(kind) if field.name in stored}
    for value in known.values():
        if value is not None and type(value) not in {int, float}:
            raise TypeError(f"{value!r} is no number")
    return kind(**known)


@contextmanager
def reading(public_id: str, column: str) -> Iterator[None]:
    """Whatever is wrong with that column is DamagedJob."""
    try:
        yield
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedJob(public_id, column) from error


def mapping(text: str) -> dict[str, Any]:
    """A JSON object; ValueError or TypeError for anything else."""
    value = orjson.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{text[:40]} is no JSON object")
    return value


def job(row: Row) -> Job:
    """A row of jobs.sql's job columns."""
    (
        job_id, public_id, kind, identity, name, owner, spec, bounds, status, reason, desired, phase, run,
        commit_no, created_at, started_at, finished_at, last_checkpoint_at, active_s, granted_s, rescan_of, *counters,
    ) = row  # fmt: skip
    with reading(public_id, "bounds"):
        stored = mapping(bounds)
        limits, pace = group(Limits, stored, "limits"), group(Pace, stored, "pace")
        checkpoints = group(CheckpointPolicy, stored, "checkpoints")
        durability = Durability(stored.get("durability", Durability.PROCESS))
    with reading(public_id, "spec"):
        asked = mapping(spec)
    with reading(public_id, "status"):
        stands = Status(status)
    return Job(
        id=job_id,
        public_id=public_id,
        kind=kind,
        identity=identity,
        name=name,
        owner=owner,
        spec=asked,
        limits=limits,
        pace=pace,
        checkpoints=checkpoints,
        durability=durability,
        status=stands,
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
        rescan_of=rescan_of,
    )


def run(row: Row) -> Run:
    """A row of runs."""
    number, kind, *rest = row
    return Run(number, RunKind(kind), *rest)


def run_bindings(made: Run) -> dict[str, Any]:
    """A run as its row's columns, but for the number."""
    return {
        "kind": made.kind,
        "after_commit": made.after_commit,
        "base_job": made.base_job,
        "base_run": made.base_run,
        "base_commit": made.base_commit,
        "rescan_of": made.rescan_of,
    }


def earlier(row: Sequence[Any]) -> Record:
    """A row of ledger.sql's `earlier`, but for the item's id."""
    kind, data, segment, start, length, digest, url, fetched_at, encoding = row
    place = Location(segment, start, length)
    kept = Original(place, url, float(fetched_at or 0), encoding, digest)
    return Record(kind, orjson.loads(data), kept)


def item(row: Row) -> Item:
    """A row of ledger.sql's item columns."""
    item_id, url, host_id, host, depth, kind, parent_id, attempts, rejudge, answered, lastmod, pages, size = (
        row
    )
    return Item(
        item_id,
        url,
        host_id,
        host,
        depth,
        kind,
        parent_id,
        attempts,
        rejudge=bool(rejudge),
        host_answered=bool(answered),
        lastmod=lastmod,
        host_pages=pages,
        host_bytes=size,
    )


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
    status, parent_url, ordinal, kind, data, segment, start, length, digest, *rest = row[10:]
    body, (same_as,), shown, shown_body = rest[:3], rest[3:4], rest[4:7], rest[7:]
    return RecordRow(
        item=item((*row[:9], False, row[9], 0, 0)),
        status=status,
        parent_url=parent_url,
        ordinal=ordinal,
        kind=kind,
        data=orjson.loads(data),
        location=None if segment is None else Location(segment, start, length),
        digest=digest,
        revisit_of=_somewhere(body),
        same_as=same_as,
        rendering=None if shown[0] is None else Rendering(Location(*shown), _somewhere(shown_body)),
    )


def _somewhere(place: Sequence[Any]) -> Location | None:
    return None if place[0] is None else Location(*place)


def whereabouts(row: Row) -> Whereabouts:
    """A row of ledger.sql's item columns, and where it stands."""
    return Whereabouts(item(row[:13]), *row[13:])
