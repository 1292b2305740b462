"""Shortcuts for tests that write and read segments."""

import asyncio
import hashlib
import itertools
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast.domain.checkpoint import CheckpointPolicy, Counters
from holdfast.domain.commit import Appended
from holdfast.domain.job import Durability, Job, Limits, Pace
from holdfast.domain.lease import Lease
from holdfast.domain.states import Status
from holdfast.ports.fetcher import Response
from holdfast.ports.segments import Exchange, Original
from holdfast.web.warc import WarcSegments

AT = 1_700_000_000.123456

JOB = Job(
    id=1,
    public_id="0198c0de-0000-7000-8000-00000000abcd",
    kind="site",
    identity="x",
    name=None,
    spec={},
    limits=Limits(),
    pace=Pace(),
    checkpoints=CheckpointPolicy(),
    durability=Durability.PROCESS,
    owner="",
    status=Status.IN_PROGRESS,
    reason=None,
    phase="crawl",
    run=1,
    commit_no=0,
    desired=None,
    created_at=AT,
    started_at=AT,
    finished_at=None,
    active_s=0.0,
    granted_s=0.0,
    counters=Counters(),
    last_checkpoint_at=None,
)


class StillClock:
    """Always the same moment."""

    def wall(self) -> float:
        return AT

    def monotonic(self) -> float:
        return 0.0


def counted_ids() -> "Iterable[str]":
    """Ids that are the same in each run."""
    return (str(uuid.UUID(int=number)) for number in itertools.count(1))


def segments(home: Path, *, segment_bytes: int = 1 << 28, record_bytes: int = 1 << 27) -> WarcSegments:
    ids = iter(counted_ids())
    return WarcSegments(
        home, StillClock(), new_id=lambda: next(ids), segment_bytes=segment_bytes, record_bytes=record_bytes
    )


def lease(chunk: int = 3, epoch: int = 7) -> Lease:
    return Lease(job_id=1, chunk_id=chunk, run=1, epoch=epoch, seq=0, worker_id="w")


def exchange(
    body: bytes = b"<p>hello",
    url: str = "http://example.org/",
    *,
    status: int = 200,
    headers: tuple[tuple[str, str], ...] | None = None,
    at: float = AT,
    http_version: str = "HTTP/1.1",
    reason_phrase: str = "OK",
) -> Exchange:
    if headers is None:
        headers = (("Content-Type", "text/html"), ("Content-Length", str(len(body))))
    request = f"GET / HTTP/1.1\r\nHost: {url}\r\n\r\n".encode()
    response = Response(
        url, status, http_version, reason_phrase, headers, body, body, request, "192.0.2.1", at, 0.1
    )
    return Exchange(response, hashlib.sha256(body).digest())


def append(
    store: WarcSegments,
    *batches: list[Exchange],
    known: Mapping[bytes, Original] | None = None,
    durability: Durability = Durability.PROCESS,
    claim: Lease | None = None,
) -> list[Appended]:
    """Append each batch, by one writer."""

    async def main() -> list[Appended]:
        writer = store.writer(JOB, claim or lease(), durability)
        try:
            return [await writer.append(batch, known or {}) for batch in batches]
        finally:
            await writer.close()

    return asyncio.run(main())


def folder(home: Path) -> Path:
    return home / "segments" / JOB.public_id
