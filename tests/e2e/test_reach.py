"""Whom a crawl reaches, and whom not, from the command line."""

import socket

import pytest
from tests.kit.server import Answer, Site, serving

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
