"""A site that is down for a while costs no page, however short the patience with each of them."""

import pytest
from tests.kit.process import CONCURRENCY, Fault, assert_promise, until

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

ROUNDS = 12
"""More commits of pages that wait than a page has tries."""


def outlasts(holdfast, running):
    """The crawl goes on looking for so long that each page in the queue would have used up its tries."""
    before = holdfast.commits()
    until(lambda: holdfast.commits() >= before + ROUNDS, f"{ROUNDS} commits in vain", running=running)


def test_a_site_that_goes_down_in_mid_crawl(holdfast, server):
    # given a crawl whose site goes away
    server.delay_s = 0.02
    running = holdfast.crawl(server.start)
    until(lambda: server.served >= 60, "60 requests", running=running)
    with server.down():
        outlasts(holdfast, running)

    # then it carries on when the site is back, and no page was given up
    ended = running.ended()
    assert ended.code == 0, ended
    assert_promise(holdfast, server, again=CONCURRENCY)


def test_a_site_that_is_down_when_a_killed_crawl_is_started_again(holdfast, server):
    # given a crawl that was killed, and whose site can't be reached when it is started again: not even robots.txt
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=6))
    with server.down():
        running = holdfast.crawl(server.start)
        outlasts(holdfast, running)

    # then it carries on when the site is back
    ended = running.ended()
    assert ended.code == 0, ended
    assert_promise(holdfast, server)


def test_a_site_that_stays_down_is_given_up_in_the_end(holdfast, server):
    # given a crawl whose site goes away for good
    server.delay_s = 0.02
    running = holdfast.crawl(server.start, HOLDFAST_OUTAGE_S="2")
    until(lambda: server.served >= 60, "60 requests", running=running)
    with server.down():
        ended = running.ended()

    # then the job ends, and says what was not to be had
    assert ended.code == 0, ended
    assert ended.json["failed"] > 0
    assert ended.json["queued"] == 0
    assert holdfast.read("SELECT DISTINCT reason FROM items WHERE status = 'failed'") == [
        ("connect_refused",)
    ]
