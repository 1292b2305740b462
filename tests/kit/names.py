"""A name server of one's own: DNS over HTTPS on loopback, whose answers a test may change between two questions."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import trustme

_A, _IN = 1, 1


@dataclass
class NameServer:
    """Knows IPv4 addresses. Each question takes the name's next answer; the last one stays."""

    url: str
    answers: dict[str, list[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """The names whose IPv4 address was asked for."""

    def reply(self, query: bytes) -> bytes:
        """A message in the form of RFC 1035 for a message with one question."""
        question = query[12 : query.index(b"\0", 12) + 5]
        name, (kind, _) = _name(question), struct.unpack(">HH", question[-4:])
        known = self.answers.get(name, []) if kind == _A else []
        found = b""
        if known:
            self.asked.append(name)
            address = known.pop(0) if len(known) > 1 else known[0]
            found = b"\xc0\x0c" + struct.pack(">HHIH", _A, _IN, 0, 4) + socket.inet_aton(address)
        header = query[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(found), 0, 0)
        return header + question + found


def _name(question: bytes) -> str:
    labels, at = [], 0
    while size := question[at]:
        labels.append(question[at + 1 : at + 1 + size].decode())
        at += size + 1
    return ".".join(labels)


@contextmanager
def name_server(authority: trustme.CA) -> Iterator[NameServer]:
    """Serve until the end of the block; its certificate is the authority's."""

    class Talk(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            reply = names.reply(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "application/dns-message")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Talk)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    names = NameServer(f"https://127.0.0.1:{server.server_address[1]}/dns-query")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield names
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
