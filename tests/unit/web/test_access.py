"""Secrets: from files and the environment to the hosts that they are for, and to nobody else."""

import os
from pathlib import Path

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.web.fetching import fetch, with_fetcher
from tests.unit.web.rawserver import RawServer, ok
from tests.unit.web.test_proxies import served_by

from holdfast.domain.errors import AccessRefused
from holdfast.ports.fetcher import FetchFailed, Request
from holdfast.web.access.cookies import Cookie, Jar
from holdfast.web.access.files import read_access, read_cookies
from holdfast.web.access.places import Origin, Places
from holdfast.web.access.secrets import HIDDEN, Access, Credentials, Grant
from holdfast.web.ways import Ways

NOW = 1_800_000_000.0
SECRET = "hunter2-hunter2"


def written(folder: Path, text: str, name: str = "access.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("place", "url", "held"),
    [
        ("https://a.example", "https://a.example/x", True),
        ("https://a.example", "http://a.example/", False),
        ("https://a.example", "https://a.example:8443/", False),
        ("https://a.example", "https://b.a.example/", False),
        ("https://a.example:8443", "https://a.example:8443/", True),
        ("a.example", "https://a.example/", True),
        ("a.example", "http://a.example/", False),
        ("A.Example", "https://a.example/", True),
        ("http://a.example", "http://a.example/", True),
        ("http://a.example", "https://a.example/", False),
        ("*.a.example", "https://b.a.example/", True),
        ("*.a.example", "https://c.b.a.example/", True),
        ("*.a.example", "https://a.example/", False),
        ("*.a.example", "https://evila.example/", False),
        ("*.a.example", "http://b.a.example/", False),
        ("https://*.a.example", "https://b.a.example.evil.test/", False),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/", True),
        ("http://[::1]:8000", "http://[::1]:8000/", True),
    ],
)
def test_whom_a_place_holds(place, url, held):
    assert Places.read(place).hold(Origin.of(url)) is held


@pytest.mark.parametrize(
    "place",
    [
        *("", "*", "*.com", "*.co.uk", "*.127.0.0.1", "ftp://a.example", "https://a.example/path"),
        *("a b", "https://", "a.*.example", "https://a.example?q", "https://u@a.example"),
    ],
)
def test_what_is_no_place(place):
    with pytest.raises(AccessRefused):
        Places.read(place)


def test_an_origin_gets_the_grant_that_fits_it_best_and_nothing_of_the_others():
    grants = [
        Grant(Places.read(place), (("X-From", place),))
        for place in ("*.a.example", "*.b.a.example", "x.b.a.example")
    ]
    access = Access(grants)

    def given_to(url):
        grant = access.of(Origin.of(url))
        return grant and grant.headers[0][1]

    assert given_to("https://x.b.a.example/") == "x.b.a.example"
    assert given_to("https://y.b.a.example/") == "*.b.a.example"
    assert given_to("https://y.a.example/") == "*.a.example"
    assert given_to("https://a.example/") is None


WHOLE = """
[sites."https://a.example"]
basic = { user = "me", password = "env:PASSWORD" }
headers = { X-Api-Key = "env:KEY" }
cookies = { session = "abcdef" }
[sites."*.a.example"]
bearer = "env:KEY"
[proxies]
urls = ["http://u:p@proxy.example:3128", "env:PROXY"]
"""
ENVIRONMENT = {"PASSWORD": SECRET, "KEY": "k3y-k3y", "PROXY": "socks5h://q:r@proxy2.example:1080"}


