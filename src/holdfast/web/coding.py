"""Content codings: from the payload off the wire to the body. As tolerant as browsers, never unbounded."""

from collections.abc import Callable
from typing import Final

import brotli  # type: ignore[import-untyped]  # has no types
import zstandard
from isal import isal_zlib

from holdfast.ports.fetcher import FetchFailed

ACCEPTED: Final = "gzip, br, zstd"
"""What to say in Accept-Encoding."""
DECODED_BYTES: Final = 64 * 1024 * 1024
"""No body is larger than this, however small its payload."""

_IsalError: Final[type[Exception]] = isal_zlib.error  # type: ignore[assignment]  # wrong in its stub
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW_DEFLATE = 31, 15, -15
_ZSTD_WINDOW: Final = 8 * 1024 * 1024
"""The largest window that RFC 9659 lets a server ask of us."""
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_PIECE: Final = 2048
_PLAIN_SAMPLE: Final = 1024
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
"""Bytes that text doesn't have, and a compressed stream of any length does."""


class _Torn(Exception):
    """The stream stops midway; `body` is what it gave so far."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        super().__init__()


class _TooLong(Exception):
    """The stream gives more than it may."""


class _Undecodable(Exception):
    """Not a stream of this coding."""


def codings(values: list[str]) -> list[str]:
    """The codings of all Content-Encoding headers, in the order in which they were applied."""
    return [name for value in values for part in value.split(",") if (name := part.strip().lower())]


def decode(payload: bytes, applied: list[str], cap: int, *, framed: bool) -> bytes:
    """Undo the codings, the last one first.

    Like browsers: a name that is no coding (`utf-8`, `none`) is ignored; plain text that claims to be
    compressed is taken as it is; what follows a gzip stream is dropped. A stream that stops midway is
    `truncated` when only the end of the connection ended the body; when the response was whole by its own
    framing, the server has no more to give.
    FetchFailed with `bomb`, `bad_encoding` or `truncated` otherwise.
    """
    body = payload
    for name in reversed(applied):
        decoder = _DECODERS.get(name)
        if decoder is None or not body:
            continue
        try:
            body = decoder(body, cap)
        except _TooLong:
            raise FetchFailed("bomb", f"{name} gives more than {cap} bytes", transient=False) from None
        except _Torn as torn:
            if not framed or not torn.body:
                raise FetchFailed("truncated", f"the {name} stream stops midway", transient=True) from None
            body = torn.body
        except _Undecodable as error:
            if not _plainly_text(body):
                raise FetchFailed("bad_encoding", f"{name}: {error}", transient=False) from None
    return body


def _plainly_text(data: bytes) -> bool:
    sample = data[:_PLAIN_SAMPLE]
    return len(sample.translate(None, _CONTROLS)) == len(sample)


def _inflate(data: bytes, wbits: int, cap: int) -> tuple[bytes, bytes]:
    """One stream and what follows it."""
    stream = isal_zlib.decompressobj(wbits)
    try:
        body = stream.decompress(data, cap + 1)
    except _IsalError as error:
        raise _Undecodable(str(error)) from None
    if len(body) > cap:
        raise _TooLong
    if not stream.eof:
        return _whole(data, [body], finished=False), b""
    return body, stream.unused_data


def _gunzip(data: bytes, cap: int) -> bytes:
    body, rest = _inflate(data, _GZIP, cap)
    while rest.startswith(_GZIP_MAGIC):
        try:
            more, rest = _inflate(rest, _GZIP, cap - len(body))
        except (_Undecodable, _Torn):
            break
        body += more
    return body


def _deflate(data: bytes, cap: int) -> bytes:
    """Zlib as the standard says, or bare deflate as some servers send it."""
    try:
        return _inflate(data, _ZLIB, cap)[0]
    except _Undecodable:
        return _inflate(data, _RAW_DEFLATE, cap)[0]


def _unbrotli(data: bytes, cap: int) -> bytes:
    stream = brotli.Decompressor()
    pieces: list[bytes] = []
    size = 0
    try:
        piece: bytes = stream.process(data, output_buffer_limit=cap + 1)
        # One call may hold output back: what it still has comes by asking again with nothing.
        while piece:
            pieces.append(piece)
            size += len(piece)
            if size > cap:
                raise _TooLong
            if stream.is_finished():
                break
            piece = stream.process(b"", output_buffer_limit=cap + 1 - size)
    except brotli.error as error:
        raise _Undecodable(str(error)) from None
    return _whole(data, pieces, finished=stream.is_finished())


def _unzstd(data: bytes, cap: int) -> bytes:
    body, rest = _zstd_frame(data, cap)
    while rest.startswith(_ZSTD_MAGIC):
        try:
            more, rest = _zstd_frame(rest, cap - len(body))
        except (_Undecodable, _Torn):
            break
        body += more
    return body


def _zstd_frame(data: bytes, cap: int) -> tuple[bytes, bytes]:
    """One frame and what follows it. Fed in small pieces: each can give 32,768 times its size at once."""
    stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
    pieces: list[bytes] = []
    size = 0
    for start in range(0, len(data), _ZSTD_PIECE):
        try:
            piece = stream.decompress(data[start : start + _ZSTD_PIECE])
        except zstandard.ZstdError as error:
            raise _Undecodable(str(error)) from None
        pieces.append(piece)
        size += len(piece)
        if size > cap:
            raise _TooLong
        if stream.eof:
            return b"".join(pieces), stream.unused_data + data[start + _ZSTD_PIECE :]
    return _whole(data, pieces, finished=stream.eof), b""


def _whole(data: bytes, pieces: list[bytes], *, finished: bool) -> bytes:
    body = b"".join(pieces)
    if finished:
        return body
    if body or data.startswith((_GZIP_MAGIC, _ZSTD_MAGIC)):
        raise _Torn(body)
    raise _Undecodable("nothing in it")


_DECODERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
