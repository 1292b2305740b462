"""No connection to an address that is not public, unless that kind was asked for: whatever a name or a link says."""

import pycurl  # type: ignore[import-untyped]  # has no types
import pytest
import trustme
from tests.kit.names import name_server
from tests.unit.web.fetching import IMPATIENT, failure, fetch, with_fetcher
from tests.unit.web.rawserver import RawServer, ok

from holdfast.domain.address import Kind
from holdfast.ports.fetcher import FetchFailed, Request
from holdfast.web.guard import Guard
from holdfast.web.transfer import Transfer
from holdfast.web.ways import Ways

CLOSED = Guard()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "a.localhost",
        "10.0.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "[::1]",
        "[::ffff:7f00:1]",
    ],
)
def test_an_address_that_is_not_public_is_refused_for_good_before_anything_is_sent(host):
    with RawServer(lambda _r, _c: ok(b"inside")) as server:
        error = failure(f"http://{host}:{server.port}/", ways=Ways(CLOSED))
        assert (error.reason, error.transient) == ("private_address", False)
        assert server.connections == 0


def test_a_kind_that_was_asked_for_is_reached_and_no_other():
    guard = Guard.around(["http://127.0.0.1:8000/"])
    with RawServer(lambda _r, _c: ok(b"inside")) as server:
        assert fetch(f"http://localhost:{server.port}/", ways=Ways(guard)).body == b"inside"
        for host in ("10.0.0.1", "169.254.169.254", "0.0.0.0"):
            assert failure(f"http://{host}:{server.port}/", ways=Ways(guard)).reason == "private_address"


def test_a_start_url_with_a_name_asks_for_nothing_but_what_is_public():
    assert Guard.around(["https://intranet.example/"]).refuses("10.0.0.1") is Kind.PRIVATE
    assert Guard.around(["https://intranet.example/"]).refuses("8.8.8.8") is None


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def names(authority, tmp_path, monkeypatch):
    """Every name is asked for at a server of our own, each time anew."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    set_constants = Transfer._set_constants

    with name_server(authority) as server:

        def set_all(transfer, limits, ca_file):
            set_constants(transfer, limits, ca_file)
            transfer.easy.setopt(pycurl.DOH_URL, server.url)
            transfer.easy.setopt(pycurl.DNS_CACHE_TIMEOUT, 0)

        monkeypatch.setattr(Transfer, "_set_constants", set_all)
        yield server


def test_a_name_that_changes_its_address_gets_nobody_further_inside(names, tmp_path):
    # Where it leads is fine when it is looked at, and not when it is connected to again.
    guard = Guard(frozenset({Kind.LOOPBACK}))
    with RawServer(lambda _r, _c: ok(b"fine", "Connection: close")) as server:
        names.answers["rebinding.example"] = ["127.0.0.1", "10.0.0.1"]
        request = Request(f"http://rebinding.example:{server.port}/")

        async def twice(fetcher):
            first = await fetcher.fetch(request)
            with pytest.raises(FetchFailed) as caught:
                await fetcher.fetch(request)
            return first.body, caught.value.reason

        outcome = with_fetcher(twice, ways=Ways(guard), limits=IMPATIENT, ca_file=str(tmp_path / "ca.pem"))
    assert outcome == (b"fine", "private_address")
    assert names.asked == ["rebinding.example"] * 2


def test_without_the_guard_that_name_would_have_led_inside(names, tmp_path):
    with RawServer(lambda _r, _c: ok(b"inside")) as server:
        names.answers["rebinding.example"] = ["127.0.0.1"]
        url = f"http://rebinding.example:{server.port}/"
        assert fetch(url, ca_file=str(tmp_path / "ca.pem")).body == b"inside"