def test_an_access_file(tmp_path):
    said = read_access(written(tmp_path, WHOLE), ENVIRONMENT.get)
    credentials = Credentials(said.access, Jar(), keep=False)
    lent = credentials.lend("https://a.example/", NOW)
    assert dict(lent.headers) == {
        "Authorization": "Basic bWU6aHVudGVyMi1odW50ZXIy",
        "X-Api-Key": "k3y-k3y",
        "Cookie": "session=abcdef",
    }
    assert dict(lent.hidden) == {
        "Authorization": f"Basic {HIDDEN}",
        "X-Api-Key": HIDDEN,
        "Cookie": f"session={HIDDEN}",
    }
    assert dict(credentials.lend("https://b.a.example/", NOW).headers) == {"Authorization": "Bearer k3y-k3y"}
    assert credentials.lend("http://a.example/", NOW) is None
    assert said.proxies == ("http://u:p@proxy.example:3128", ENVIRONMENT["PROXY"])


def test_no_repr_says_a_secret(tmp_path):
    said = read_access(written(tmp_path, WHOLE), ENVIRONMENT.get)
    lent = Credentials(said.access, Jar(), keep=False).lend("https://a.example/", NOW)
    grant = said.access.of(Origin.of("https://a.example/"))
    cookie = Cookie("n", SECRET, "a.example", below=False)
    text = f"{said!r} {lent!r} {grant!r} {cookie!r}"
    assert not any(secret in text for secret in (*ENVIRONMENT.values(), "bWU6", "abcdef", "u:p"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[sites."a.example"]\nbearer = "sec ret\x00"', "line 2"),
        ('[sites."a.example"]\nbearer = "secret', "at its end"),
        ('[sites."a.example"]\nbearer = "env:NOT_SET"', "NOT_SET, which is not set"),
        ('[sites."a.example"]\nbearer = "secret"\nbasic = { user = "secret", password = "secret" }', "both"),
        ('[sites."a.example"]\nbasic = "secret"', "to be a table"),
        ('[sites."a.example"]\nbasic = { user = "secret" }', "password ="),
        ('[sites."a.example"]\nbasic = { user = "sec:ret", password = "secret" }', "colon"),
        ('[sites."a.example"]\nbearer = 12', "to be a string"),
        ('[sites."a.example"]\nbearer = "secr\\net"', "one line of ASCII"),
        ('[sites."a.example"]\ntoken = "secret"', "knows no 'token'"),
        ('[sites."a.example"]\nheaders = { Cookie = "secret" }', "cookies go into"),
        ('[sites."a.example"]\nheaders = { Host = "secret" }', "connection's own"),
        ('[sites."a.example"]\nheaders = { "X Y" = "secret" }', "no header's name"),
        ('[sites."a.example"]\ncookies = { a = "sec;ret" }', "no cookie"),
        ('[sites."a.example/x"]\nbearer = "secret"', "is no place"),
        ('sites = "secret"', "to be a table"),
        ('[site."a.example"]\nbearer = "secret"', "knows no 'site'"),
        ('[proxies]\nurl = "secret"', "urls ="),
        ('[proxies]\nurls = "secret"', "urls ="),
    ],
)
def test_a_fault_in_the_access_file_is_named_by_its_place_and_never_quoted(tmp_path, text, told):
    path = written(tmp_path, text)
    with pytest.raises(AccessRefused) as caught:
        read_access(path, {}.get)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert "sec" not in str(caught.value).replace(str(path), "")


def test_a_file_of_secrets_that_others_may_read_is_refused(tmp_path):
    path = written(tmp_path, WHOLE)
    for mode in (0o604, 0o644, 0o602):
        path.chmod(mode)
        with pytest.raises(AccessRefused, match="chmod 600"):
            read_access(path, ENVIRONMENT.get)
        with pytest.raises(AccessRefused, match="chmod 600"):
            read_cookies(path, NOW)
    path.chmod(0o640)
    read_access(path, ENVIRONMENT.get)


