"""The Fetcher: libcurl for the protocol, our own eyes for what came."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import pycurl  # type: ignore[import-untyped]  # has no types

from holdfast.domain.url import hostname
from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import UNWANTED, FetchFailed, Request, Response
from holdfast.web.access.proxies import FAULTS, Proxies, Proxy
from holdfast.web.access.secrets import Lent
from holdfast.web.coding import ACCEPTED, codings, decode
from holdfast.web.flow import Flow
from holdfast.web.head import Head, Headers, Place, merge, parse_head, place, request_head, request_lines
from holdfast.web.reactor import Reactor
from holdfast.web.reasons import failure
from holdfast.web.transfer import FetchLimits, Sending, Transfer, trusted_roots
from holdfast.web.ways import Ways

ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_MOST_HOSTS: Final = 10_000
_WANTS_LOGIN: Final = 407
_SMALL_BODY: Final = 256 * 1024


class _Said(NamedTuple):
    """A request's headers, one line each."""

    lines: list[bytes]
    shown: list[bytes]
    """The same as they may be written down."""
    lent: Lent | None = None


class CurlFetcher:
    """Fetches with libcurl on the loop that runs at the first fetch; later calls must come from that loop.

    HTTP/1.1, and HTTP/2 where TLS agrees on it; certificates verified; nothing taken from the environment
    (no proxy, no netrc); no cookies but those that it was given or told to keep, no redirects. `web.reasons` lists
    how a fetch may fail.
    """

    def __init__(
        self,
        user_agent: str,
        clock: Clock,
        *,
        limits: FetchLimits | None = None,
        ca_file: str | None = None,
        connections: int = 64,
        ways: Ways | None = None,
    ) -> None:
        """`connections`: how many idle ones to keep alive; at least the crawl's concurrency.

        `ca_file`: whom to believe, if not the system's roots. `ways`: by which ways, and with what in hand.
        """
        self._clock = clock
        self._limits = limits or FetchLimits()
        self._ca_file = ca_file or trusted_roots()
        self._connections = connections
        self._ways = ways or Ways()
        own = (("User-Agent", user_agent), ("Accept", ACCEPT), ("Accept-Encoding", ACCEPTED))
        self._own: Headers = merge(own, self._ways.headers)
        lines = request_lines(self._own)
        self._own_said = _Said(lines, lines)
        self._reactor: Reactor | None = None
        self._idle: list[Transfer] = []
        self._old_fashioned: set[str] = set()
        self._closed = False

    async def fetch(self, request: Request) -> Response:
        """The response, or FetchFailed. A cancelled call drops its transfer at once."""
        where = place(request.url)
        said = self._said(request)
        if self._closed:
            raise FetchFailed("closed", transient=True)
        if self._ways.proxies is not None:
            return await self._fetch_by_proxy(self._ways.proxies, request, where, said)
        return await self._fetch(request, where, said, None)

    async def _fetch(self, request: Request, where: Place, said: _Said, proxy: Proxy | None) -> Response:
        reactor = self._running_reactor()
        if self._limits.bytes_s is not None:
            await reactor.flow.turn()
        transfer = self._idle.pop() if self._idle else self._new_transfer(reactor.flow)
        transfer.ask(self._sending(request, where, said, proxy))
        try:
            return await self._exchange(reactor, transfer, request, where, said)
        finally:
            self._put_back(transfer)

    def _running_reactor(self) -> Reactor:
        if self._reactor is None:
            limits = self._limits
            flow = Flow(self._clock.monotonic, memory_bytes=limits.memory_bytes, bytes_s=limits.bytes_s)
            self._reactor = Reactor(self._connections, flow)
        return self._reactor

    async def _fetch_by_proxy(
        self, proxies: Proxies, request: Request, where: Place, said: _Said
    ) -> Response:
        """By the host's own proxy, and where that fails by another one, as long as there is one and time for it."""
        host, guard = hostname(request.url), self._ways.guard
        kind = guard.refuses_host(host) if guard is not None else None
        if kind is not None:
            raise FetchFailed("private_address", f"{host} is {kind}", transient=False)
        now = self._clock.monotonic
        give_up, tried = now() + self._limits.total_s, set[Proxy]()
        proxy = proxies.choose(host, now())
        while True:
            try:
                response = _let_through(await self._fetch(request, where, said, proxy))
            except FetchFailed as failed:
                if failed.reason not in FAULTS:
                    raise
                proxies.failed(proxy, failed.reason, now())
                tried.add(proxy)
                another = proxies.another(host, tried, now())
                if another is None or now() >= give_up:
                    raise
                proxy = another
            else:
                proxies.answered(proxy)
                return response

    def _said(self, request: Request) -> _Said:
        """What the request says of us and of whoever sends us."""
        credentials, asked = self._ways.credentials, request.headers
        lent = None if credentials is None else credentials.lend(request.url, self._clock.wall(), asked)
        if lent is not None:
            lines = request_lines(merge(self._own, lent.headers))
            return _Said(lines, request_lines(merge(self._own, lent.hidden)), lent)
        if not asked:
            return self._own_said
        lines = request_lines(merge(self._own, asked))
        return _Said(lines, lines)

    def _sending(self, request: Request, where: Place, said: _Said, proxy: Proxy | None) -> Sending:
        # A proxy that isn't only a tunnel has to be told the whole URL.
        passed_on = proxy is not None and request.url.startswith("http:") and proxy.scheme.startswith("http")
        return Sending(
            url=request.url,
            target=request.url.partition("#")[0] if passed_on else where.target,
            lines=said.lines,
            cap=request.max_bytes,
            fresh=where.host in self._old_fashioned,
            proxy=proxy,
            verified=not self._ways.insecure or said.lent is not None,
            wanted=None if request.wanted is None else partial(_wants, request.wanted),
        )

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
        self, reactor: Reactor, transfer: Transfer, request: Request, where: Place, said: _Said
    ) -> Response:
        flow = reactor.flow
        fetched_at, started = self._clock.wall(), self._clock.monotonic()
        try:
            code, message = await reactor.start(transfer.easy)
        except asyncio.CancelledError:
            reactor.drop(transfer.easy)
            raise
        elapsed_s = self._clock.monotonic() - started
        if self._limits.bytes_s is not None:
            flow.cost(transfer.head_bytes)
        if transfer.unwanted or (code == pycurl.E_FILESIZE_EXCEEDED and not transfer.wants_on):
            raise FetchFailed(UNWANTED, transient=False)
        if code:
            broken = transfer.broken(code, message)
            raise failure(broken, total_s=self._limits.total_s, header_bytes=self._limits.header_bytes)
        head = self._head(transfer)
        if head.http_version == "HTTP/1.0":
            self._remember_old_fashioned(where.host)
        payload = transfer.payload
        if len(payload) > transfer.cap:
            raise FetchFailed("too_large", f"more than {transfer.cap} bytes", transient=False)
        if flow.strained:
            await flow.relief()
        body = self._body(head, payload)
        return Response(
            url=request.url,
            status=head.status,
            http_version=head.http_version,
            reason_phrase=head.reason_phrase,
            headers=head.headers if said.lent is None else said.lent.told(head.headers),
            payload=payload,
            body=body,
            request_head=request_head(where, said.shown),
            ip=transfer.ip,
            fetched_at=fetched_at,
            elapsed_s=elapsed_s,
            room=flow.hand_out(len(payload) if body is payload else len(payload) + len(body)),
            set_cookies=() if said.lent is None else self._set_cookies(request.url, head.headers),
        )

    def _set_cookies(self, url: str, headers: Headers) -> tuple[str, ...]:
        """What `headers` of the response no longer say; kept in the jar as well, if it takes any."""
        assert self._ways.credentials is not None  # noqa: S101 - else nothing was lent
        self._ways.credentials.take(url, headers, self._clock.wall())
        return tuple(value for name, value in headers if name.lower() == "set-cookie")

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

    def _new_transfer(self, flow: Flow) -> Transfer:
        return Transfer(self._limits, self._ca_file, self._own_said.lines, flow, self._ways.guard)

    def _put_back(self, transfer: Transfer) -> None:
        transfer.forget()
        if self._closed or len(self._idle) >= self._connections:
            transfer.close()
        else:
            self._idle.append(transfer)


def _let_through(response: Response) -> Response:
    """The response, unless it is the proxy's own, which wants to know who asks."""
    if response.status == _WANTS_LOGIN:
        raise FetchFailed("proxy_auth", "", transient=True)
    return response


def _wants(wanted: Callable[[int, str], bool], raw: bytes) -> bool:
    """Whether the body goes on. A small one does in any case: breaking off would cost the connection."""
    try:
        head = parse_head(raw)
    except FetchFailed:
        return True
    said = {name.lower(): value for name, value in head.headers}
    length = said.get("content-length", "")
    if length.isdigit() and int(length) <= _SMALL_BODY:
        return True
    return wanted(head.status, said.get("content-type", ""))


def version() -> str:
    """What fetches, for people who look for a fault."""
    return str(pycurl.version)
