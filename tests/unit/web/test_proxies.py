"""Proxies: each kind, what each is told, whose fault it is when one fails, and which one is taken."""

import socket
import ssl

import pytest
import trustme
from tests.kit.proxy import proxying
from tests.unit.web.fetching import IMPATIENT, failure, fetch, with_fetcher
from tests.unit.web.rawserver import RawServer, ok

from holdfast.domain.errors import AccessRefused
from holdfast.ports.fetcher import FetchFailed, Request
from holdfast.web.access.proxies import ASIDE_S, MOST_ASIDE_S, Proxies, Proxy, proxies_of
from holdfast.web.guard import Guard
from holdfast.web.ways import Ways

LOGIN = ("me", "s3cret:@/word")
WRITTEN = "me:s3cret%3A%40%2Fword"


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def ca_file(authority, tmp_path):
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def served_by(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def by(*urls: str, **more) -> Ways:
    return Ways(proxies=proxies_of(urls, {}.get), **more)


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_plain_http_goes_by_the_proxy_and_arrives_as_it_was_meant(scheme):
    with RawServer(lambda _r, _c: ok(b"page")) as server, proxying() as proxy:
        response = fetch(f"http://site.test:{server.port}/a%2Fb?c", ways=by(f"{scheme}://{proxy.address}"))
    assert (response.body, response.ip) == (b"page", "")
    assert proxy.targets == [f"site.test:{server.port}"]
    assert server.requests[0].startswith(b"GET /a%2Fb?c HTTP/1.1\r\n")
    assert response.request_head.startswith(b"GET /a%2Fb?c HTTP/1.1\r\nHost: site.test:")


@pytest.mark.parametrize("scheme", ["http", "https", "socks5h"])
def test_https_goes_through_and_nothing_of_the_proxys_words_is_in_the_response(authority, ca_file, scheme):
    outer = served_by(authority, "127.0.0.1") if scheme == "https" else None
    with (
        RawServer(lambda _r, _c: ok(b"page"), tls=served_by(authority, "site.test")) as server,
        proxying(tls=outer, login=LOGIN) as proxy,
    ):
        ways = by(f"{scheme}://{WRITTEN}@{proxy.address}", headers=(("X-Ours", "1"),))
        response = fetch(f"https://site.test:{server.port}/", ways=ways, ca_file=ca_file)
    assert response.body == b"page"
    assert response.header("x-proxy") is None
    assert server.requests == [response.request_head]
    # The proxy hears whom it is to reach and who asks, and nothing that is meant for the site.
    assert not any(b"X-Ours" in head or b"Accept-Encoding" in head for head in proxy.heads)


def test_what_the_environment_says_of_proxies_is_not_heard(monkeypatch):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")
    with RawServer(lambda _r, _c: ok(b"page")) as server, proxying() as proxy:
        fetch(f"{server.url}/", ways=by(f"http://{proxy.address}"))
    assert len(proxy.targets) == 1


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
@pytest.mark.parametrize("target", ["http", "https"])
def test_a_proxy_that_wants_another_login(scheme, target):
    with proxying(login=LOGIN) as proxy:
        for words in (f"{scheme}://{proxy.address}", f"{scheme}://me:wrong@{proxy.address}"):
            error = failure(f"{target}://site.test:1/", ways=by(words))
            assert (error.reason, error.transient) == ("proxy_auth", True)
            assert "wrong" not in str(error)


@pytest.mark.parametrize("target", ["http", "https"])
def test_a_proxy_that_is_not_there(target):
    assert (
        failure(f"{target}://site.test/", ways=by(f"http://127.0.0.1:{closed_port()}")).reason
        == "proxy_refused"
    )
    assert failure(f"{target}://site.test/", ways=by("http://no-such-host.invalid:1")).reason == "proxy_dns"


def test_a_proxy_that_hangs_up_or_refuses_to_go_there():
    with proxying() as proxy:
        proxy.hangs_up = True
        assert failure("https://site.test/", ways=by(f"http://{proxy.address}")).reason == "proxy_failed"
        assert failure("http://site.test/", ways=by(f"socks5h://{proxy.address}")).reason == "proxy_failed"
        proxy.hangs_up, proxy.refuses = False, 503
        assert failure("https://site.test/", ways=by(f"http://{proxy.address}")).reason == "proxy_failed"


def test_a_proxy_whose_certificate_does_not_hold(authority, ca_file):
    with proxying(tls=served_by(authority, "elsewhere.test")) as proxy:
        error = failure("http://site.test/", ways=by(f"https://{proxy.address}"), ca_file=ca_file)
    assert error.reason == "proxy_tls"


def test_a_proxy_that_never_answers():
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        ways = by(f"socks5h://127.0.0.1:{deaf.getsockname()[1]}")
        assert failure("http://site.test/", ways=ways, limits=IMPATIENT).reason == "proxy_failed"


@pytest.mark.parametrize(
    ("reply", "reason"), [(5, "connect_refused"), (4, "unreachable"), (1, "proxy_failed")]
)
def test_what_a_socks_proxy_says_of_the_host_is_the_hosts(reply, reason):
    with proxying() as proxy:
        proxy.refuses = reply
        assert failure("http://site.test/", ways=by(f"socks5h://{proxy.address}")).reason == reason


def test_the_sites_own_certificate_is_judged_through_a_proxy(authority, ca_file):
    with (
        RawServer(lambda _r, _c: ok(b""), tls=served_by(authority, "elsewhere.test")) as server,
        proxying() as proxy,
    ):
        url = f"https://site.test:{server.port}/"
        assert failure(url, ways=by(f"http://{proxy.address}"), ca_file=ca_file).reason == "tls_host"


def test_no_page_fails_by_a_proxy_as_long_as_another_one_is_left():
    with RawServer(lambda _r, _c: ok(b"page")) as server, proxying() as good, proxying(login=LOGIN) as locked:
        ways = by(f"http://127.0.0.1:{closed_port()}", f"http://{locked.address}", f"http://{good.address}")

        async def several(fetcher):
            urls = [f"http://site{n}.test:{server.port}/" for n in range(12)]
            return [(await fetcher.fetch(Request(url))).body for url in urls]

        assert with_fetcher(several, ways=ways) == [b"page"] * 12
        assert len(good.targets) == 12
        assert locked.connections == 1  # and is left alone from then on


def test_a_page_fails_by_a_proxy_when_none_is_left():
    with proxying(login=LOGIN) as locked:
        ways = by(f"http://127.0.0.1:{closed_port()}", f"http://{locked.address}")
        assert failure("http://site.test/", ways=ways).reason == "proxy_auth"


def test_hosts_take_turns_and_each_keeps_to_its_proxy():
    with RawServer(lambda _r, _c: ok(b"page")) as server, proxying() as one, proxying() as two:
        ways = by(f"http://{one.address}", f"http://{two.address}")

        async def several(fetcher):
            for _ in range(3):
                for host in ("a", "b", "c", "d"):
                    await fetcher.fetch(Request(f"http://{host}.test:{server.port}/"))

        with_fetcher(several, ways=ways)
    assert {target[0] for target in one.targets} == {"a", "c"}
    assert {target[0] for target in two.targets} == {"b", "d"}


def test_a_proxy_that_failed_is_left_alone_longer_each_time_and_taken_again():
    one, two = Proxy("http://one:1"), Proxy("http://two:1")
    proxies = Proxies([one, two])
    assert proxies.choose("a", 0.0) is one
    proxies.failed(one, "proxy_refused", 0.0)
    assert proxies.choose("a", 0.0) is two
    assert proxies.choose("b", ASIDE_S - 1) is two
    assert proxies.choose("c", ASIDE_S + 1) is one
    proxies.failed(one, "proxy_refused", ASIDE_S + 1)
    assert proxies.choose("d", 2 * ASIDE_S + 2) is two
    assert proxies.choose("e", 4 * ASIDE_S) is one
    now = 0.0
    for _ in range(40):
        proxies.failed(one, "proxy_refused", now := now + MOST_ASIDE_S + 1)
    assert proxies.choose("f", now + MOST_ASIDE_S + 1) in {one, two}


def test_with_every_proxy_set_aside_the_one_that_is_free_first_is_tried_all_the_same():
    one, two = Proxy("http://one:1"), Proxy("http://two:1")
    proxies = Proxies([one, two])
    proxies.failed(two, "proxy_refused", 0.0)
    proxies.failed(one, "proxy_refused", 1.0)
    assert proxies.choose("a", 2.0) is two
    assert proxies.another("a", {two}, 2.0) is None


def test_one_host_that_no_proxy_gets_through_to_sets_no_proxy_aside():
    one, two = Proxy("http://one:1"), Proxy("http://two:1")
    proxies = Proxies([one, two])
    assert proxies.choose("dead", 0.0) is one
    proxies.failed(one, "proxy_failed", 0.0)
    assert proxies.another("dead", {one}, 0.0) is two
    proxies.failed(two, "proxy_failed", 0.0)
    assert proxies.another("dead", {one, two}, 0.0) is None
    assert {proxies.choose(host, 0.0) for host in ("a", "b")} == {one, two}


def test_a_literal_address_of_ones_own_network_is_refused_behind_a_proxy_too():
    with proxying() as proxy:
        ways = by(f"http://{proxy.address}", guard=Guard())
        for host in ("10.0.0.1", "localhost", "[::1]"):
            assert failure(f"http://{host}/", ways=ways).reason == "private_address"
        assert proxy.connections == 0


def test_the_proxys_own_address_is_the_users_wish():
    with RawServer(lambda _r, _c: ok(b"page")) as server, proxying() as proxy:
        ways = by(f"http://{proxy.address}", guard=Guard())
        assert fetch(f"http://site.test:{server.port}/", ways=ways).body == b"page"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "proxy.example",
        "proxy.example:3128",
        "http://proxy.example",
        "ftp://p4ssword@proxy.example:1",
        "http://me:p4ssword@proxy.example:99999",
        "http://me:p4ssword@:3128",
        "http://me:p4ssword@proxy.example:3128/path",
        "http://me%00:p4ssword@proxy.example:3128",
        "http://me:p4ssword@pro xy:3128",
    ],
)
def test_what_is_no_proxy_is_refused_and_not_quoted(text):
    with pytest.raises(AccessRefused) as caught:
        Proxy.read(text, "proxy 1 of 1")
    assert "p4ssword" not in str(caught.value)
    assert "SCHEME://HOST:PORT" in str(caught.value)


def test_a_proxys_password_is_in_no_repr():
    proxy = Proxy.read(f"http://{WRITTEN}@[2001:DB8::1]:3128", "x")
    assert (proxy.user, proxy.password, proxy.url) == (*LOGIN, "http://[2001:db8::1]:3128")
    assert "s3cret" not in repr(proxy)


def test_a_variable_may_hold_the_url():
    assert proxies_of(["env:P"], {"P": "http://u:p@h:1"}.get).choose("a", 0.0).password == "p"
    with pytest.raises(AccessRefused, match="env:P refers to the environment variable P, which is not set"):
        proxies_of(["env:P"], {}.get)


def test_a_failed_fetch_says_nothing_of_the_password():
    with proxying() as proxy:
        proxy.hangs_up = True

        async def work(fetcher):
            with pytest.raises(FetchFailed) as caught:
                await fetcher.fetch(Request("https://site.test/"))
            return caught.value

        error = with_fetcher(work, ways=by(f"http://{WRITTEN}@{proxy.address}"))
    assert "s3cret" not in f"{error!r} {error} {error.detail}"