def test_what_is_no_file_of_text(tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(AccessRefused, match=r"can't read|no ordinary file"):
            read_access(path, {}.get)
    os.mkfifo(tmp_path / "pipe", 0o600)
    garbled = written(tmp_path, "")
    garbled.write_bytes(b"\xff")
    with pytest.raises(AccessRefused, match="UTF-8"):
        read_access(garbled, {}.get)


# -- cookies

JAR_FILE = "\n".join(
    [
        "# Netscape HTTP Cookie File",
        "",
        f"a.example\tFALSE\t/\tTRUE\t0\tonly\t{SECRET}",
        ".b.example\tTRUE\t/deep\tFALSE\t4102444800\twide\tw",
        "#HttpOnly_.c.example\tTRUE\t/\tTRUE\t4102444800.5\thidden\th",
        "d.example\tFALSE\t/\tTRUE\t1000\told\to",
    ]
)


def test_a_cookie_file(tmp_path):
    jar = Jar(read_cookies(written(tmp_path, JAR_FILE), NOW))

    def sent(url):
        return [f"{cookie.name}={cookie.value}" for cookie in jar.of(url, NOW)]

    assert sent("https://a.example/x") == [f"only={SECRET}"]
    assert sent("http://a.example/x") == []
    assert sent("https://sub.a.example/") == []
    assert sent("http://b.example/deep") == ["wide=w"]
    assert sent("http://sub.b.example/deep/er") == ["wide=w"]
    assert sent("http://b.example/deeper") == []
    assert sent("http://evilb.example/deep") == []
    assert sent("https://sub.c.example/") == ["hidden=h"]
    assert sent("https://d.example/") == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no cookies"),
        ("a.example\tFALSE\t/\tTRUE\t1000\told\tsecret", "expired"),
        ("a.example FALSE / TRUE 0 name secret", "line 1"),
        ("# x\na.example\tFALSE\t/\tTRUE\tsoon\tname\tsecret", "line 2"),
        ("a.example\tFALSE\tx\tTRUE\t0\tname\tsecret", "line 1"),
        ("a.example\tFALSE\t/\tTRUE\t0\tname\tsec;ret", "line 1"),
        ("a b\tFALSE\t/\tTRUE\t0\tname\tsecret", "line 1"),
    ],
)
def test_a_fault_in_the_cookie_file_is_named_and_not_quoted(tmp_path, text, told):
    path = written(tmp_path, text)
    with pytest.raises(AccessRefused, match=told) as caught:
        read_cookies(path, NOW)
    assert "sec" not in str(caught.value).replace(str(path), "")


@pytest.mark.parametrize(
    ("url", "set_cookie", "asked", "sent"),
    [
        ("https://a.b.example/x/y", "n=v", "https://a.b.example/x/z", True),
        ("https://a.b.example/x/y", "n=v", "https://a.b.example/w", False),
        ("https://a.b.example/", "n=v", "https://c.a.b.example/", False),
        ("https://a.b.example/", "n=v; Domain=b.example", "https://c.b.example/", True),
        ("https://a.b.example/", "n=v; Domain=.B.Example", "https://b.example/", True),
        ("https://a.b.example/", "n=v; Domain=c.b.example", "https://c.b.example/", False),
        ("https://a.b.example/", "n=v; Domain=other.test", "https://other.test/", False),
        ("https://shop.co.uk/", "n=v; Domain=co.uk", "https://bank.co.uk/", False),
        ("https://1.2.3.4/", "n=v; Domain=3.4", "https://1.2.3.4/", False),
        ("https://a.example/", "n=v; Secure", "http://a.example/", False),
        ("http://a.example/", "n=v; Secure", "https://a.example/", False),
        ("http://a.example/", "n=v", "https://a.example/", True),
        ("https://a.example/x/", "n=v; Path=/", "https://a.example/y", True),
        ("https://a.example/", "n=v; Max-Age=60", "https://a.example/", True),
        ("https://a.example/", "n=v; Max-Age=0", "https://a.example/", False),
        ("https://a.example/", "n=v; Expires=Wed, 09-Jun-2021 10:18:14 GMT", "https://a.example/", False),
        ("https://a.example/", "n=v; Expires=Wed, 09 Jun 2199 10:18:14 GMT", "https://a.example/", True),
        (
            "https://a.example/",
            "n=v; Max-Age=60; Expires=Wed, 09 Jun 2021 10:18:14 GMT",
            "https://a.example/",
            True,
        ),
        ("https://a.example/", "nonsense", "https://a.example/", False),
        ("https://a.example/", "=v", "https://a.example/", False),
        ("https://a.example/", "n=v\x01", "https://a.example/", False),
        ("https://a.example/", f"n={'v' * 5000}", "https://a.example/", False),
    ],
)
def test_what_a_response_may_set(url, set_cookie, asked, sent):
    jar = Jar()
    jar.take(url, set_cookie, NOW)
    assert [cookie.name for cookie in jar.of(asked, NOW)] == (["n"] if sent else [])


