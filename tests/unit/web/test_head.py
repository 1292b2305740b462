"""The head of a response, whatever a server sends: a head or a reason, and what is made of it never fails."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.site.web_of_dict import START, crawl, item, reply
from tests.unit.web.warckit import JOB, append, exchange, segments

from holdfast.domain.item import Done, Failed, Redirected
from holdfast.ports.fetcher import FetchFailed
from holdfast.web.head import Head, merge, parse_head, request_lines

BYTES = st.binary(max_size=60)
VERSIONS = st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2", b"http/1.1", b"ICY", b""])
CODES = st.sampled_from(
    [b"200", b"100", b"103", b"101", b"301", b"599", b"2", b"-1", b"+200", b"2_0", b"\xb2", b""]
)
NAMES = st.sampled_from(
    [b"Set-Cookie", b"Content-Type", b"Location", b"Retry-After", b"Date", b"X", b"", b" ", b"\xe9"]
)
VALUES = BYTES | st.sampled_from([
    b"a=b; Path=/", b"=", b"a", b";", b"a==;", b"; charset=utf-16", b"text/html; charset=utf-8", b"text/html;charset",
    b"text/html; charset='", b'text/html; charset="latin1', b"/caf\xc3\xa9", b"/", b"", b"120", b"-1", b"1e999",
    b"9" * 400, b"Sun, 06 Nov 1994 08:49:37 GMT", b"Sun, 99 Nov 9999 99:99:99 GMT",
])  # fmt: skip
HEADERS = st.lists(
    st.tuples(NAMES, st.sampled_from([b": ", b":", b" : ", b""]), VALUES).map(b"".join)
    | st.tuples(st.sampled_from([b" ", b"\t"]), VALUES).map(b"".join),
    max_size=6,
)
LINE_ENDS = st.sampled_from([b"\r\n", b"\n", b"\r"])


@st.composite
def heads(draw):
    """Something near HTTP: interim responses, odd numbers, folded and broken lines, missing ends."""
    raw = b""
    for _ in range(draw(st.integers(1, 3))):
        end = draw(LINE_ENDS)
        first = b" ".join((draw(VERSIONS), draw(CODES), draw(BYTES)))
        raw += end.join((first, *draw(HEADERS), b""))
        raw += draw(st.sampled_from([end, end, end, b""]))
    return raw


def parsed(raw: bytes) -> Head | None:
    """The head, or None for one reason and no other error."""
    try:
        return parse_head(raw)
    except FetchFailed as failed:
        reason = failed.reason
    assert reason == "protocol"
    return None


@given(st.binary(max_size=300) | heads())
def test_any_bytes_are_a_head_or_a_protocol_error(raw):
    head = parsed(raw)
    if head is None:
        return
    assert head.status >= 200 or head.status == 101
    for text in (head.http_version, head.reason_phrase, *(part for pair in head.headers for part in pair)):
        assert "\n" not in text
        text.encode("latin-1")


@given(heads(), st.sampled_from([b"", b"<a href=/x>", b"\xff\xfe<\x00a\x00", b"\x00" * 9]))
def test_any_head_makes_an_outcome(raw, body):
    head = parsed(raw)
    if head is None:
        return

    async def handled():
        handler, _ = crawl({START: reply(head.status, body, head.headers, content_type="")})
        return await handler.handle(item(attempts=99))

    assert isinstance(asyncio.run(handled()), Done | Redirected | Failed)


@given(st.lists(VALUES, max_size=4))
def test_whatever_cookies_a_page_sets_can_be_sent_back(values):
    head = parse_head(
        b"HTTP/1.1 302 Moved\nLocation: /\n" + b"".join(b"Set-Cookie: " + value + b"\n" for value in values)
    )

    async def asked():
        handler, web = crawl({START: reply(302, headers=head.headers)})
        assert isinstance(await handler.handle(item()), Failed)
        return web.asked

    for request in asyncio.run(asked()):
        request_lines(merge((), request.headers))


@given(raw=heads())
def test_any_head_is_stored_as_it_came(raw, tmp_path_factory):
    head = parsed(raw)
    if head is None:
        return
    headers = tuple(pair for pair in head.headers if pair[0].lower() != "content-encoding")
    store = segments(tmp_path_factory.mktemp("home"))
    [appended] = append(store, [exchange(b"", status=head.status, headers=headers)])
    stored = store.read(JOB, appended.stored[0].location)
    assert (stored.status, stored.headers) == (head.status, headers)


@pytest.mark.parametrize("fold", [b"\r\n ", b"\n\t"])
def test_folded_lines_are_joined_without_loss(fold):
    head = parse_head(b"HTTP/1.1 200 OK\r\nX: \xc3\xa0" + fold + b" /\xc3\xa0 \r\n\r\n")
    assert head.headers == (("X", "\xc3\xa0 /\xc3\xa0"),)


def test_interim_responses_and_trailers_are_left_out():
    head = parse_head(b"HTTP/1.1 103 Early\r\nA: 1\r\n\r\nHTTP/1.1 200 OK\r\nB: 2\r\n\r\nC: 3\r\n\r\n")
    assert head == Head("HTTP/1.1", 200, "OK", (("B", "2"),))
