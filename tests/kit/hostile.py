"""A web site that means harm: each of its addresses does one thing that servers should not do.

`FATES` says what a whole crawl has to make of each of them. Everything is bounded on this side, too: whoever hangs up
is let go, and the server ends with its block.
"""

import gzip
import random
import socket
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

MANY_LINKS: Final = 10_000
COPIES: Final = 20
STORM: Final = 12
HOPS: Final = 40
_MB: Final = 1_000_000

Fate = tuple[str, str | None]
"""An item's status and reason in the end."""

_DONE: Final[Fate] = ("done", "http_200")

FATES: Final[Mapping[str, Fate]] = {
    "/": _DONE,
    "/robots.txt": ("skipped", "absent"),
    "/sitemap.xml": ("skipped", "absent"),
    "/silence": ("failed", "timeout"),
    "/drip": ("failed", "timeout"),
    "/endless-head": ("failed", "header_too_large"),
    "/endless-body": ("failed", "too_large"),
    "/announced-huge": ("failed", "too_large"),
    "/reset-in-body": ("failed", "reset"),
    "/closed-in-body": ("failed", "truncated"),
    "/closed-unanswered": ("failed", "reset"),
    "/longer-than-announced": _DONE,
    "/bomb": ("failed", "bomb"),
    "/bomb-in-a-bomb": ("failed", "bomb"),
    "/packed-and-cut": ("failed", "truncated"),
    "/packed-not": _DONE,
    "/no-http": ("failed", "protocol"),
    "/noise": ("failed", "protocol"),
    "/bad-charset": _DONE,
    "/utf-16-by-name": _DONE,
    "/no-content-type": _DONE,
    "/later": _DONE,
    "/always-later": ("failed", "http_429"),
    "/deep": _DONE,
    "/many-links": _DONE,
    "/huge": _DONE,
    "/script-only": _DONE,
    "/base-elsewhere": _DONE,
    "/cookie-wall": _DONE,
    "/login-wall": ("redirected", "http_302"),
    "/login": _DONE,
    "/to-itself": ("failed", "redirect_loop"),
    "/circle/1": ("redirected", "http_302"),
    "/circle/2": ("redirected", "http_302"),
    "/to-nowhere": ("failed", "bad_redirect"),
    "/to-a-script": ("failed", "bad_redirect"),
    "/to-metadata": ("redirected", "http_302"),
    "/to-private": ("redirected", "http_302"),
    "http://169.254.169.254/latest/meta-data/": ("failed", "private_address"),
    "http://10.255.255.1/admin": ("failed", "private_address"),
    **{f"/storm/{n}": ("failed", "http_503" if n % 2 else "http_500") for n in range(STORM)},
    **{f"/copies/{n}": _DONE for n in range(COPIES)},
}
"""By path, or by URL for what is elsewhere. Of traps only this much is fixed: they come to an end (`TRAPS`)."""

TRAPS: Final = ("/calendar/", "/again/", "/shop", "/session", "/hop/")
"""Below these there is no end of addresses."""


def _page(title: str, *links: str, text: str = "") -> bytes:
    anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
    return f"<!doctype html><title>{title}</title><p>{text or title}</p>{anchors}".encode()