def test_a_cookie_is_replaced_by_its_name_runs_out_and_is_taken_back():
    jar = Jar()
    for set_cookie in ("n=1; Max-Age=10", "n=2; Max-Age=10", "m=3"):
        jar.take("https://a.example/", set_cookie, NOW)
    assert {cookie.name: cookie.value for cookie in jar.of("https://a.example/", NOW)} == {"n": "2", "m": "3"}
    assert [cookie.name for cookie in jar.of("https://a.example/", NOW + 11)] == ["m"]
    jar.take("https://a.example/", "m=; Max-Age=0", NOW)
    assert [cookie.name for cookie in jar.of("https://a.example/", NOW)] == ["n"]


def test_plain_http_replaces_no_secure_cookie():
    jar = Jar()
    jar.take("https://a.example/", "n=good; Secure", NOW)
    jar.take("http://a.example/", "n=evil", NOW)
    assert [cookie.value for cookie in jar.of("https://a.example/", NOW)] == ["good"]


def test_a_jar_is_bounded():
    jar = Jar()
    for n in range(4000):
        jar.take(f"https://h{n}.example/", "n=v", NOW)
        jar.take("https://a.example/", f"n{n}=v", NOW)
    assert len(jar.of("https://a.example/", NOW)) == 50
    assert sum(bool(jar.of(f"https://h{n}.example/", NOW)) for n in range(4000)) <= 3000


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_set_cookie_breaks_the_jar(name, rest):
    jar = Jar()
    jar.take(
        "https://a.example/x",
        f"{name}={rest}; domain={rest}; path={name}; expires={rest}; max-age={name}",
        NOW,
    )
    for cookie in jar.of("https://a.example/x", NOW):
        assert cookie.value.isprintable()


# -- on the wire


def lent(*grants: Grant, jar: Jar | None = None, keep: bool = False, **more) -> Ways:
    return Ways(credentials=Credentials(Access(grants), jar or Jar(), keep=keep), **more)


def granted(url: str, *cookies: tuple[str, str]) -> Grant:
    return Grant(Places.read(url), (("Authorization", f"Bearer {SECRET}"),), cookies)


def test_a_secret_is_sent_to_its_origin_and_the_request_is_written_down_without_it():
    with RawServer(lambda _r, _c: ok(b"in")) as mine, RawServer(lambda _r, _c: ok(b"out")) as others:
        ways = lent(granted(mine.url, ("session", SECRET)))

        async def both(fetcher):
            return [await fetcher.fetch(Request(f"{url}/")) for url in (mine.url, others.url, mine.url)]

        first, second, third = with_fetcher(both, ways=ways)
    assert f"Authorization: Bearer {SECRET}\r\n".encode() in mine.requests[0]
    assert f"Cookie: session={SECRET}\r\n".encode() in mine.requests[1]
    assert SECRET.encode() not in b"".join(others.requests)
    for response in (first, third):
        assert SECRET.encode() not in response.request_head
        assert f"Authorization: Bearer {HIDDEN}\r\n".encode() in response.request_head
    assert second.request_head == others.requests[0]


