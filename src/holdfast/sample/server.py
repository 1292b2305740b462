"""Serves Holdfast Harbour on loopback: HTTP/1.1, connections kept open, a thread for each.

GET and HEAD, validators (ETag) with 304, redirects, a 503 that goes away when asked again.
"""

import errno
import hashlib
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from holdfast.sample import pages

DEFAULT_PORT = 8771
"""Always the same, so that the same command finds its job again: a job is known by its start URLs."""

_HOST = "127.0.0.1"


class PortTakenError(Exception):
    """Something listens on the port already; the message says which port and what to do."""


@contextmanager
def serve(port: int = 0, *, patience_s: float = 0.0, log: Path | None = None) -> Iterator[str]:
    """Serve the site until the end of the block and give its base URL, without a slash at its end.

    Port 0 takes a free one. Raises PortTakenError where `port` is still in use after `patience_s`. `log` takes a line
    in the common log format for each answer, before the answer goes out.
    """
    server = _bind(port, patience_s)
    server.log = log
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="sample-site", daemon=True)
    thread.start()
    try:
        yield server.base_url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _bind(port: int, patience_s: float) -> "_Server":
    give_up_at = time.monotonic() + patience_s
    while True:
        try:
            return _Server((_HOST, port), _Handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            if time.monotonic() >= give_up_at:
                raise PortTakenError(
                    f"Port {port} of {_HOST} is in use, perhaps by a sample crawl that still runs: "
                    "end that one, then try again."
                ) from error
        time.sleep(0.05)


class _Answer(NamedTuple):
    status: HTTPStatus
    page: pages.Page
    headers: Mapping[str, str] = {}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client may keep its connection open for as long as it likes
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.base_url = f"http://{_HOST}:{self.server_port}"
        self._pages = pages.site() | {
            "/robots.txt": pages.robots_txt(self.base_url),
            "/sitemap.xml": pages.sitemap_xml(self.base_url),
        }
        self._not_found = pages.not_found()
        self._unready = {pages.UNREADY}
        self._lock = threading.Lock()
        self.log: Path | None = None

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in mid-answer was killed, as clients are here; all else is worth a traceback."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # what it is, the base class knows

    def note(self, line: str) -> None:
        """Write a line to the access log, if one is kept."""
        if self.log is not None:
            with self._lock, self.log.open("a", encoding="ascii", errors="replace") as file:
                file.write(line)

    def answer(self, address: str) -> _Answer:
        """What the site says to a request for `address` (path and query)."""
        if address in pages.REDIRECTS:
            return _Answer(
                HTTPStatus.MOVED_PERMANENTLY, self._not_found, {"Location": pages.REDIRECTS[address]}
            )
        page = self._pages.get(address)
        if page is None:
            return _Answer(HTTPStatus.NOT_FOUND, self._not_found)
        with self._lock:
            if address in self._unready:
                self._unready.remove(address)
                return _Answer(HTTPStatus.SERVICE_UNAVAILABLE, self._not_found, {"Retry-After": "1"})
        return _Answer(HTTPStatus.OK, page, {"ETag": f'"{hashlib.sha256(page.body).hexdigest()[:16]}"'})


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "HoldfastHarbour"
    sys_version = ""
    wbufsize = -1  # head and body leave together
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self) -> None:
        self._send(with_body=True)

    def do_HEAD(self) -> None:
        self._send(with_body=False)

    def _send(self, *, with_body: bool) -> None:
        status, page, headers = self.server.answer(self.path)
        if status is HTTPStatus.OK and self.headers.get("If-None-Match") == headers["ETag"]:
            status = HTTPStatus.NOT_MODIFIED
        unchanged = status is HTTPStatus.NOT_MODIFIED
        self._note(status)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if not unchanged:
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        if with_body and not unchanged:
            self.wfile.write(page.body)

    def _note(self, status: HTTPStatus) -> None:
        moment = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime())
        self.server.note(f'{self.client_address[0]} - - [{moment}] "{self.requestline}" {status} -\n')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
        """Keep quiet: the crawl's own display is what a person looks at."""
