"""What is written down of any response, beside itself: the data that page, redirect and error records share."""

import hashlib
from collections.abc import Iterable
from typing import Any

from holdfast.domain.item import Record
from holdfast.ports.fetcher import Response
from holdfast.ports.segments import Exchange

MAX_HEADER_CHARS = 512


def joined_header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """All headers of that name (given in lower case) as one value."""
    return ", ".join(value for key, value in headers if key.lower() == name)


def facts_of(response: Response) -> tuple[dict[str, Any], bytes]:
    """What every record says of its response, and the SHA-256 of the payload."""
    digest = hashlib.sha256(response.payload).digest()
    encoding = joined_header(response.headers, "content-encoding")
    plain = response.body is response.payload or response.body == response.payload
    body_digest = digest if plain else hashlib.sha256(response.body).digest()
    return {
        "status": response.status,
        "fetched_at": response.fetched_at,
        "content_type": (response.header("content-type") or "").strip()[:MAX_HEADER_CHARS],
        "encoding": encoding[:MAX_HEADER_CHARS],
        "size": len(response.body),
        "sha256": body_digest.hex(),
        "http_version": response.http_version,
        "elapsed_ms": round(response.elapsed_s * 1000, 1),
    }, digest


def record_of(kind: str, response: Response, **more: str) -> Record:
    """The record of a response that gave no page, with its evidence."""
    data, digest = facts_of(response)
    return Record(kind, data | more, Exchange(response.undecoded(), digest))
