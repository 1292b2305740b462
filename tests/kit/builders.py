"""Jobs, findings, outcomes and commits as tests need them: all have defaults, and an address is its name."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.kit.clock import NOON

from holdfast.domain.checkpoint import CheckpointPolicy, CheckpointReason, Counters
from holdfast.domain.commit import Appended, Commit, Ending, Location, Stored
from holdfast.domain.item import Done, Found, Handled, Item, Outcome, Record
from holdfast.domain.job import Durability, Job, Limits, NewJob, Pace
from holdfast.domain.lease import Claim, Lease
from holdfast.domain.states import Status
from holdfast.domain.url import fingerprint
from holdfast.ports.fetcher import Response
from holdfast.ports.segments import Exchange


def found(
    path: str, depth: int = 0, *, parent: int | None = None, skip: str | None = None, stage: int = 0
) -> Found:
    """A finding: `a` is a page of host `site`, `other/a` one of host `other`."""
    host, _, name = path.rpartition("/")
    host = f"http://{host or 'site'}"
    url = f"{host}/{name}"
    return Found(url, fingerprint(url), host, depth, parent_id=parent, skip=skip, stage=stage)


def new_job(
    identity: str = "the job",
    *,
    name: str | None = None,
    limits: Limits | None = None,
    pace: Pace | None = None,
    checkpoints: CheckpointPolicy | None = None,
    spec: Mapping[str, Any] | None = None,
    fixed: frozenset[str] = frozenset(),
) -> NewJob:
    """A job to submit."""
    return NewJob(
        kind="test",
        identity=identity,
        spec=spec or {},
        name=name,
        limits=limits or Limits(),
        pace=pace or Pace(concurrency=4, per_host=4, delay_s=0.0),
        checkpoints=checkpoints or CheckpointPolicy(),
        fixed=fixed,
    )


def job(status: Status = Status.PENDING, **changes: Any) -> Job:
    """A job as the ledger would hold it."""
    stored = Job(
        id=1,
        public_id="01920000-0000-7000-8000-00000000abcd",
        kind="test",
        identity="the job",
        name=None,
        spec={},
        limits=Limits(),
        pace=Pace(concurrency=4, per_host=4, delay_s=0.0),
        checkpoints=CheckpointPolicy(),
        durability=Durability.PROCESS,
        owner="",
        status=status,
        reason=None,
        phase="queued",
        run=1,
        commit_no=0,
        desired=None,
        created_at=NOON,
        started_at=None,
        finished_at=None,
        active_s=0.0,
        granted_s=0.0,
        counters=Counters(),
        last_checkpoint_at=None,
    )
    return replace(stored, **changes)


def claim_of(stored: Job) -> Claim:
    """A claim on that job that no ledger knows of."""
    lease = Lease(stored.id, 1, stored.run, epoch=1, seq=0, worker_id="here/1/aa")
    return Claim(lease, stored, {}, 0, None, 0, 0, recovered=False)


def exchange(url: str, body: bytes = b"hello") -> Exchange:
    """A whole response with that body."""
    head = f"GET {url} HTTP/1.1\r\n\r\n".encode()
    headers = (("content-type", "text/html"),)
    response = Response(url, 200, "1.1", "OK", headers, body, body, head, "127.0.0.1", NOON, 0.01)
    return Exchange(response, hashlib.sha256(body).digest())


def page(url: str, body: bytes = b"hello", **data: Any) -> Record:
    """A record with its evidence; its size is the body's."""
    return Record("page", {"url": url, "size": len(body), "status": 200, **data}, exchange(url, body))


def done(item: Item, *findings: Found, body: bytes = b"hello", unkept: int = 0) -> Handled:
    """The item gave a page with those links."""
    return Handled(item, Done((page(item.url, body),), tuple(findings), unkept))


def handled(item: Item, outcome: Outcome) -> Handled:
    """The item with any outcome."""
    return Handled(item, outcome)


def batch(
    *entries: Handled,
    reason: CheckpointReason = CheckpointReason.ITEMS,
    at: float = NOON,
    segment: str | None = None,
    start: int = 0,
    ending: Ending | None = None,
    **notes: Any,
) -> Commit:
    """A commit of these entries, their exchanges one after the other in the segment, 100 bytes each."""
    exchanges = [
        record.exchange
        for entry in entries
        for record in getattr(entry.outcome, "records", ())
        if record.exchange is not None
    ]
    appended = appended_for(exchanges, segment or "seg-1", start) if exchanges else None
    return Commit(reason=reason, at=at, handled=tuple(entries), appended=appended, ending=ending, **notes)


RECORD_BYTES = 100
"""What one record takes in the segments that `batch` tells of."""


def appended_for(exchanges: Sequence[Exchange], segment: str, start: int) -> Appended:
    """The answer of a segment writer that found nothing to be a duplicate."""
    stored = tuple(
        Stored(Location(segment, start + RECORD_BYTES * index, RECORD_BYTES), sent.digest)
        for index, sent in enumerate(exchanges)
    )
    return Appended(
        segment, start, start + RECORD_BYTES * len(stored), crc=start + len(stored), stored=stored
    )
