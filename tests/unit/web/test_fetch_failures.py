"""Each way in which a fetch fails has a reason of its own."""

import errno
import gzip
import socket
import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from tests.unit.web.fetching import IMPATIENT, failure, fetch, with_fetcher
from tests.unit.web.rawserver import RawServer, ok, reset

from holdfast.ports.fetcher import FetchFailed, Request
from holdfast.web.reasons import Broken
from holdfast.web.reasons import failure as reason_of
from holdfast.web.transfer import FetchLimits


def told(error: FetchFailed) -> tuple[str, bool]:
    return error.reason, error.transient


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h",
        "//h/",
        "http://",
        "http:///a",
        "http://u:p@h/",
        "ftp://h/",
        "gopher://h/",
        "file:///etc/passwd",
        "http://h/a b",
        "http://h/\r\nX: y",
        "http://h/ä",
        "http://h/\0",
        "http://h/\x7f",
    ],
)
def test_bad_url(url):
    assert told(failure(url)) == ("bad_url", False)


def test_dns():
    assert told(failure("http://no-such-host.invalid/", limits=IMPATIENT)) == ("dns", True)


def test_connect_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert told(failure(f"http://127.0.0.1:{taken.getsockname()[1]}/")) == ("connect_refused", True)


def test_connect_timeout():
    # A TLS handshake that never comes counts as connecting.
    def silent(_request, _connection):
        raise AssertionError("no request can come")

    with RawServer(silent) as server:
        url = server.url.replace("http:", "https:")
        assert told(failure(url, limits=FetchLimits(connect_s=0.3))) == ("connect_timeout", True)


