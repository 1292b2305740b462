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
_MOST_STREAMS: Final = 2000
"""So many streams in a row may make up one body: twice what block-wise gzip needs for the largest one."""
_MOST_CODINGS: Final = 5
_FEED: Final = 16 * 1024
"""So much at once for a stream that others follow: what it leaves over is copied."""
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


class _TooMany(Exception):
    """The body consists of more streams than it may."""


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
    known = [name for name in reversed(applied) if name in _DECODERS]
    if len(known) > _MOST_CODINGS:
        raise FetchFailed("bomb", f"packed {len(known)} times", transient=False)
    for name in known:
        decoder = _DECODERS[name]
        if not body:
            break
        try:
            body = decoder(body, cap)
        except _TooLong:
            raise FetchFailed("bomb", f"{name} gives more than {cap} bytes", transient=False) from None
        except _TooMany:
            raise FetchFailed("bomb", f"more than {_MOST_STREAMS} {name} streams", transient=False) from None
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


def _inflate(data: bytes, wbits: int, cap: int, start: int = 0, feed: int | None = None) -> tuple[bytes, int]:
    """The stream that begins there, and where it ends. `feed`: in pieces of so many bytes, else in one."""
    stream = isal_zlib.decompressobj(wbits)
    pieces: list[bytes] = []
    size, end = 0, start
    while end < len(data) and not stream.eof:
        fed = data[end:] if feed is None else data[end : end + feed]
        try:
            piece = stream.decompress(fed, cap + 1 - size)
        except _IsalError as error:
            raise _Undecodable(str(error)) from None
        pieces.append(piece)
        size += len(piece)
        if size > cap:
            raise _TooLong
        end += len(fed) - len(stream.unused_data)
    if not stream.eof:
        return _whole(data, pieces, finished=False), end
    return b"".join(pieces), end


def _gunzip(data: bytes, cap: int) -> bytes:
    return _in_a_row(
        data,
        cap,
        _GZIP_MAGIC,
        lambda start, left: _inflate(data, _GZIP, left, start, _FEED if start else None),
    )


def _in_a_row(
    data: bytes, cap: int, magic: bytes, stream_at: Callable[[int, int], tuple[bytes, int]]
) -> bytes:
    """What several streams give one after the other. What follows the last whole one is dropped.

    `stream_at` reads the stream that begins at an offset, with room for so many bytes; it gives its end, too.
    """
    body, end = stream_at(0, cap)
    pieces, size = [body], len(body)
    while data.startswith(magic, end):
        if len(pieces) == _MOST_STREAMS:
            raise _TooMany
        try:
            more, end = stream_at(end, cap - size)
        except (_Undecodable, _Torn):
            break
        pieces.append(more)
        size += len(more)
    return body if len(pieces) == 1 else b"".join(pieces)


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
    return _in_a_row(data, cap, _ZSTD_MAGIC, lambda start, left: _zstd_frame(data, start, left))


def _zstd_frame(data: bytes, start: int, cap: int) -> tuple[bytes, int]:
    """The frame that begins there, and where it ends. Fed in small pieces: each can give 32,768 times its size."""
    stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
    pieces: list[bytes] = []
    size, end = 0, start
    while end < len(data) and not stream.eof:
        fed = data[end : end + _ZSTD_PIECE]
        try:
            piece = stream.decompress(fed)
        except zstandard.ZstdError as error:
            raise _Undecodable(str(error)) from None
        pieces.append(piece)
        size += len(piece)
        if size > cap:
            raise _TooLong
        end += len(fed) - len(stream.unused_data)
    if not stream.eof:
        return _whole(data, pieces, finished=False), end
    return b"".join(pieces), end


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
