"""Content codings: right ones, wrong ones, torn ones, and those that explode."""

import bz2
import gzip
import zlib

import brotli  # type: ignore[import-untyped]  # has no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ports.fetcher import FetchFailed
from holdfast.web.coding import DECODED_BYTES, codings, decode

CAP = 1_000_000
TEXT = b"<html>" + b"some text, again and again" * 1000
NOISE = zlib.compress(bytes(range(256)) * 99) * 20


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
every_coding = pytest.mark.parametrize("coding", ENCODERS)


def outcome(payload: bytes, coding: str) -> str:
    try:
        body = decode(payload, [coding], CAP, framed=False)
    except FetchFailed as error:
        return error.reason
    return "decoded" if len(body) <= CAP else "beyond the cap"


def reason(payload: bytes, applied: list[str], cap: int = CAP, *, framed: bool = True) -> str:
    with pytest.raises(FetchFailed) as caught:
        decode(payload, applied, cap, framed=framed)
    return caught.value.reason


@every_coding
@given(body=st.binary(max_size=5000))
def test_every_body_comes_back(coding, body):
    assert decode(ENCODERS[coding](body), [coding], CAP, framed=True) == body


@every_coding
@given(garbage=st.binary(min_size=1, max_size=300))
def test_garbage_is_a_reason_or_is_plain_text(coding, garbage):
    assert outcome(garbage, coding) in {"decoded", "bad_encoding", "bomb", "truncated"}


@every_coding
@given(data=st.data())
def test_a_flipped_bit_never_escapes_as_another_error(coding, data):
    encoded = bytearray(ENCODERS[coding](TEXT[:2000]))
    position = data.draw(st.integers(0, len(encoded) * 8 - 1))
    encoded[position // 8] ^= 1 << position % 8
    assert outcome(bytes(encoded), coding) in {"decoded", "bad_encoding", "bomb", "truncated"}


@every_coding
def test_a_bomb_is_not_unpacked(coding):
    assert reason(ENCODERS[coding](b"\0" * (20 * CAP)), [coding]) == "bomb"


@every_coding
def test_exactly_the_cap_is_no_bomb(coding):
    assert len(decode(ENCODERS[coding](b"x" * CAP), [coding], CAP, framed=True)) == CAP
    assert reason(ENCODERS[coding](b"x" * (CAP + 1)), [coding]) == "bomb"


@every_coding
def test_plain_text_that_claims_to_be_compressed_is_taken_as_it_is(coding):
    assert decode(TEXT, [coding], CAP, framed=True) == TEXT


@every_coding
def test_what_is_neither_is_refused(coding):
    garbage = b"\x00\x01\x02garbage\xff\xfe" * 50
    assert reason(garbage, [coding]) == "bad_encoding"


@every_coding
def test_an_empty_payload_is_an_empty_body(coding):
    assert decode(b"", [coding], CAP, framed=True) == b""


@every_coding
def test_a_torn_stream_of_unknown_length_is_truncated(coding):
    torn = ENCODERS[coding](NOISE)[:-30]
    assert reason(torn, [coding], framed=False) == "truncated"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_a_torn_stream_of_known_length_gives_what_it_has(coding):
    body = decode(ENCODERS[coding](NOISE)[:-30], [coding], CAP, framed=True)
    assert body
    assert NOISE.startswith(body)


def test_deflate_without_its_wrapper():
    assert decode(raw_deflate(TEXT), ["deflate"], CAP, framed=True) == TEXT


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_several_streams_in_a_row_are_one_body(coding):
    encode = ENCODERS[coding]
    assert decode(encode(TEXT) + encode(NOISE), [coding], CAP, framed=True) == TEXT + NOISE
    assert reason(encode(b"x" * CAP) + encode(b"x"), [coding]) == "bomb"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_so_many_streams_that_unpacking_them_would_stop_the_crawl_are_a_bomb(coding):
    empty = ENCODERS[coding](b"")
    assert decode(empty * 2000 + b"end", [coding], CAP, framed=True) == b""
    assert reason(empty * 1_000_000, [coding]) == "bomb"


def test_block_wise_gzip_of_the_largest_body_is_no_bomb():
    block = 65_280
    body = bytes(DECODED_BYTES)
    blocks = gzip.compress(body[:block], 1) * (DECODED_BYTES // block)
    assert decode(blocks, ["gzip"], DECODED_BYTES, framed=True) == body[: DECODED_BYTES // block * block]


def test_so_many_codings_that_no_server_means_them_are_a_bomb():
    packed = TEXT
    for _ in range(6):
        packed = gzip.compress(packed)
    assert decode(packed, ["gzip"] * 5, CAP, framed=True) == gzip.compress(TEXT)
    assert reason(packed, ["gzip"] * 6) == "bomb"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_what_follows_the_stream_is_dropped(coding):
    assert decode(ENCODERS[coding](TEXT) + b"\n<!-- served by -->", [coding], CAP, framed=True) == TEXT


def test_codings_are_undone_in_reverse_order():
    twice = brotli.compress(gzip.compress(TEXT))
    assert decode(twice, codings(["gzip, br"]), CAP, framed=True) == TEXT
    assert decode(twice, codings(["gzip", " BR "]), CAP, framed=True) == TEXT


@pytest.mark.parametrize("name", ["identity", "utf-8", "none", "text/html", "binary", ""])
def test_what_is_no_coding_is_ignored(name):
    assert decode(TEXT, codings([name]), CAP, framed=True) == TEXT


def test_an_unknown_coding_leaves_the_body_alone():
    packed = bz2.compress(TEXT)
    assert decode(packed, ["bzip2"], CAP, framed=True) == packed


def test_a_zstd_window_beyond_the_web_s_limit_is_refused():
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    assert reason(stream.compress(NOISE) + stream.flush(), ["zstd"]) == "bad_encoding"
