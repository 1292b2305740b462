"""Given secrets in files and variables, and a crawl that fails, crashes and is killed: they stand nowhere else."""

import base64
import gzip
import signal
from pathlib import Path

import pytest
from tests.kit.process import Fault
from tests.kit.proxy import proxying
from tests.unit.web.rawserver import RawServer, ok, path_of, reset

OLD, NEW, TOKEN = "OldPassword-4711", "NewPassword-0815", "Token-3141592653"
COOKIE, PROXY, FRESH = "Cookie-2718281828", "ProxyWord-1618033", "Fresh-1414213562"
SECRETS = (OLD, NEW, TOKEN, COOKIE, PROXY, FRESH)
PAGES = [f"/p{n}" for n in range(40)]


class Gate:
    """A site that lets in only who shows password, token and cookie, and counts whom it turned away."""

    def __init__(self) -> None:
        self.password, self.turned_away, self.elsewhere = OLD, 0, ""

    def __call__(self, request, connection):
        path = path_of(request)
        if path == "/robots.txt":
            return b"HTTP/1.1 404 -\r\nContent-Length: 0\r\n\r\n"
        basic = base64.b64encode(f"me:{self.password}".encode())
        shown = (b"Authorization: Basic " + basic, f"X-Token: {TOKEN}".encode(), f"session={COOKIE}".encode())
        if not all(words in request for words in shown):
            self.turned_away += 1
            return b"HTTP/1.1 401 -\r\nContent-Length: 0\r\n\r\n"
        if path == "/moved":
            return f"HTTP/1.1 302 -\r\nLocation: {self.elsewhere}/\r\nContent-Length: 0\r\n\r\n".encode()
        if path == "/breaks":
            reset(connection)
            return None
        links = "".join(f'<a href="{link}">x</a>' for link in ("/moved", "/breaks", *PAGES, "/mistake"))
        cookie, echo = f"Set-Cookie: rolling={FRESH}; Path=/", f"X-Debug: token={TOKEN}"
        return ok(f"<p>{path}{links}".encode(), "Content-Type: text/html", cookie, echo)


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def strangers():
    with RawServer(lambda _r, _c: ok(b"<p>other")) as server:
        yield server


@pytest.fixture
def site(gate, strangers):
    gate.elsewhere = f"http://other.test:{strangers.port}"  # the proxy knows where that is
    with RawServer(gate) as server:
        yield server


@pytest.fixture
def proxy():
    with proxying(login=("me", PROXY)) as proxy:
        yield proxy


@pytest.fixture
def words(holdfast, site, proxy, tmp_path):
    """The command, and the files that it names."""
    access, cookies = tmp_path / "access.toml", tmp_path / "cookies.txt"
    access.write_text(
        f'[sites."{site.url}"]\nbasic = {{ user = "me", password = "env:SITE_PASSWORD" }}\n'
        f'headers = {{ X-Token = "{TOKEN}" }}\n[proxies]\nurls = ["env:SITE_PROXY"]\n'
    )
    cookies.write_text(f"127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t{COOKIE}\n")
    for path in (access, cookies):
        path.chmod(0o600)
    holdfast.environment = {
        "SITE_PASSWORD": OLD,
        "SITE_PROXY": f"http://me:{PROXY}@{proxy.address}",
        "HOLDFAST_MAX_TRIES": "2",
    }
    return [
        "crawl",
        f"{site.url}/",
        "--access",
        access,
        "--cookies",
        cookies,
        "--keep-cookies",
        "--scope",
        "any",
        "-v",
    ]


def everything_in(holdfast, *more):
    """All that is in the home, packed or not, beside what was said."""
    for path in [*holdfast.home.rglob("*"), *more]:
        if path.is_file():
            data = path.read_bytes()
            yield str(path), data
            if data.startswith(b"\x1f\x8b"):
                yield f"{path}, unpacked", gzip.decompress(data)


def test_secrets_stand_nowhere_but_where_they_were_put(holdfast, words, gate, site, strangers):
    folder = holdfast.home.parent
    said = [
        # It crashes in C code, fails by a mistake of ours, is killed, and is refused for want of a variable ...
        holdfast.run(*words, fault=Fault(at="while an item is handled", do="segfault", url=f"{site.url}/p3")),
        holdfast.run(*words, fault=Fault(at="inside the transaction", do="kill", nth=2)),
        holdfast.run("resume", SITE_PASSWORD=""),
    ]
    assert [ended.code for ended in said] == [-signal.SIGSEGV, -signal.SIGKILL, 2]
    assert "SITE_PASSWORD" in said[-1].sentence
    # ... and carries on with another password.
    gate.password = NEW
    holdfast.environment = {**holdfast.environment, "SITE_PASSWORD": NEW}
    mistake = Fault(at="while an item is handled", do="mistake", url=f"{site.url}/mistake")
    said += [holdfast.run(*words, fault=mistake), holdfast.run(*words, "-o", folder / "out.jsonl")]
    assert [ended.code for ended in said[3:]] == [1, 0]
    outputs = [folder / "out.jsonl", folder / "out.warc.gz", folder / "out.csv"]
    said += [holdfast.run("export", "-o", path) for path in outputs[1:]]
    said += [holdfast.run(*asked) for asked in (["show"], ["show", "--json"], ["verify"], ["ls", "--json"])]
    assert all(ended.code == 0 for ended in said[4:])

    assert gate.turned_away == 0
    failed = dict(holdfast.read("SELECT url, reason FROM items WHERE status = 'failed'"))
    assert failed == {f"{site.url}/breaks": "reset"}
    assert holdfast.read("SELECT count(*) FROM records WHERE kind = 'page'") == [(len(PAGES) + 3,)]

    encoded = [
        base64.b64encode(f"{user}:{word}".encode())
        for user, word in (("me", OLD), ("me", NEW), ("me", PROXY))
    ]
    found = [*everything_in(holdfast, *outputs)]
    found += [(f"what command {n} said", (ended.out + ended.err).encode()) for n, ended in enumerate(said)]
    found += [("what strangers heard", b"".join(strangers.requests))]
    leaks = [
        (where, secret)
        for where, data in found
        for secret in [*map(str.encode, SECRETS), *encoded]
        if secret in data
    ]
    assert leaks == []
    assert {".crash", ".log"} <= {Path(where).suffix for where, _ in found}
    assert any(b"Authorization: Basic [hidden]" in data for _, data in found)


def test_a_home_says_where_the_secrets_are_and_no_more(holdfast, words):
    holdfast.run(*words, "-n", "1")
    ((spec,),) = holdfast.read("SELECT spec FROM jobs")
    assert "access.toml" in spec
    assert "cookies.txt" in spec
    assert not any(secret in spec for secret in SECRETS)
