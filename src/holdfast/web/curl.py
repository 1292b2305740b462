"""The Fetcher: libcurl for the protocol, our own eyes for what came."""

import asyncio
from typing import Final

import pycurl  # type: ignore[import-untyped]  # has no types

from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import FetchFailed, Request, Response
from holdfast.web.coding import ACCEPTED, codings, decode
from holdfast.web.guard import Guard
from holdfast.web.head import Head, Headers, Place, merge, parse_head, place, request_head, request_lines
from holdfast.web.reactor import Reactor
from holdfast.web.reasons import failure
from holdfast.web.transfer import FetchLimits, Transfer, trusted_roots

ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_MOST_HOSTS: Final = 10_000


class CurlFetcher:
    """Fetches with libcurl on the loop that runs at the first fetch; later calls must come from that loop.

    HTTP/1.1, and HTTP/2 where TLS agrees on it; certificates verified; nothing taken from the environment
    (no proxy, no netrc); no cookies, no redirects. `web.reasons` lists how a fetch may fail.
    """

    def __init__(
        self,
        user_agent: str,
        clock: Clock,
        *,
        limits: FetchLimits | None = None,
        ca_file: str | None = None,
        connections: int = 64,
        guard: Guard | None = None,
    ) -> None:
        """`connections`: how many idle ones to keep alive; at least the crawl's concurrency.

        `ca_file`: whom to believe, if not the system's roots. `guard`: whom not to connect to, if anybody.
        """
        self._clock = clock
        self._limits = limits or FetchLimits()
        self._ca_file = ca_file or trusted_roots()
        self._connections = connections
        self._guard = guard
        self._own: Headers = (("User-Agent", user_agent), ("Accept", ACCEPT), ("Accept-Encoding", ACCEPTED))
        self._own_lines = request_lines(merge(self._own, ()))
        self._reactor: Reactor | None = None
        self._idle: list[Transfer] = []
        self._old_fashioned: set[str] = set()
        self._closed = False

    async def fetch(self, request: Request) -> Response:
        """The response, or FetchFailed. A cancelled call drops its transfer at once."""
        where = place(request.url)
        lines = request_lines(merge(self._own, request.headers)) if request.headers else self._own_lines
        if self._closed:
            raise FetchFailed("closed", transient=True)
        if self._reactor is None:
            self._reactor = Reactor(self._connections)
        transfer = self._idle.pop() if self._idle else self._new_transfer()
        try:
            return await self._exchange(self._reactor, transfer, request, where, lines)
        finally:
            self._put_back(transfer)

    async def close(self) -> None:
        """Drop what is in flight, each with FetchFailed(closed), and close every connection."""
        self._closed = True
        if self._reactor is not None:
            self._reactor.close()
            self._reactor = None
        idle, self._idle = self._idle, []
        for transfer in idle:
            transfer.close()

    async def _exchange(
        self, reactor: Reactor, transfer: Transfer, request: Request, where: Place, lines: list[bytes]
    ) -> Response:
        fresh = where.host in self._old_fashioned
        transfer.ask(request.url, where.target, lines, request.max_bytes, fresh=fresh)
        fetched_at, started = self._clock.wall(), self._clock.monotonic()
        try:
            code, message = await reactor.start(transfer.easy)
        except asyncio.CancelledError:
            reactor.drop(transfer.easy)
            raise
        elapsed_s = self._clock.monotonic() - started
        if code:
            broken = transfer.broken(code, message)
            raise failure(broken, total_s=self._limits.total_s, header_bytes=self._limits.header_bytes)
        head = self._head(transfer)
        if head.http_version == "HTTP/1.0":
            self._remember_old_fashioned(where.host)
        payload = transfer.payload
        if len(payload) > transfer.cap:
            raise FetchFailed("too_large", f"more than {transfer.cap} bytes", transient=False)
        return Response(
            url=request.url,
            status=head.status,
            http_version=head.http_version,
            reason_phrase=head.reason_phrase,
            headers=head.headers,
            payload=payload,
            body=self._body(head, payload),
            request_head=request_head(where, lines),
            ip=transfer.ip,
            fetched_at=fetched_at,
            elapsed_s=elapsed_s,
        )

    def _remember_old_fashioned(self, host: str) -> None:
        """Never ask twice on one connection there: curl would ask in HTTP/1.0, and we say that we didn't."""
        if len(self._old_fashioned) >= _MOST_HOSTS:
            self._old_fashioned.clear()
        self._old_fashioned.add(host)

    def _head(self, transfer: Transfer) -> Head:
        raw = transfer.head
        if len(raw) > self._limits.header_bytes:
            raise FetchFailed("header_too_large", f"{len(raw)} bytes", transient=False)
        return parse_head(raw)

    def _body(self, head: Head, payload: bytes) -> bytes:
        applied: list[str] = []
        framed = head.http_version == "HTTP/2"
        for name, value in head.headers:
            folded = name.lower()
            if folded == "content-encoding":
                applied.append(value)
            elif folded in {"content-length", "transfer-encoding"}:
                framed = True
        if not applied:
            return payload
        return decode(payload, codings(applied), self._limits.decoded_bytes, framed=framed)

    def _new_transfer(self) -> Transfer:
        return Transfer(self._limits, self._ca_file, self._own_lines, self._guard)

    def _put_back(self, transfer: Transfer) -> None:
        transfer.forget()
        if self._closed or len(self._idle) >= self._connections:
            transfer.close()
        else:
            self._idle.append(transfer)


def version() -> str:
    """What fetches, for people who look for a fault."""
    return str(pycurl.version)
