"""An fsync that fails once says nothing true any more: its file is left alone for good."""

import pytest
from tests.kit.process import Fault, assert_promise

pytestmark = pytest.mark.failure


@pytest.mark.parametrize("nth", [1, 2, 4, 5, 12])
def test_a_failing_fsync_of_the_segment_ends_the_claim(holdfast, server, nth):
    # given a disk that refuses the n-th fsync, of a file or of its directories, and all later ones
    durable = ("--durability", "power")
    ended = holdfast.crawl(server.start, *durable, fault=Fault(break_fsync=nth)).ended()
    assert ended.code == 1, ended
    assert "Input/output error" in ended.sentence
    abandoned = {path: path.read_bytes() for path in holdfast.segments()}
    assert len(abandoned) == 1

    # then the same command goes on, in another file
    ended = holdfast.crawl(server.start, *durable).ended()
    assert ended.code == 0, ended
    assert {path: path.read_bytes() for path in abandoned} == abandoned
    holdfast.kills = 1
    assert_promise(holdfast, server)


def test_a_failing_fsync_at_the_very_end_costs_nothing(holdfast, server):
    # given a crawl in durability `process` whose only fsync, the last step, fails
    ended = holdfast.crawl(server.start, fault=Fault(break_fsync=1)).ended()
    assert ended.code == 1, ended
    requests = server.served

    # then all was committed before, and the same command only has to say so
    assert holdfast.crawl(server.start).ended().code == 0
    assert server.served == requests
    assert_promise(holdfast, server)


def test_a_kill_of_a_crawl_that_survives_power_cuts(holdfast, server):
    # given a crawl in durability `power`, killed twice
    durable = ("--durability", "power")
    for nth in (3, 9):
        holdfast.crawl_and_die(
            server.start, *durable, fault=Fault(at="between segment and transaction", nth=nth)
        )

    # then what it committed had been synced before, in the ledger's own words
    assert all(
        synced == committed for synced, committed in holdfast.read("SELECT synced, committed FROM segments")
    )
    assert holdfast.crawl(server.start, *durable).ended().code == 0
    assert_promise(holdfast, server)