def test_timeout():
    def drip(_request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        connection.recv(1)

    with RawServer(drip) as server:
        limits = FetchLimits(total_s=0.4, slow_s=30)
        assert told(failure(server.url, limits=limits)) == ("timeout", True)


def test_slow():
    def drip(_request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        connection.recv(1)

    with RawServer(drip) as server:
        limits = FetchLimits(total_s=60, slow_s=1)
        assert told(failure(server.url, limits=limits)) == ("slow", True)


def test_reset():
    with RawServer(lambda _r, connection: reset(connection)) as server:
        assert told(failure(server.url)) == ("reset", True)


def test_reset_within_the_body():
    def answer(_request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        connection.recv(0)
        reset(connection)

    with RawServer(answer) as server:
        error = failure(server.url)
    assert error.transient
    assert error.reason in {"reset", "truncated"}  # whichever the client's kernel tells first


def test_closed_without_an_answer():
    with RawServer(lambda _r, _c: None) as server:
        assert told(failure(server.url)) == ("reset", True)


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
    ],
)
def test_truncated(sent):
    with RawServer(lambda _r, connection: connection.sendall(sent)) as server:
        assert told(failure(server.url)) == ("truncated", True)


def test_truncated_within_a_compressed_body_that_has_no_length():
    sent = b"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(range(256)) * 100)[:-20]
    with RawServer(lambda _r, connection: connection.sendall(sent)) as server:
        assert told(failure(server.url)) == ("truncated", True)


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"just some text that goes on and on",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_protocol(sent):
    with RawServer(lambda _r, connection: connection.sendall(sent)) as server:
        error = failure(server.url)
    assert error.reason in {"protocol", "reset"}


def test_too_large_by_its_own_word():
    with RawServer(
        lambda _r, c: c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    ) as server:
        assert told(failure(server.url)) == ("too_large", False)


def test_too_large_is_noticed_while_streaming():
    sent = 0

    def endless(_request, connection):
        nonlocal sent
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536

    with RawServer(endless) as server:
        error = failure(server.url, limits=FetchLimits(body_bytes=1_000_000))
    assert told(error) == ("too_large", False)
    assert sent < 20_000_000


@pytest.mark.parametrize(
    ("cap", "fits"), [(None, True), (0, False), (1, False), (99, False), (100, True), (10**9, True)]
)
@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_a_request_may_have_a_smaller_cap(cap, fits, framing):
    body = b"x" * 100
    answers = {
        "length": ok(body),
        "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + body + b"\r\n0\r\n\r\n",
        "close": b"HTTP/1.0 200 OK\r\n\r\n" + body,
    }
    with RawServer(lambda _r, connection: connection.sendall(answers[framing])) as server:
        limits = FetchLimits(body_bytes=1000)
        if fits:
            assert fetch(server.url, max_bytes=cap, limits=limits).body == body
        else:
            assert told(failure(server.url, max_bytes=cap, limits=limits)) == ("too_large", False)


@pytest.mark.parametrize("length", ["Content-Length: 99999999", "Transfer-Encoding: chunked"])
def test_a_large_body_that_nobody_wants_is_broken_off(length):
    sent = 0
    asked = []

    def endless(_request, connection):
        nonlocal sent
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n{length}\r\n\r\n".encode())
        while sent < 50_000_000:
            connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536

    def wanted(status, content_type):
        asked.append((status, content_type))
        return False

    async def twice(fetcher):
        for _ in range(2):
            with pytest.raises(FetchFailed) as caught:
                await fetcher.fetch(Request(server.url, wanted=wanted))
            assert told(caught.value) == ("unwanted", False)

    with RawServer(endless) as server:
        with_fetcher(twice)
    assert asked == [(200, "video/mp4")] * 2
    assert sent < 20_000_000


def test_a_small_body_comes_whole_whoever_wants_it():
    with RawServer(lambda _r, _c: ok(b"small")) as server:
        unwanted = Request(server.url, wanted=lambda *_: False)
        assert with_fetcher(lambda fetcher: fetcher.fetch(unwanted)).body == b"small"


def test_an_empty_body_fits_a_cap_of_nothing():
    with RawServer(lambda _r, _c: ok(b"")) as server:
        assert fetch(server.url, max_bytes=0).body == b""


def test_bomb():
    bomb = gzip.compress(b"\0" * 50_000_000)
    with RawServer(lambda _r, _c: ok(bomb, "Content-Encoding: gzip")) as server:
        error = failure(server.url, limits=FetchLimits(decoded_bytes=1_000_000))
    assert told(error) == ("bomb", False)


def test_bad_encoding():
    garbage = bytes(range(256)) * 4
    with RawServer(lambda _r, _c: ok(garbage, "Content-Encoding: gzip")) as server:
        assert told(failure(server.url)) == ("bad_encoding", False)


@pytest.mark.parametrize("count", [1, 2, 20])
def test_header_too_large(count):
    lines = "".join(f"X-{number}: {'x' * (90_000 // count)}\r\n" for number in range(count))
    answer = f"HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n".encode()
    with RawServer(lambda _r, _c: answer) as server:
        assert told(failure(server.url)) == ("header_too_large", False)


def test_endless_headers_end():
    def endless(_request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-More: " + b"x" * 1000 + b"\r\n")

    with RawServer(endless) as server:
        assert told(failure(server.url)) == ("header_too_large", False)


def test_an_unknown_code_of_curl_keeps_its_words():
    error = reason_of(Broken(4711, "strange"), total_s=60, header_bytes=65536)
    assert told(error) == ("internal", True)
    assert "4711" in str(error)
    assert "strange" in str(error)


@pytest.mark.parametrize(
    ("believed", "names", "days", "reason"),
    [
        (True, ("127.0.0.1",), -1, "tls_expired"),
        (True, ("elsewhere.example",), 1, "tls_host"),
        (False, ("127.0.0.1",), 1, "tls_authority"),
    ],
)
def test_what_is_wrong_with_a_certificate(tmp_path, believed, names, days, reason):
    authority = trustme.CA()
    (authority if believed else trustme.CA()).cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    until = datetime.now(UTC) + timedelta(days=days)
    authority.issue_cert(*names, not_before=until - timedelta(days=9), not_after=until).configure_cert(
        context
    )
    with RawServer(lambda _r, _c: ok(b""), tls=context) as server:
        assert told(failure(server.url, ca_file=str(tmp_path / "ca.pem"))) == (reason, False)
    assert server.requests == []


def test_a_name_that_never_resolves_is_a_matter_of_dns():
    assert reason_of(Broken(28, "", ended_s=10.0), total_s=60, header_bytes=65536).reason == "dns"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ECONNREFUSED, "connect_refused"),
        (errno.ENETUNREACH, "unreachable"),
        (errno.EHOSTUNREACH, "unreachable"),
        (errno.ETIMEDOUT, "connect_timeout"),
        (0, "unreachable"),
    ],
)
def test_a_failed_connection_says_what_the_system_said(number, reason):
    error = reason_of(Broken(7, "", os_errno=number), total_s=60, header_bytes=65536)
    assert told(error) == (reason, True)