def test_what_a_response_says_of_secrets_is_not_written_down():
    headers = (
        "Set-Cookie: sid=fresh-value; Path=/; HttpOnly",
        f"X-Echo: you sent {SECRET}",
        "X-Plain: as it is",
    )
    with RawServer(lambda _r, _c: ok(b"in", *headers)) as server:
        response = fetch(f"{server.url}/", ways=lent(granted(server.url)))
    assert response.header("set-cookie") == f"sid={HIDDEN}; Path=/; HttpOnly"
    assert response.header("x-echo") == f"you sent {HIDDEN}"
    assert response.header("x-plain") == "as it is"
    assert response.header("content-length") == "2"
    assert response.set_cookies == ("sid=fresh-value; Path=/; HttpOnly",)
    assert "fresh-value" not in repr(response)


def test_where_nothing_is_lent_everything_is_written_down():
    with RawServer(lambda _r, _c: ok(b"in", "Set-Cookie: sid=fresh")) as server:
        response = fetch(f"{server.url}/", ways=lent(granted("https://elsewhere.example")))
    assert response.header("set-cookie") == "sid=fresh"


@pytest.mark.parametrize("keep", [True, False])
def test_cookies_of_responses_are_sent_back_where_that_is_wanted(keep):
    with RawServer(lambda _r, _c: ok(b"in", "Set-Cookie: sid=fresh; Max-Age=60")) as server:

        async def twice(fetcher):
            return [await fetcher.fetch(Request(f"{server.url}/")) for _ in range(2)]

        _, second = with_fetcher(twice, ways=lent(keep=keep))
    assert (b"Cookie: sid=fresh\r\n" in server.requests[1]) is keep
    assert b"fresh" not in second.request_head


def test_a_requests_own_cookies_join_the_lent_ones():
    with RawServer(lambda _r, _c: ok(b"in")) as server:
        ways = lent(granted(server.url, ("session", SECRET), ("gate", "old")))
        response = fetch(f"{server.url}/", ("Cookie", "gate=open; x=y"), ways=ways)
    assert f"Cookie: session={SECRET}; gate=open; x=y\r\n".encode() in server.requests[0]
    assert f"Cookie: session={HIDDEN}; gate={HIDDEN}; x={HIDDEN}\r\n".encode() in response.request_head


def test_any_certificate_is_believed_if_a_person_wants_it_but_no_secret_is_sent_there():
    authority = trustme.CA()
    with RawServer(lambda _r, _c: ok(b"in"), tls=served_by(authority, "elsewhere.example")) as server:
        assert fetch(f"{server.url}/", ways=Ways(insecure=True)).body == b"in"

        async def both(fetcher):
            reasons = []
            for _ in range(2):
                with pytest.raises(FetchFailed) as caught:
                    await fetcher.fetch(Request(f"{server.url}/"))
                reasons.append(caught.value.reason)
            return reasons

        ways = lent(granted(server.url), insecure=True)
        assert with_fetcher(both, ways=ways) == ["tls_host"] * 2
    assert len(server.requests) == 1


def test_plain_headers_are_sent_to_every_host():
    with RawServer(lambda _r, _c: ok(b"in")) as server:
        response = fetch(f"{server.url}/", ways=Ways(headers=(("Accept-Language", "de"), ("Accept", "*/*"))))
    assert b"Accept-Language: de\r\nAccept: */*\r\n" in server.requests[0]
    assert server.requests == [response.request_head]


def test_a_proxy_on_the_way_to_an_https_site_never_hears_what_the_site_is_told(tmp_path):
    from tests.kit.proxy import proxying

    from holdfast.web.access.proxies import proxies_of

    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with (
        RawServer(lambda _r, _c: ok(b"in"), tls=served_by(authority, "site.test")) as server,
        proxying() as proxy,
    ):
        url = f"https://site.test:{server.port}"
        ways = lent(granted(url), proxies=proxies_of([f"http://{proxy.address}"], {}.get))
        fetch(f"{url}/", ways=ways, ca_file=str(tmp_path / "ca.pem"))
    assert SECRET.encode() in server.requests[0]
    assert SECRET.encode() not in b"".join(proxy.heads)
