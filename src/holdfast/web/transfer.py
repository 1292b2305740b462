"""One curl handle with the buffers it fills. Handles are pooled: what never changes is set once."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import certifi
import pycurl  # type: ignore[import-untyped]  # has no types

from holdfast.web.access.proxies import Proxy
from holdfast.web.coding import DECODED_BYTES
from holdfast.web.flow import MEMORY_BYTES, Flow
from holdfast.web.guard import Guard
from holdfast.web.reasons import Broken, BrokenProxy


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How long a fetch may take and how much it may bring."""

    connect_s: float = 10.0
    """Name resolution and TLS handshake included."""
    total_s: float = 120.0
    slow_bytes_s: int = 1024
    """Slower than this for `slow_s` seconds, silence included, and the fetch ends as `slow`."""
    slow_s: int = 30
    body_bytes: int = 32 * 1024 * 1024
    """Of the payload as it comes off the wire."""
    decoded_bytes: int = DECODED_BYTES
    header_bytes: int = 64 * 1024
    memory_bytes: int = MEMORY_BYTES
    """So much of bodies in memory, and only one of them still grows."""
    bytes_s: int | None = None
    """So much comes in per second, all transfers together."""


_SYSTEM_ROOTS: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Alpine
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # macOS, BSD
)


def trusted_roots() -> str:
    """The file of certificate authorities to believe: the system's, where there is one, else certifi's."""
    return next((path for path in _SYSTEM_ROOTS if Path(path).is_file()), certifi.where())


_SUPPRESS_CONNECT_HEADERS: Final = 265
"""What a proxy answers to CONNECT is no part of the response. pycurl has no name for it."""
_CHUNKS_OF: Final = 128 * 1024
"""curl's receive buffer: a page comes in one or two pieces."""
_SMALL_CHUNKS_OF: Final = 16 * 1024
"""Where what comes per second is capped: curl reads several at once before anybody can tell it to stop."""


class Sending(NamedTuple):
    """What differs from one request to the next."""

    url: str
    target: str
    """As it stands, whatever curl thinks of it."""
    lines: list[bytes]
    cap: int | None
    """A smaller body cap than the fetcher's own."""
    fresh: bool
    """Over a connection of its own."""
    proxy: Proxy | None
    verified: bool
    """Only if the host proves by its certificate who it is."""
    wanted: Callable[[bytes], bool] | None = None
    """Asked with the head when the body begins."""


class _Address(NamedTuple):
    """What pycurl says of a socket that is to be opened."""

    family: int
    socktype: int
    protocol: int
    addr: tuple[str, int]


class _Opened:
    """A socket until curl, which takes a copy of its descriptor, has it."""

    def __init__(self, address: _Address) -> None:
        self._fd = socket.socket(address.family, address.socktype, address.protocol).detach()

    def fileno(self) -> int:
        return self._fd

    def __del__(self) -> None:
        with suppress(AttributeError):  # there was none to be had
            os.close(self._fd)


