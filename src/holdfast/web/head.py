"""The heads of HTTP messages: the request's as it will be sent, the response's as it came."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.ports.fetcher import FetchFailed

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_BLANKS: Final = " \t"
"""What surrounds values. Not all that Python takes for white: the bytes 85 and A0 may be parts of UTF-8."""
_CONTINUED: Final = (" ", "\t")
_SWITCHING: Final = 101
_FIRST_FINAL: Final = 200

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Head:
    """A response without its body."""

    http_version: str
    status: int
    reason_phrase: str
    headers: Headers


@dataclass(frozen=True, slots=True)
class Place:
    """What a URL means on the wire."""

    host: str
    """The Host header's value."""
    target: str
    """The request target: path and query as they stand in the URL, nothing re-encoded."""


def place(url: str) -> Place:
    """Split a canonical http(s) URL; FetchFailed(bad_url) for anything else."""
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in _DEFAULT_PORTS or not url.isascii() or not url.isprintable() or " " in url:
        raise FetchFailed("bad_url", f"not a canonical http(s) URL: {url!r}", transient=False)
    rest = rest.partition("#")[0]
    authority, slash, path = rest.partition("/")
    if "?" in authority:
        authority, _, query = rest.partition("?")
        slash, path = "/", f"?{query}"
    if not authority or "@" in authority:
        raise FetchFailed("bad_url", f"no host, or a user name: {url!r}", transient=False)
    host, colon, port = authority.rpartition(":")
    if colon and port in {"", _DEFAULT_PORTS[scheme]} and not authority.endswith("]"):
        authority = host
    return Place(authority, f"{slash or '/'}{path}")


def merge(own: Headers, asked: Headers) -> Headers:
    """Our own headers, but for those that the request gives itself; FetchFailed if one can't be sent."""
    names = {name.lower() for name, _ in asked}
    merged = (*(pair for pair in own if pair[0].lower() not in names), *asked)
    for name, value in merged:
        if not name or not value or "\r" in value or "\n" in value or "\0" in value or not name.isascii():
            raise FetchFailed("internal", f"header {name!r} can't be sent", transient=False)
    return merged


def request_lines(headers: Headers) -> list[bytes]:
    """The headers, one line each, as curl takes them."""
    return [f"{name}: {value}".encode("latin-1", "replace") for name, value in headers]


def request_head(where: Place, lines: Sequence[bytes]) -> bytes:
    """The request as it is sent over HTTP/1.1; of an HTTP/2 request, its equivalent."""
    return f"GET {where.target} HTTP/1.1\r\nHost: {where.host}\r\n".encode() + b"\r\n".join(
        (*lines, b"", b"")
    )


def parse_head(raw: bytes) -> Head:
    """The final response's head among all header lines of a transfer, in their order and original case.

    Interim responses (1xx) before it and trailers after it are left out, folded lines are joined by a space,
    bytes beyond ASCII are read as Latin-1. FetchFailed(protocol) where there is none.
    """
    rows = iter(raw.decode("latin-1").split("\n"))
    try:
        while True:
            version, _, rest = next(rows).rstrip("\r").partition(" ")
            code, _, phrase = rest.lstrip().partition(" ")
            headers = _until_blank(rows)
            status = int(code)
            if status >= _FIRST_FINAL or status == _SWITCHING:
                return Head(version, status, phrase.strip(), headers)
    except (ValueError, StopIteration):
        raise FetchFailed("protocol", "no whole response head", transient=False) from None


def _until_blank(rows: Iterator[str]) -> Headers:
    headers: list[tuple[str, str]] = []
    for line in rows:
        row = line.rstrip("\r")
        if not row:
            break
        if row.startswith(_CONTINUED) and headers:
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {row.strip(_BLANKS)}".strip(_BLANKS))
            continue
        name, colon, value = row.partition(":")
        if colon:
            headers.append((name.strip(), value.strip(_BLANKS)))
    return tuple(headers)
