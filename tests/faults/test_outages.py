"""A site that is down for a while costs no page, however short the patience with each of them."""

import pytest
from tests.kit.process import CONCURRENCY, assert_promise, until

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
