"""The seam to the web: one request in, one response or one reason out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

UNWANTED: Final = "unwanted"
"""Why a fetch gave no whole response, if whoever asked didn't want it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One GET. Redirects are never followed here: they are the crawl's business."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    """Beyond what the fetcher sends by itself (User-Agent, Accept, Accept-Encoding)."""
    max_bytes: int | None = None
    """A smaller body cap than the fetcher's own."""
    wanted: Callable[[int, str], bool] | None = None
    """Asked with status and Content-Type before a large body is fetched: a fetcher may raise UNWANTED then."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole response. `payload` is as it came off the wire, still content-encoded; `body` is decoded."""

    url: str
    status: int
    http_version: str
    reason_phrase: str
    headers: tuple[tuple[str, str], ...]
    payload: bytes
    body: bytes
    request_head: bytes
    """The request as it was sent: request line and headers. Where a secret was is only said that one was."""
    ip: str
    fetched_at: float
    elapsed_s: float
    set_cookies: tuple[str, ...] = field(default=(), repr=False)
    """What `Set-Cookie` said where `headers` don't hold it, because it is a secret. Never stored."""

    room: object = field(default=None, repr=False, compare=False)
    """What a large one takes of the memory that is there for responses: let go of it with the response."""

    def header(self, name: str) -> str | None:
        """The first header of that name (given in lower case), or None."""
        for key, value in self.headers:
            if key.lower() == name:
                return value
        return None

    def undecoded(self) -> "Response":
        """All that a segment needs: without the decoded body, which the payload gives again."""
        if self.body is self.payload:
            return self if self.room is None else replace(self, room=None)
        return replace(self, body=b"", room=None)


class FetchFailed(Exception):
    """No whole response. `reason` is one word of a fixed list, `transient` whether a later try may do better."""

    def __init__(self, reason: str, detail: str = "", *, transient: bool) -> None:
        self.reason = reason
        self.detail = detail
        self.transient = transient
        super().__init__(f"{reason}: {detail}" if detail else reason)


class Fetcher(Protocol):
    """Fetches. Many at once; each call stands on its own."""

    async def fetch(self, request: Request) -> Response:
        """The response, or FetchFailed."""

    async def close(self) -> None:
        """Drop what is in flight and let go of every connection."""
