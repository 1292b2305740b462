"""What a fetch gives: the response as it came, beside the request as it went."""

import asyncio
import gzip
import socket
import ssl
import time
import zlib
from pathlib import Path

import brotli  # type: ignore[import-untyped]  # has no types
import pytest
import trustme
import zstandard
from tests.unit.web.fetching import USER_AGENT, fetch, with_fetcher
from tests.unit.web.rawserver import RawServer, ok, path_of

from holdfast.ports.fetcher import FetchFailed, Request, Response
from holdfast.web.curl import CurlFetcher

OPEN_FILES = Path("/proc/self/fd")
PAGE = b"<html><title>A page</title>" + b"<p>some text" * 500


def test_a_response_is_told_as_it_came():
    answer = (
        b"HTTP/1.1 404 Nicht da\r\nX-One: 1\r\nset-cookie: a=b\r\nSet-Cookie: c=d\r\nX-Empty:\r\n"
        b"X-Name: caf\xe9\r\nContent-Length: 4\r\n\r\ngone"
    )
    before = time.time()
    with RawServer(lambda _request, _connection: answer) as server:
        response = fetch(f"{server.url}/x?y=z")
    assert (response.status, response.http_version, response.reason_phrase) == (404, "HTTP/1.1", "Nicht da")
    assert response.headers == (
        ("X-One", "1"),
        ("set-cookie", "a=b"),
        ("Set-Cookie", "c=d"),
        ("X-Empty", ""),
        ("X-Name", "café"),
        ("Content-Length", "4"),
    )
    assert response.payload == response.body == b"gone"
    assert response.ip == "127.0.0.1"
    assert response.url == f"{server.url}/x?y=z"
    assert before <= response.fetched_at <= time.time()
    assert 0 <= response.elapsed_s < 10
    assert response.header("x-one") == "1"


@pytest.mark.parametrize(
    ("head", "phrase"),
    [
        ("HTTP/1.1 200 OK", "OK"),
        ("HTTP/1.1 200 ", ""),
        ("HTTP/1.1 200", ""),
        ("HTTP/1.0 200 Yes Sir", "Yes Sir"),
    ],
)
def test_status_lines(head, phrase):
    with RawServer(lambda _r, _c: f"{head}\r\nContent-Length: 0\r\n\r\n".encode()) as server:
        response = fetch(server.url)
    assert response.reason_phrase == phrase
    assert response.http_version == head.split()[0]


def test_interim_responses_and_trailers_are_no_part_of_the_head():
    answer = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n"
        b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-End: yes\r\n\r\n"
    )
    with RawServer(lambda _r, _c: answer) as server:
        response = fetch(server.url)
    assert response.status == 200
    assert response.payload == b"abcde"
    assert response.headers == (("Transfer-Encoding", "chunked"), ("Trailer", "X-End"))


def test_folded_headers_are_joined():
    answer = b"HTTP/1.1 200 OK\r\nX-Long: one\r\n  two\r\n\tthree\r\nContent-Length: 0\r\n\r\n"
    with RawServer(lambda _r, _c: answer) as server:
        assert fetch(server.url).header("x-long") == "one two three"


def test_redirects_are_not_followed():
    answer = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    with RawServer(lambda _r, _c: answer) as server:
        assert fetch(server.url).header("location") == "/elsewhere"
        assert len(server.requests) == 1


def test_a_body_may_end_with_the_connection():
    def answer(_request, connection):
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE)

    with RawServer(answer) as server:
        assert fetch(server.url).body == PAGE


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "/",
        "/a//b/../c/./d",
        "/%7Euser/%c3%a9?q=%20+x&y=[1]|{}",
        "/a?",
        "/?a?b=/c",
        "?q=1",
        "/;p=1,2:3@4!$&'()*",
        "/a#fragment",
        "/a?b#c?d/e",
        '/back\\slash^`"<>',
    ],
)
def test_the_request_is_told_as_it_was_sent(tail):
    with RawServer(lambda _r, _c: ok(b"")) as server:
        response = fetch(server.url + tail, ("If-None-Match", '"caf\xe9"'))
    assert server.requests == [response.request_head]
    assert f"\r\nUser-Agent: {USER_AGENT}\r\n".encode() in response.request_head
    assert b'\r\nIf-None-Match: "caf\xe9"\r\n' in response.request_head


