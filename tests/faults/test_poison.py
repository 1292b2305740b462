"""A page that kills its worker is set aside after a bounded number of deaths; its neighbours finish."""

import itertools
import signal

import pytest
from tests.kit.process import Fault, assert_promise

from holdfast.domain.recovery import DEADLY_SILENT
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


def test_kills_from_outside_are_no_fault_of_the_page(holdfast, server):
    # given a crawl that is killed again and again with its first request in flight
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=5))
    for _ in range(5):
        holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.HANDLING, nth=1))

    # then no page is blamed for that
    assert holdfast.crawl(server.start).ended().code == 0
    assert holdfast.read("SELECT url FROM items WHERE reason = 'poison'") == []
    assert_promise(holdfast, server)


def test_a_page_that_is_killed_for_ever_without_a_trace_is_given_up(holdfast, server):
    # given a page on which the process is killed from outside each time, as for want of memory
    poison = server.base + "/p/7.html"
    fault = Fault(at=FaultPoint.HANDLING, url=poison)
    codes = (holdfast.crawl(server.start, fault=fault).ended().code for _ in range(20))
    deaths = list(itertools.takewhile(bool, codes))

    # then it is set aside after so many deaths (one more if the first came after progress), and its neighbours finish
    assert set(deaths) == {-signal.SIGKILL}
    assert DEADLY_SILENT < len(deaths) <= DEADLY_SILENT + 2
    assert holdfast.read("SELECT url FROM items WHERE reason = 'poison'") == [(poison,)]