def _answer(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Length: {len(body) if length is None else length}",
        "Connection: close",
        *(headers or ("Content-Type: text/html; charset=utf-8",)),
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def _moved(location: str, *headers: str) -> bytes:
    return _answer(b"", f"Location: {location}", *headers, status="302 Found")


def _zeros(count: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(bytes(_MB)) for _ in range(count // _MB)), packer.flush()])


_HTML: Final = "Content-Type: text/html; charset=utf-8"
_GZIP: Final = "Content-Encoding: gzip"
_BOMB: Final = _zeros(200 * _MB)
_STARTS: Final = (
    *(
        path
        for path in FATES
        if path.startswith("/") and path not in {"/", "/login", "/circle/2", "/robots.txt", "/sitemap.xml"}
    ),
    "/calendar/2026-11",
    "/again/",
    "/shop?colour=red",
    "/session",
    "/hop/0",
)
_PLAIN: Final[Mapping[str, bytes]] = {
    "/": _answer(_page("All of it", *_STARTS)),
    "/announced-huge": _answer(b"x", _HTML, length=10**12),
    "/closed-in-body": _answer(_page("short")[:20], _HTML, length=9_000),
    "/longer-than-announced": _answer(_page("As announced") + b"<p>and more" * 1000, _HTML, length=60),
    "/bomb": _answer(_BOMB, _HTML, _GZIP),
    "/bomb-in-a-bomb": _answer(gzip.compress(_BOMB), _HTML, "Content-Encoding: gzip, gzip"),
    "/packed-and-cut": f"HTTP/1.1 200 OK\r\n{_HTML}\r\n{_GZIP}\r\nConnection: close\r\n\r\n".encode()
    + gzip.compress(_page("cut") * 99)[:60],
    "/packed-not": _answer(_page("Not packed at all"), _HTML, _GZIP),
    "/no-http": b"<html>this server never heard of HTTP</html>" * 10,
    "/noise": random.Random(1).randbytes(5_000),
    "/bad-charset": _answer(b"<title>\xff\xfe\x80</title>\xc3(", "Content-Type: text/html; charset=nonsense"),
    "/utf-16-by-name": _answer(_page("Latin after all"), "Content-Type: text/html; charset=utf-16"),
    "/no-content-type": _answer(_page("Guess"), "X-Nothing: said"),
    "/always-later": _answer(b"", "Retry-After: 0", status="429 Too Many Requests"),
    "/deep": _answer(b"<title>Deep</title>" + b"<div>" * 600_000 + b"<a href='/'>up</a>"),
    "/many-links": _answer(_page("Many", *(f"/leaf/{n}" for n in range(MANY_LINKS)))),
    "/huge": _answer(_page("Huge", text="words and more words " * 40_000)),
    "/script-only": _answer(
        b"<title>App</title><div id=app></div><script>app.innerHTML='<a href=/x>x</a>'</script>"
    ),
    "/base-elsewhere": _answer(
        b"<base href='javascript:alert(1)'><title>Base</title><a href='/login'>in</a>"
    ),
    "/login-wall": _moved("/login"),
    "/login": _answer(_page("Log in")),
    "/to-itself": _moved("/to-itself"),
    "/circle/1": _moved("/circle/2"),
    "/circle/2": _moved("/circle/1"),
    "/to-nowhere": _answer(b"", "X-Nothing: said", status="301 Moved"),
    "/to-a-script": _moved("javascript:alert(1)"),
    "/to-metadata": _moved("http://169.254.169.254/latest/meta-data/"),
    "/to-private": _moved("http://10.255.255.1/admin"),
    **{f"/copies/{n}": _answer(_page("The very same")) for n in range(COPIES)},
    **{
        f"/storm/{n}": _answer(b"", status="503 Unavailable" if n % 2 else "500 Broken") for n in range(STORM)
    },
}


@dataclass
class HostileServer:
    """What it was asked for, and how often."""

    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def origin(self) -> str:
        """Without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def below(self, prefix: str) -> int:
        """How many addresses with that beginning were asked for."""
        return sum(path.startswith(prefix) for path in self.asked)

    def converse(self, connection: socket.socket) -> None:
        """One request, one misdeed."""
        with connection, suppress(OSError):
            connection.settimeout(20)
            head = connection.recv(65_536)
            words = head.split(b" ", 2)
            if len(words) < 2:
                return
            target = words[1].decode("latin-1")
            with self.lock:
                self.asked[target] += 1
                times = self.asked[target]
            self._misbehave(connection, target, head, times)

    def _misbehave(self, connection: socket.socket, target: str, head: bytes, times: int) -> None:
        path = target.partition("?")[0]
        if path in _DEEDS:
            _DEEDS[path](self, connection)
            return
        answer = _PLAIN.get(target)
        if answer is None:
            answer = _made_up(target, head, times)
        connection.sendall(answer)

    def silence(self, connection: socket.socket) -> None:
        """Not a word, until the client has gone or the test ends."""
        while (
            not self.stopped.wait(0.05) and connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) != b""
        ):
            pass

    def drip(self, connection: socket.socket) -> None:
        """A byte now and then, for ever."""
        connection.sendall(_answer(b"", _HTML, length=_MB))
        while not self.stopped.wait(0.05):
            connection.sendall(b".")

    def endless_head(self, connection: socket.socket) -> None:
        """Header after header."""
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not self.stopped.is_set():
            connection.sendall(b"X-More: " + b"x" * 4_000 + b"\r\n")

    def endless_body(self, connection: socket.socket) -> None:
        """Chunk after chunk."""
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        while not self.stopped.is_set():
            connection.sendall(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")

    def reset_in_body(self, connection: socket.socket) -> None:
        """Broken in the middle."""
        connection.sendall(_answer(b"<title>half", _HTML, length=9_000))
        self.stopped.wait(0.05)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _hang_up(_server: HostileServer, _connection: socket.socket) -> None:
    """Closed without a word."""


_Deed = Callable[[HostileServer, socket.socket], None]
_DEEDS: Final[Mapping[str, _Deed]] = {
    "/silence": HostileServer.silence,
    "/drip": HostileServer.drip,
    "/endless-head": HostileServer.endless_head,
    "/endless-body": HostileServer.endless_body,
    "/reset-in-body": HostileServer.reset_in_body,
    "/closed-unanswered": _hang_up,
}


def _later(_target: str, _head: bytes, times: int) -> bytes:
    """Not now; the second time it is there."""
    return _answer(b"", "Retry-After: 1", status="429 Too Many") if times == 1 else _answer(_page("Now"))


def _cookie_wall(target: str, head: bytes, _times: int) -> bytes:
    """Only with the cookie that it gives itself."""
    behind = b"pass=yes" in head
    return _answer(_page("Behind it")) if behind else _moved(target, "Set-Cookie: pass=yes; Path=/")


def _calendar(target: str, _head: bytes, _times: int) -> bytes:
    """A month after each month, and never an event."""
    year, month = map(int, target.removeprefix("/calendar/").split("-"))
    year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return _answer(_page(f"No events in {target[-7:]}", f"/calendar/{year}-{month:02}", text="No events."))


def _again(_target: str, _head: bytes, _times: int) -> bytes:
    """Each address leads to two below it."""
    return _answer(_page("Again", "again/", "more/", text="Round in circles."))


def _shop(target: str, _head: bytes, _times: int) -> bytes:
    """Whatever was chosen, more can be chosen."""
    keys = [f"{key}={value}" for key in ("colour", "size", "sort", "view", "page") for value in "abc"]
    return _answer(_page("Shop", *(f"{target}&{key}" for key in keys), text="Nothing found."))


def _session(target: str, _head: bytes, _times: int) -> bytes:
    """Each answer has session ids of its own in its links."""
    token = f"{random.Random(target).getrandbits(128):032x}"
    return _answer(_page("Session", f"/session?PHPSESSID={token}", f"/session/page;jsessionid={token}"))


def _hop(target: str, _head: bytes, _times: int) -> bytes:
    """Always one further on."""
    return _moved(f"/hop/{int(target.removeprefix('/hop/')) + 1}")


_MADE_UP: Final[Mapping[str, Callable[[str, bytes, int], bytes]]] = {
    "/later": _later,
    "/cookie-wall": _cookie_wall,
    "/calendar/": _calendar,
    "/again/": _again,
    "/shop": _shop,
    "/session": _session,
    "/hop/": _hop,
}


def _made_up(target: str, head: bytes, times: int) -> bytes:
    """What is made up as it is asked for: from the address, the request, and how often it came."""
    room = next((room for room in _MADE_UP if target.startswith(room)), None)
    if room is None:
        return _answer(_page("Not found"), status="404 Not Found")
    return _MADE_UP[room](target, head, times)


@contextmanager
def hostile() -> Iterator[HostileServer]:
    """Serve it on loopback, until the block ends."""
    server = HostileServer()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server.port = listener.getsockname()[1]

    def accept() -> None:
        while not server.stopped.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=server.converse, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
