"""A proxy that really passes things on: HTTP (requests and CONNECT, over TLS if wanted) and SOCKS 5, on loopback.

Every name leads to loopback for it, so that a test may have as many hosts as it likes.
"""

import base64
import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


class Refused(Exception):
    """The request is answered, and nothing passed on."""


@dataclass
class Proxy:
    """What it was asked, and how it behaves. Fields may be changed while it serves."""

    port: int = 0
    login: tuple[str, str] | None = None
    """The only user and password that it takes."""
    refuses: int = 0
    """The status (or SOCKS reply) for everything, if not 0."""
    hangs_up: bool = False
    """Closes each connection without a word."""
    heads: list[bytes] = field(default_factory=list)
    """What HTTP clients said to the proxy itself."""
    targets: list[str] = field(default_factory=list)
    """HOST:PORT of what was passed on, as it was asked for."""
    connections: int = 0

    @property
    def address(self) -> str:
        """Where it is."""
        return f"127.0.0.1:{self.port}"

    def serve(self, client: socket.socket) -> None:
        """One connection, until one side closes it."""
        self.connections += 1
        if self.hangs_up:
            return
        first = client.recv(1, socket.MSG_PEEK) if not isinstance(client, ssl.SSLSocket) else b""
        with contextlib.suppress(Refused):
            if first == b"\5":
                self._socks(client)
            else:
                self._http(client)

    def _http(self, client: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            piece = client.recv(65536)
            if not piece:
                return
            received += piece
        head, _, rest = received.partition(b"\r\n\r\n")
        self.heads.append(head)
        if self.login is not None:
            token = base64.b64encode(":".join(self.login).encode())
            if b"Proxy-Authorization: Basic " + token not in head.split(b"\r\n"):
                self._answer(client, 407)
        if self.refuses:
            self._answer(client, self.refuses)
        method, target, _ = head.split(b"\r\n", 1)[0].split(b" ")
        if method == b"CONNECT":
            upstream = self._reach(target.decode(), client)
            client.sendall(b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")
            _pass_on(client, upstream, rest)
            return
        parts = urlsplit(target.decode())
        upstream = self._reach(parts.netloc if parts.port else f"{parts.netloc}:80", client)
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        lines = [f"{method.decode()} {path} HTTP/1.1".encode(), *head.split(b"\r\n")[1:]]
        lines = [line for line in lines if not line.lower().startswith(b"proxy-")]
        with upstream:
            upstream.sendall(b"\r\n".join([*lines, b"", b""]))
            client.sendall(_one_response(upstream))

    def _answer(self, client: socket.socket, status: int) -> None:
        extra = b"Proxy-Authenticate: Basic realm=x\r\n" if status == 407 else b""
        client.sendall(b"HTTP/1.1 %d -\r\nContent-Length: 0\r\n%s\r\n" % (status, extra))
        raise Refused

    def _socks(self, client: socket.socket) -> None:
        _, count = client.recv(2)
        ways = client.recv(count)
        if self.login is None:
            client.sendall(b"\5\0")
        elif 2 not in ways:
            client.sendall(b"\5\xff")
            return
        else:
            client.sendall(b"\5\2")
            client.recv(1)
            user = client.recv(client.recv(1)[0])
            password = client.recv(client.recv(1)[0])
            wrong = (user.decode(), password.decode()) != self.login
            client.sendall(b"\1" + bytes([wrong]))
            if wrong:
                return
        kind = client.recv(4)[3]
        if kind == 3:
            host = client.recv(client.recv(1)[0]).decode()
        else:
            host = socket.inet_ntop(
                *((socket.AF_INET, client.recv(4)) if kind == 1 else (socket.AF_INET6, client.recv(16)))
            )
        (port,) = struct.unpack(">H", client.recv(2))
        self.targets.append(f"{host}:{port}")
        if self.refuses:
            client.sendall(b"\5" + bytes([self.refuses]) + b"\0\1" + bytes(6))
            return
        upstream = socket.create_connection(("127.0.0.1", port), 10)
        client.sendall(b"\5\0\0\1" + bytes(6))
        _pass_on(client, upstream, b"")

    def _reach(self, target: str, client: socket.socket) -> socket.socket:
        self.targets.append(target)
        try:
            return socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2])), 10)
        except OSError:
            self._answer(client, 502)
            raise


def _one_response(upstream: socket.socket) -> bytes:
    """All of it, by its Content-Length; it is the last one of the client's connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += upstream.recv(65536) or b"\r\n\r\n"
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    )
    while len(body) < length:
        body += upstream.recv(65536)
    return head + b"\r\nConnection: close\r\n\r\n" + body


def _pass_on(client: socket.socket, upstream: socket.socket, first: bytes) -> None:
    """Both ways, until one side has nothing more to say."""

    def back() -> None:
        _pump(upstream, client)

    with upstream:
        upstream.sendall(first)
        thread = threading.Thread(target=back, daemon=True)
        thread.start()
        _pump(client, upstream)
        thread.join(10)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def proxying(*, tls: ssl.SSLContext | None = None, login: tuple[str, str] | None = None) -> Iterator[Proxy]:
    """A proxy, until the end of the block."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    proxy = Proxy(listening.getsockname()[1], login)
    open_now: set[socket.socket] = set()

    def serve(plain: socket.socket) -> None:
        client = plain
        with contextlib.suppress(OSError, IndexError), plain:
            if tls is not None:
                client = tls.wrap_socket(plain, server_side=True)
            open_now.add(client)
            with client:
                proxy.serve(client)
        open_now.discard(client)

    def accept() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for client in list(open_now):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        thread.join(10)
