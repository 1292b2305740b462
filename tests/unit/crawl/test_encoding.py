"""Content codings undone as the fetcher undid them."""

import gzip
import zlib

import brotli  # type: ignore[import-untyped]  # has no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crawl.encoding import DecodeFailed, decode
from holdfast.ports.fetcher import FetchFailed
from holdfast.web import coding

BODY = b"<p>Something to say, " * 50


def _bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", PACKERS)
def test_each_coding(name):
    assert decode(PACKERS[name](BODY), name) == BODY
    assert decode(PACKERS[name](BODY), f" {name.upper()} ") == BODY


def test_bare_deflate_members_and_stacks():
    assert decode(_bare(BODY), "deflate") == BODY
    assert decode(gzip.compress(BODY) + gzip.compress(b"more") + b"\0\0", "x-gzip") == BODY + b"more"
    assert decode(brotli.compress(gzip.compress(BODY)), "gzip, br") == BODY
    assert decode(BODY, "identity") == decode(BODY, None) == decode(BODY, "utf-8") == BODY


@pytest.mark.parametrize("name", PACKERS)
def test_bombs_are_refused(name):
    with pytest.raises(DecodeFailed):
        decode(PACKERS[name](b"\0" * 5_000_000), name, 1_000_000)


def test_plain_text_that_claims_to_be_packed_is_taken_as_it_is():
    assert decode(BODY, "gzip") == BODY


def test_what_is_not_packed_at_all_is_refused():
    with pytest.raises(DecodeFailed):
        decode(b"\x00\x01\x02\x03" * 10, "gzip")


@given(
    st.binary(max_size=3000),
    st.sampled_from(list(PACKERS)),
    st.integers(0, 60),
    st.binary(max_size=8),
    st.booleans(),
)
def test_a_stored_body_reads_as_the_fetcher_read_it(data, name, cut, tail, pack):
    payload = PACKERS[name](data) if pack else data
    payload = payload[: max(0, len(payload) - cut)] + tail
    try:
        fetched = coding.decode(payload, [name], 2000, framed=True)
    except FetchFailed:
        with pytest.raises(DecodeFailed):
            decode(payload, name, 2000)
    else:
        assert decode(payload, name, 2000) == fetched