def test_the_request_is_told_as_it_was_sent_with_every_kind_of_host():
    with RawServer(lambda _r, _c: ok(b"")) as server:
        for host in ("127.0.0.1", "localhost"):
            response = fetch(f"http://{host}:{server.port}/")
            assert server.requests[-1] == response.request_head
    if socket.has_ipv6:
        with RawServer(lambda _r, _c: ok(b""), family=socket.AF_INET6) as server:
            response = fetch(f"http://[::1]:{server.port}/")
            assert server.requests == [response.request_head]
            assert response.ip == "::1"


def test_the_request_is_told_as_it_was_sent_even_after_an_http_1_0_server():
    answers = iter(
        [b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"] * 3 + [ok(b"")] * 3
    )

    async def several(fetcher):
        return [(await fetcher.fetch(Request(server.url))).request_head for _ in range(6)]

    with RawServer(lambda _r, _c: next(answers)) as server:
        assert with_fetcher(several) == server.requests


def test_a_request_may_replace_a_header_of_ours():
    with RawServer(lambda _r, _c: ok(b"")) as server:
        response = fetch(server.url, ("user-agent", "Other/1"), ("accept", "text/plain"))
    assert server.requests == [response.request_head]
    assert b"Holdfast" not in response.request_head
    assert response.request_head.count(b"ccept:") == 1


def test_headers_of_one_request_are_not_sent_with_the_next():
    async def two(fetcher):
        await fetcher.fetch(Request(server.url, (("X-Once", "1"),), max_bytes=10))
        return await fetcher.fetch(Request(server.url))

    with RawServer(lambda request, _c: ok(b"x" * (1 if b"X-Once" in request else 100))) as server:
        assert len(with_fetcher(two).body) == 100
    assert [b"X-Once" in request for request in server.requests] == [True, False]


def test_a_header_with_a_line_break_is_never_sent():
    with RawServer(lambda _r, _c: ok(b"")) as server, pytest.raises(FetchFailed, match="can't be sent"):
        fetch(server.url, ("X-Bad", "a\r\nX-Smuggled: b"))
    assert server.requests == []


ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("coding", ENCODERS)
def test_the_payload_stays_encoded_and_the_body_is_decoded(coding):
    encoded = ENCODERS[coding](PAGE)
    with RawServer(lambda _r, _c: ok(encoded, f"Content-Encoding: {coding}")) as server:
        response = fetch(server.url)
    assert response.payload == encoded
    assert response.body == PAGE
    assert b"\r\nAccept-Encoding: gzip, br, zstd\r\n" in server.requests[0]


def test_connections_are_kept_alive():
    async def many(fetcher):
        for number in range(50):
            await fetcher.fetch(Request(f"{server.url}/{number}"))

    with RawServer(lambda _r, _c: ok(PAGE)) as server:
        with_fetcher(many)
    assert len(server.requests) == 50
    assert server.connections == 1


def test_a_kept_connection_that_died_is_replaced_unnoticed():
    def answer(request, connection):
        connection.sendall(ok(b"x"))
        if path_of(request) == "/first":
            return None
        return b""

    async def two(fetcher):
        await fetcher.fetch(Request(f"{server.url}/first"))
        return await fetcher.fetch(Request(f"{server.url}/second"))

    with RawServer(answer) as server:
        assert with_fetcher(two).body == b"x"


def test_two_hundred_at_once_each_get_their_own_answer():
    gate = asyncio.Event()

    async def many(fetcher: CurlFetcher) -> list[Response]:
        tasks = [asyncio.create_task(fetcher.fetch(Request(f"{server.url}/{n}"))) for n in range(200)]
        gate.set()
        return await asyncio.gather(*tasks)

    with RawServer(lambda request, _c: ok(path_of(request).encode() * 3000)) as server:
        responses = with_fetcher(many, connections=200)
    assert [response.body for response in responses] == [f"/{n}".encode() * 3000 for n in range(200)]
    assert server.connections <= 200


def test_a_cancelled_fetch_lets_go_of_its_handle_and_its_connection():
    def answer(request, connection):
        if path_of(request) == "/never":
            connection.recv(1)  # until the client goes away
            return None
        return ok(b"here")

    async def cancel(fetcher):
        for turn in range(20):
            task = asyncio.create_task(fetcher.fetch(Request(f"{server.url}/never")))
            await asyncio.to_thread(server.wait_for, 2 * turn + 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await fetcher.fetch(Request(f"{server.url}/ok"))).body == b"here"
        assert not fetcher._reactor._running
        return len(fetcher._idle)

    with RawServer(answer) as server:
        assert with_fetcher(cancel) == 1


def test_closing_ends_what_is_in_flight_and_what_comes_later():
    def answer(_request, connection):
        connection.recv(1)

    async def close(fetcher):
        tasks = [asyncio.create_task(fetcher.fetch(Request(server.url))) for _ in range(5)]
        await asyncio.to_thread(server.wait_for, 5)
        await fetcher.close()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [error.reason for error in ended] == ["closed"] * 5
        assert all(error.transient for error in ended)
        with pytest.raises(FetchFailed, match="closed"):
            await fetcher.fetch(Request(server.url))

    with RawServer(answer) as server:
        with_fetcher(close)


@pytest.mark.skipif(not OPEN_FILES.exists(), reason="counts descriptors in /proc")
def test_no_descriptor_is_left_behind():
    with RawServer(lambda _r, _c: ok(b"x")) as server:
        fetch(server.url)
        server.wait_until_idle()
        before = len(list(OPEN_FILES.iterdir()))

        async def many(fetcher):
            await asyncio.gather(*(fetcher.fetch(Request(server.url)) for _ in range(20)))

        for _ in range(5):
            with_fetcher(many)
        server.wait_until_idle()
        assert len(list(OPEN_FILES.iterdir())) <= before


def test_an_idle_fetcher_does_nothing():
    async def idle(fetcher):
        await fetcher.fetch(Request(server.url))
        before = time.process_time()
        await asyncio.sleep(0.3)
        return time.process_time() - before

    with RawServer(lambda _r, _c: ok(b"x")) as server:
        assert with_fetcher(idle) < 0.05


def test_proxies_and_netrc_of_the_environment_are_ignored(monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("default login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with RawServer(lambda _r, _c: ok(b"direct")) as server:
        assert fetch(server.url).body == b"direct"
    assert b"uthorization" not in server.requests[0]


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def served_by(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def test_tls_with_a_trusted_certificate(authority, tmp_path):
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with RawServer(lambda _r, _c: ok(PAGE), tls=served_by(authority, "127.0.0.1")) as server:
        response = fetch(server.url, ca_file=str(tmp_path / "ca.pem"))
    assert response.body == PAGE
    assert server.requests == [response.request_head]


@pytest.mark.parametrize(("trusted", "reason"), [(True, "tls_host"), (False, "tls_authority")])
def test_a_certificate_that_does_not_hold_is_refused_for_good(authority, tmp_path, trusted, reason):
    believed = authority if trusted else trustme.CA()
    believed.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    names = ("elsewhere.example",) if trusted else ("127.0.0.1",)
    with (
        RawServer(lambda _r, _c: ok(PAGE), tls=served_by(authority, *names)) as server,
        pytest.raises(FetchFailed) as caught,
    ):
        fetch(server.url, ca_file=str(tmp_path / "ca.pem"))
    assert (caught.value.reason, caught.value.transient) == (reason, False)
    assert server.requests == []
