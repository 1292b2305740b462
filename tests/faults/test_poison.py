"""A page that kills its worker is set aside after a bounded number of deaths; its neighbours finish."""

import signal

import pytest
from tests.kit.process import Fault, assert_promise

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure


def deaths_until_the_end(holdfast, server, poison, bound):
    """Repeat the command until it ends by itself."""
    for death in range(bound + 1):
        ended = holdfast.crawl(
            server.start, fault=Fault(at=FaultPoint.HANDLING, do="segfault", url=poison)
        ).ended()
        if ended.code != -signal.SIGSEGV:
            return death, ended
    pytest.fail(f"it still dies after {bound} deaths")


@pytest.mark.parametrize("path", ["/p/7.html", "/p/200.html", "/p/379.html"])
def test_a_page_that_kills_its_worker(holdfast, server, path):
    # given a page on which the process dies
    poison = server.base + path

    # when the same command is repeated whenever it died
    deaths, ended = deaths_until_the_end(holdfast, server, poison, bound=6)

    # then that page has failed as what it is, and everything else is done
    assert ended.code == 0, ended
    assert "quarantined" in ended.err
    assert deaths >= 2
    assert holdfast.read(
        "SELECT url, reason FROM items WHERE status = 'failed' AND reason <> 'http_404'"
    ) == [(poison, "poison")]
    holdfast.kills = deaths
    assert_promise(holdfast, server, without=[poison])


def test_a_start_page_that_kills_its_worker(holdfast, server):
    # given a start page on which the process dies
    deaths, ended = deaths_until_the_end(holdfast, server, server.start, bound=6)

    # then the job has failed, and says so
    assert deaths >= 2
    assert ended.code == 1, ended
    assert (ended.json["status"], ended.json["pages"]) == ("failed", 0)
