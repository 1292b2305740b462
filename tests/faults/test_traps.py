"""kill -9 in sites without end: no kill makes the crawl endless, and none costs a real page."""

import itertools
import random

import pytest
from tests.kit.endless import CALENDAR, REAL, Endless, calendar, page
from tests.kit.process import PER_KILL, Fault, assert_rows, exported, until
from tests.kit.server import Answer, Site

from holdfast.pipelines.site.families import IN_A_ROW
from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure


class Everything:
    """All traps at once: a calendar, relative links for every path, orders of parameters, a new id in each link."""

    def __init__(self):
        self._ids = itertools.count(1)

    def __call__(self, path):
        bare = path.partition(";")[0]
        if bare in REAL:
            return self.real(bare)
        if path.startswith("/soft/"):
            return page("not here", "news/", "team/", "about/")
        if path.startswith("/order?"):
            pairs = path.partition("?")[2].split("&")
            return page("ordered", *("/order?" + "&".join(order) for order in itertools.permutations(pairs)))
        return calendar(path)

    def real(self, path: str) -> Answer:
        ids = (f"{other};jsessionid={next(self._ids)}" for other in REAL)
        return page(path, *ids, CALENDAR, "/soft/", "/order?a=1&b=2&c=3&d=4")


@pytest.fixture
def endless(server):
    trap = Everything()
    server.site = Site(Endless(trap))
    server.misbehaving = dict.fromkeys(REAL, trap.real)
    return server


def is_calendar(path):
    return path.startswith("/calendar")


def closed(holdfast):
    return holdfast.read("SELECT 1 FROM chunks WHERE cursor LIKE '%barren%'")


def test_kills_at_random_times_leave_a_crawl_that_ends_with_every_real_page(holdfast, endless):
    # given a crawl without kills, to know what it asks for
    whole = holdfast.crawl(endless.start, "--name", "whole").ended()
    assert whole.code == 0, whole
    asked = endless.served

    # when the same site is crawled and killed at random commits
    rng = random.Random(7)
    kills = 6
    for _ in range(kills):
        fault = Fault(
            at=rng.choice([FaultPoint.AFTER_COMMIT, FaultPoint.IN_TRANSACTION]), nth=rng.randint(2, 6)
        )
        holdfast.crawl_and_die(endless.start, "--name", "killed", fault=fault)
    ended = holdfast.crawl(endless.start, "--name", "killed").ended()

    # then it ends, with each real page once, and each kill cost no more than what was in flight and one count anew
    assert ended.code == 0, ended
    assert (ended.json["status"], ended.json["queued"]) == ("completed", 0)
    rows = exported(holdfast, "killed")
    assert_rows(
        [row for row in rows if row["url"].removeprefix(endless.base) in REAL],
        {endless.base + path for path in REAL},
    )
    assert endless.served - asked <= asked + kills * (PER_KILL + IN_A_ROW)
    verified = holdfast.run("verify", "killed")
    assert verified.code == 0, verified


def test_a_family_that_is_closed_stays_closed_through_a_kill(holdfast, endless):
    # given a crawl that dies in the very commit with which the calendar is closed, and in the one behind it
    holdfast.crawl_and_die(
        endless.start, "--checkpoint-items", "1", fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=20)
    )
    running = holdfast.crawl(endless.start, "--checkpoint-items", "1")
    until(lambda: closed(holdfast), "the calendar is closed", running=running)
    holdfast.kill(running)
    before = sum(is_calendar(path) for path in endless.counts())

    # then nothing of it is asked for any more
    ended = holdfast.crawl(endless.start).ended()
    assert ended.code == 0, ended
    assert sum(is_calendar(path) for path in endless.counts()) - before <= PER_KILL
    assert holdfast.run("verify").code == 0
