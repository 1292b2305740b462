"""A web server that says exactly the bytes it is told to, and remembers exactly the bytes it was sent."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

Answer = Callable[[bytes, socket.socket], bytes | None]
"""From a request's head to the response's bytes; None closes the connection without another word."""


def ok(body: bytes, *headers: str) -> bytes:
    """A plain 200 with its length."""
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def reset(connection: socket.socket) -> None:
    """Break the connection instead of closing it."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class RawServer:
    """Serves on a free port of loopback, one thread per connection, until the with block ends."""

    def __init__(
        self, answer: Answer, *, tls: ssl.SSLContext | None = None, family: int = socket.AF_INET
    ) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._answer = answer
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._lock = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._socket = socket.socket(family)
        self._socket.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
        self._socket.listen(512)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def wait_for(self, requests: int) -> None:
        """Until so many requests have come."""
        with self._lock:
            assert self._lock.wait_for(lambda: len(self.requests) >= requests, 10)

    def wait_until_idle(self) -> None:
        """Until every connection is closed."""
        with self._lock:
            assert self._lock.wait_for(lambda: not self._open, 10)

    def _spawn(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._spawn(lambda connection=connection: self._serve(connection))  # type: ignore[misc]

    def _serve(self, plain: socket.socket) -> None:
        connection = plain
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(plain, server_side=True)
            with self._lock:
                self._open.add(connection)
            self._talk(connection)
        except OSError:  # the client went away, or didn't like our certificate
            pass
        finally:
            connection.close()
            plain.close()
            with self._lock:
                self._open.discard(connection)
                self._lock.notify_all()

    def _talk(self, connection: socket.socket) -> None:
        received = b""
        while True:
            while b"\r\n\r\n" not in received:
                piece = connection.recv(65536)
                if not piece:
                    return
                received += piece
            end = received.index(b"\r\n\r\n") + 4
            request, received = received[:end], received[end:]
            with self._lock:
                self.requests.append(request)
                self._lock.notify_all()
            answer = self._answer(request, connection)
            if answer is None:
                return
            connection.sendall(answer)


def path_of(request: bytes) -> str:
    """The target of a request's head."""
    return request.split(b" ", 2)[1].decode()
