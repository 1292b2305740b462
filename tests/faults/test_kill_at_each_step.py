"""kill -9 at each step of the commit: the same command again ends, and the promise holds."""

import signal

import pytest
from tests.kit.process import CHECKPOINT_ITEMS, Fault, assert_promise

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

STEPS = [
    (FaultPoint.BEFORE_SEGMENT, "kill"),
    (FaultPoint.MID_RECORD, "kill"),
    (FaultPoint.MID_RECORD, "half"),
    (FaultPoint.AFTER_SEGMENT, "kill"),
    (FaultPoint.IN_TRANSACTION, "kill"),
    (FaultPoint.AFTER_COMMIT, "kill"),
]


@pytest.mark.parametrize("nth", [1, 3, 20])
@pytest.mark.parametrize(("point", "action"), STEPS, ids=lambda value: str(value).replace(" ", "-"))
def test_a_kill_at_a_step_of_the_commit_costs_what_was_in_flight(holdfast, server, point, action, nth):
    # given a crawl, kill it at the step
    holdfast.crawl_and_die(server.start, fault=Fault(at=point, do=action, nth=nth))
    committed = holdfast.commits()

    # then the same command goes on from the last commit
    ended = holdfast.crawl(server.start).ended()
    assert ended.code == 0, ended
    assert ended.json["checkpoint"] > committed
    assert_promise(holdfast, server)


def test_kills_at_every_step_in_a_row(holdfast, server):
    # given a crawl that is killed at one step after the other, some commits further each time
    for turn, (point, action) in enumerate(STEPS):
        holdfast.crawl_and_die(server.start, fault=Fault(at=point, do=action, nth=2 + turn))

    # then it ends, and each kill cost no more than its share
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server)


def test_a_kill_right_after_the_claim_costs_nothing(holdfast, server):
    # given a crawl that dies with its first claim, before any page, more often than a job may die unheeded
    for _ in range(5):
        holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_CLAIM))

    # then whoever repeats the command gets the whole site, and nothing was asked for twice
    assert holdfast.crawl(server.start).ended().code == 0
    holdfast.kills = 0
    assert_promise(holdfast, server)


def test_a_kill_amid_a_repair_leaves_the_tail_to_be_found_torn_again(holdfast, server):
    # given a crawl that died and lost half of its segment
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=20))
    (segment,) = holdfast.segments()
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size // 2)
    before = holdfast.everything()["records"]

    # kill at the repair, twice
    for _ in range(2):
        holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.MID_REPAIR))
        assert holdfast.everything()["records"] == before

    # then the third comes through
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server, again=20 * CHECKPOINT_ITEMS)


def test_a_crawl_of_one_page_survives_a_kill_in_its_only_commit(holdfast, server):
    for point in (FaultPoint.AFTER_SEGMENT, FaultPoint.IN_TRANSACTION):
        died = holdfast.crawl(server.start, "-n", "1", fault=Fault(at=point)).ended()
        assert died.code == -signal.SIGKILL
    ended = holdfast.crawl(server.start, "-n", "1").ended()
    assert (ended.code, ended.json["pages"], ended.json["reason"]) == (0, 1, "page limit")
