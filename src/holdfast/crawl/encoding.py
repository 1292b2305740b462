"""Content-Encoding undone, for bodies that were stored as they came off the wire.

As tolerant as the fetcher was when it decoded them first (tests/unit/crawl holds the two against each other),
so that a stored body reads as it did then: unknown names are ignored, plain text that claims to be compressed
is taken as it is, what follows a whole stream is dropped, a stream that stops midway gives what it held.
"""

from collections.abc import Callable

import brotli  # type: ignore[import-untyped]  # has no types
import zstandard
from isal import isal_zlib

MAX_BODY_BYTES = 256 * 1024 * 1024
"""A stored payload that unpacks to more than this is a bomb; the fetcher's own cap is far below."""

_GZIP, _ZLIB, _RAW_DEFLATE = 31, 15, -15
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PIECE = 2048
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_IsalError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub takes it for an instance


class DecodeFailed(ValueError):
    """The payload isn't what its Content-Encoding says, or unpacks to too much."""


def decode(payload: bytes, content_encoding: str | None, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """The body behind the payload. DecodeFailed for damaged or outsized ones; memory stays near max_bytes."""
    body = payload
    for name in reversed((content_encoding or "").split(",")):
        decoder = _DECODERS.get(name.strip().lower())
        if decoder is None or not body:
            continue
        try:
            body = decoder(body, max_bytes)
        except (_IsalError, brotli.error, zstandard.ZstdError, _Nothing) as error:
            if not _plainly_text(body):
                raise DecodeFailed(f"the body is not {name.strip()}: {error}") from error
    return body


class _Nothing(Exception):
    """A stream that stops before it gave anything."""


def _plainly_text(data: bytes) -> bool:
    sample = data[:1024]
    return len(sample.translate(None, _CONTROLS)) == len(sample)


def _bounded(body: bytes, max_bytes: int) -> bytes:
    if len(body) > max_bytes:
        raise DecodeFailed(f"the body unpacks to more than {max_bytes} bytes")
    return body


_One = Callable[[bytes, int], tuple[bytes, bytes, bool]]
"""Undoes one stream: its body, what follows it, and whether it came to its end."""


def _members(data: bytes, max_bytes: int, magic: bytes, one: _One) -> bytes:
    """All streams that follow each other; a damaged or torn one after the first, and padding, are dropped."""
    body, rest, whole = one(data, max_bytes)
    if not whole and not body:
        raise _Nothing("it stops at once")
    while whole and rest.startswith(magic):
        try:
            more, rest, whole = one(rest, max_bytes - len(body))
        except (_IsalError, zstandard.ZstdError):
            break
        if whole:
            body += more
    return body


def _inflate(window: int) -> _One:
    def one(data: bytes, max_bytes: int) -> tuple[bytes, bytes, bool]:
        stream = isal_zlib.decompressobj(window)
        body = _bounded(stream.decompress(data, max_bytes + 1), max_bytes)
        return body, stream.unused_data, stream.eof

    return one


def _gunzip(data: bytes, max_bytes: int) -> bytes:
    return _members(data, max_bytes, _GZIP_MAGIC, _inflate(_GZIP))


def _deflate(data: bytes, max_bytes: int) -> bytes:
    """The name means zlib's format, but many a server has always sent it bare."""
    for window in (_ZLIB, _RAW_DEFLATE):
        try:
            body, _, whole = _inflate(window)(data, max_bytes)
        except _IsalError:
            if window == _RAW_DEFLATE:
                raise
            continue
        if whole or body:
            return body
    raise _Nothing("it stops at once")


def _unbrotli(data: bytes, max_bytes: int) -> bytes:
    stream = brotli.Decompressor()
    body = b""
    rest = data
    while True:
        # One call may hold output back: what it still has comes by asking again with nothing.
        piece = stream.process(rest, output_buffer_limit=max_bytes + 1 - len(body))
        body = _bounded(body + piece, max_bytes)
        rest = b""
        if not piece or stream.is_finished():
            break
    if not body and not stream.is_finished():
        raise _Nothing("it stops at once")
    return body


def _unzstd_one(data: bytes, max_bytes: int) -> tuple[bytes, bytes, bool]:
    # Fed in small pieces: each can give 32,768 times its size at once.
    stream = zstandard.ZstdDecompressor().decompressobj()
    pieces: list[bytes] = []
    size = 0
    for start in range(0, len(data), _PIECE):
        pieces.append(stream.decompress(data[start : start + _PIECE]))
        size += len(pieces[-1])
        if size > max_bytes:
            raise DecodeFailed(f"the body unpacks to more than {max_bytes} bytes")
        if stream.eof:
            return b"".join(pieces), stream.unused_data + data[start + _PIECE :], True
    return b"".join(pieces), b"", False


def _unzstd(data: bytes, max_bytes: int) -> bytes:
    return _members(data, max_bytes, _ZSTD_MAGIC, _unzstd_one)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