class Transfer:
    """A handle and what it received. `head` and `payload` are whole once libcurl reports success."""

    def __init__(
        self, limits: FetchLimits, ca_file: str, lines: list[bytes], flow: Flow, guard: Guard | None = None
    ) -> None:
        self.easy = pycurl.Curl()
        self._head: list[bytes] = []
        self._pieces: list[bytes] = []
        self._flow = flow
        self._came = 0
        self._lines = lines
        self._fresh = False
        self._verified = True
        self._proxy: Proxy | None = None
        self._own_cap = self._cap = limits.body_bytes
        self._guard = guard
        self._opened = False
        self._refused = ""
        self._wanted: Callable[[bytes], bool] | None = None
        self.unwanted = False
        """Its body was not wanted, and broken off."""
        self._set_constants(limits, ca_file)
        if guard is not None:
            self.easy.setopt(pycurl.OPENSOCKETFUNCTION, self._open)

    def _set_constants(self, limits: FetchLimits, ca_file: str) -> None:
        option = self.easy.setopt
        # list.append as the callback: no Python code of ours runs per header line.
        option(pycurl.HEADERFUNCTION, self._head.append)
        option(pycurl.WRITEFUNCTION, self._receive)
        option(pycurl.HTTPHEADER, self._lines)
        # Looks at Content-Length first, then counts while streaming.
        option(pycurl.MAXFILESIZE_LARGE, self._cap)
        option(pycurl.BUFFERSIZE, _CHUNKS_OF if limits.bytes_s is None else _SMALL_CHUNKS_OF)
        option(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        option(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        option(pycurl.FOLLOWLOCATION, 0)
        option(pycurl.HTTP_CONTENT_DECODING, 0)  # the payload is kept as it came
        option(pycurl.PATH_AS_IS, 1)
        option(pycurl.NOSIGNAL, 1)
        option(pycurl.NOPROGRESS, 1)
        option(pycurl.NETRC, pycurl.NETRC_IGNORED)
        option(pycurl.PROXY, "")  # whatever the environment says
        option(pycurl.NOPROXY, "")
        option(pycurl.PROXY_CAINFO, ca_file)
        option(_SUPPRESS_CONNECT_HEADERS, 1)
        option(pycurl.CONNECTTIMEOUT_MS, int(limits.connect_s * 1000))
        option(pycurl.TIMEOUT_MS, int(limits.total_s * 1000))
        option(pycurl.LOW_SPEED_LIMIT, limits.slow_bytes_s)
        option(pycurl.LOW_SPEED_TIME, limits.slow_s)
        option(pycurl.SSL_VERIFYPEER, 1)
        option(pycurl.SSL_VERIFYHOST, 2)
        option(pycurl.CAINFO, ca_file)

    def ask(self, sending: Sending) -> None:
        """Make ready to be started. What is as it was in the request before costs nothing."""
        url, target, lines, cap, fresh, proxy, verified, self._wanted = sending
        easy = self.easy
        easy.setopt(pycurl.URL, url)
        easy.setopt(pycurl.REQUEST_TARGET, target)
        if lines is not self._lines:
            easy.setopt(pycurl.HTTPHEADER, lines)
            self._lines = lines
        if fresh != self._fresh:
            easy.setopt(pycurl.FRESH_CONNECT, int(fresh))
            self._fresh = fresh
        cap = self._own_cap if cap is None else min(cap, self._own_cap)
        if cap != self._cap:
            # 0 would mean no limit at all; what this lets through is caught when the body is whole.
            easy.setopt(pycurl.MAXFILESIZE_LARGE, max(cap, 1))
            self._cap = cap
        if proxy is not self._proxy:
            self._go_by(proxy)
        if verified != self._verified:
            easy.setopt(pycurl.SSL_VERIFYPEER, int(verified))
            easy.setopt(pycurl.SSL_VERIFYHOST, 2 if verified else 0)
            self._verified = verified

    def _go_by(self, proxy: Proxy | None) -> None:
        self._proxy = proxy
        self.easy.setopt(pycurl.PROXY, proxy.url if proxy is not None else "")
        for name, value in ((pycurl.PROXYUSERNAME, "user"), (pycurl.PROXYPASSWORD, "password")):
            given = getattr(proxy, value, "")
            if given:
                self.easy.setopt(name, given.encode())
            else:
                self.easy.unsetopt(name)

    @property
    def cap(self) -> int:
        """How long the payload of this request may be."""
        return self._cap

    @property
    def head(self) -> bytes:
        """All header lines, interim responses and trailers included."""
        return b"".join(self._head)

    @property
    def head_bytes(self) -> int:
        """How long they are."""
        return sum(map(len, self._head))

    @property
    def wants_on(self) -> bool:
        """Whether a body with that head is wanted; asked where it was announced to be too large, and never began."""
        return self._wanted is None or self._wanted(self.head)

    @property
    def payload(self) -> bytes:
        """The body as it came, without transfer codings."""
        pieces = self._pieces
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def ip(self) -> str:
        """Who answered; behind a proxy nobody knows."""
        return "" if self._proxy is not None else str(self.easy.getinfo(pycurl.PRIMARY_IP))

    def broken(self, code: int, message: str) -> Broken:
        """How far it came."""
        known = self.easy.getinfo
        return Broken(
            code,
            message,
            int(known(pycurl.OS_ERRNO)),
            float(known(pycurl.NAMELOOKUP_TIME)),
            float(known(pycurl.TOTAL_TIME)),
            int(known(pycurl.REQUEST_SIZE)),
            int(known(pycurl.HEADER_SIZE)),
            int(known(pycurl.SSL_VERIFYRESULT)),
            None if self._proxy is None else self._broken_proxy(self._proxy),
            "" if self._opened else self._refused,
        )

    def _receive(self, piece: bytes) -> int | None:
        if self._wanted is not None and not self._came and not self._wanted(self.head):
            self.unwanted = True
            return 0
        self._pieces.append(piece)
        count = len(piece)
        self._came += count
        self._flow.came(count)
        return None

    def _broken_proxy(self, proxy: Proxy) -> BrokenProxy:
        known = self.easy.getinfo
        tunnelled = str(known(pycurl.EFFECTIVE_URL)).startswith("https:")
        answer = int(known(pycurl.HTTP_CONNECTCODE))
        socks = proxy.scheme.startswith("socks")
        return BrokenProxy(
            tls=proxy.scheme == "https",
            connected=float(known(pycurl.CONNECT_TIME)) > 0,
            through=int(known(pycurl.REQUEST_SIZE)) > 0 if socks or not tunnelled else answer > 0,
            answer=answer,
            socks=int(known(pycurl.PROXY_ERROR)),
        )

    def _open(self, _purpose: int, address: _Address) -> _Opened | int:
        """A socket for a connection of this transfer's, once for each address that is tried."""
        assert self._guard is not None  # noqa: S101 - else curl opens them itself
        # A proxy is where the user wants it.
        kind = self._guard.refuses(address.addr[0]) if self._proxy is None else None
        if kind is not None:
            self._refused = f"{address.addr[0]} is {kind}"
            return int(pycurl.SOCKET_BAD)
        self._opened = True
        try:
            return _Opened(address)
        except OSError:
            return int(pycurl.SOCKET_BAD)

    def forget(self) -> None:
        """Make ready for the next request."""
        self._head.clear()
        if self._came:
            self._pieces.clear()
            self._flow.forgotten(self._came)
            self._came = 0
        self._opened, self._refused = False, ""
        self.unwanted = False

    def close(self) -> None:
        """Let go of the handle."""
        self.easy.close()
