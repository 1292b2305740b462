"""Whom a crawl reaches, and whom not, from the command line."""

import socket

import pytest
import trustme
from tests.kit.server import Answer, Site, serving
from tests.unit.web.rawserver import RawServer, ok
from tests.unit.web.test_proxies import served_by

METADATA = "http://169.254.169.254/latest/meta-data/"


@pytest.fixture
def lures(tmp_path):
    """A site whose links and redirects lead into other people's networks."""
    page = f'<a href="{METADATA}">x</a> <a href="/moved">y</a> <a href="/fine">z</a>'
    answers = {
        "/": Answer(200, page.encode()),
        "/moved": Answer(302, b"", (("Location", "http://[::ffff:10.0.0.1]/inside"),)),
        "/fine": Answer(200, b"<p>fine"),
    }
    with serving(Site(answers), tmp_path / "access.log") as server:
        yield server


def test_links_and_redirects_lead_into_no_network_of_ones_own(holdfast, lures):
    ended = holdfast.run("crawl", lures.start, "--scope", "any", "--json")
    assert ended.code == 0
    assert (ended.json["pages"], ended.json["failed"]) == (2, 2)
    failed = holdfast.read("SELECT url, reason FROM items WHERE status = 'failed' ORDER BY url")
    assert failed == [
        ("http://169.254.169.254/latest/meta-data/", "private_address"),
        ("http://[::ffff:a00:1]/inside", "private_address"),
    ]
    assert holdfast.run("verify").code == 0


def test_a_name_with_a_private_address_takes_the_option_and_the_refusal_says_so(holdfast, lures):
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        address = ""
    if not address.startswith("127."):
        pytest.skip("this machine's own name is no name of loopback")
    start = lures.start.replace("127.0.0.1", name)
    refused = holdfast.run("crawl", start)
    assert refused.code == 1
    assert "--allow-private" in refused.err
    assert holdfast.run("crawl", start, "--allow-private", "--fresh", "-n", "1").code == 0


def test_what_can_not_be_used_is_one_sentence_before_anything_is_begun(holdfast, tmp_path):
    open_to_all = tmp_path / "open.toml"
    open_to_all.write_text('[sites."a.example"]\nbearer = "s3cr3t"\n')
    open_to_all.chmod(0o644)
    for words, told in [
        (["--access", open_to_all], "chmod 600"),
        (["--access", tmp_path / "none.toml"], "none.toml"),
        (["--cookies", open_to_all], "chmod 600"),
        (["--header", "Authorization: Bearer s3cr3t"], "--access"),
        (["--header", "Cookie: a=s3cr3t"], "--access"),
        (["--header", "X-Api-Key: s3cr3t"], "--access"),
        (["--header", "s3cr3t"], "Accept-Language"),
        (["--header", "Host: s3cr3t"], "connection's own"),
        (["--proxy", "http://me:s3cr3t@127.0.0.1:1"], "env:NAME"),
        (["--proxy", "ftp://s3cr3t:1"], "SCHEME://HOST:PORT"),
        (["--proxy", "env:NOT_SET"], "NOT_SET"),
    ]:
        ended = holdfast.run("crawl", "http://127.0.0.1:1/", *words)
        assert (ended.code, ended.out) == (2, "")
        (line,) = ended.err.splitlines()
        assert told in line
        assert "s3cr3t" not in line
    assert not holdfast.home.exists()
    refused = holdfast.run("crawl", "http://127.0.0.1:1/", HOLDFAST_CA_FILE=str(tmp_path / "none.pem"))
    assert (refused.code, "none.pem" in refused.sentence) == (2, True)


def test_an_authority_of_ones_own_is_believed_and_any_certificate_with_the_option(holdfast, tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with RawServer(lambda _r, _c: ok(b"<p>in"), tls=served_by(authority, "127.0.0.1")) as server:
        refused = holdfast.run("crawl", f"{server.url}/")
        assert (refused.code, "tls_authority" in refused.err) == (1, True)
        assert (
            holdfast.run("crawl", f"{server.url}/", "--fresh", HOLDFAST_CA_FILE=str(tmp_path / "ca.pem")).code
            == 0
        )
        assert holdfast.run("crawl", f"{server.url}/", "--fresh", "--insecure").code == 0


def test_a_crawl_keeps_to_its_bandwidth(holdfast, tmp_path):
    page = "".join(f'<a href="/{n}">x</a>' for n in range(30)).encode()
    answers = {"/": Answer(200, page)} | {
        f"/{n}": Answer(200, b"<p>" + bytes([65 + n]) * 50_000) for n in range(30)
    }
    with serving(Site(answers), tmp_path / "access.log") as server:
        ended = holdfast.run("crawl", server.start, "--bandwidth", "1MB", "--json")
        assert (ended.code, ended.json["pages"]) == (0, 31)
        assert ended.json["bytes"] / ended.json["seconds"] < 1.2e6
        refused = holdfast.run("crawl", server.start, "--bandwidth", "5KB", "--fresh")
    assert (refused.code, "10,000" in refused.sentence) == (2, True)
