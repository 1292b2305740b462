"""Exact limits stay exact, and small segments whole, whatever is killed in between."""

import pytest
from tests.kit.process import PER_KILL, Fault, assert_promise, assert_rows, exported
from tests.kit.server import serving

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

STEPS = [
    FaultPoint.HANDLING,
    FaultPoint.BEFORE_SEGMENT,
    FaultPoint.MID_RECORD,
    FaultPoint.AFTER_SEGMENT,
    FaultPoint.IN_TRANSACTION,
    FaultPoint.AFTER_COMMIT,
]


def test_an_exact_limit_of_pages_stays_exact(holdfast, server):
    # given a crawl of at most 200 pages, killed at each step in turn
    limited = ("-n", "200")
    for turn, point in enumerate(STEPS):
        nth = 15 if point is FaultPoint.HANDLING else 3 + turn % 2
        holdfast.crawl_and_die(server.start, *limited, fault=Fault(at=point, nth=nth))

    # then there are 200 pages, each once
    ended = holdfast.crawl(server.start, *limited).ended()
    assert (ended.code, ended.json["pages"], ended.json["reason"]) == (0, 200, "page limit")
    rows = exported(holdfast)
    assert len(rows) == 200
    assert_rows(rows, {row["url"] for row in rows} & server.urls)
    assert holdfast.run("verify").code == 0

    # and beyond the limit it goes on, killed once more
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_SEGMENT, nth=5))
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server)


def test_a_budget_per_host_stays_exact_and_is_exact_again_when_it_is_raised(holdfast, server, site, tmp_path):
    with serving(site, tmp_path / "other.log") as other:
        hosts = (server, other)

        def per_host():
            rows = exported(holdfast)
            assert_rows(rows, {row["url"] for row in rows} & (server.urls | other.urls))
            return [sum(row["url"].startswith(host.start) for row in rows) for host in hosts]

        # given a crawl of two hosts that takes 60 pages of each at most, killed at each step in turn
        limited = (server.start, other.start, "--yes", "--host-pages")
        for turn, point in enumerate(STEPS):
            nth = 15 if point is FaultPoint.HANDLING else 2 + turn % 2
            holdfast.crawl_and_die(*limited, "60", fault=Fault(at=point, nth=nth))

        # then each gives 60 pages, and was asked for no more than that and what the kills cost
        ended = holdfast.crawl(*limited, "60").ended()
        assert (ended.code, ended.json["status"]) == (0, "completed")
        assert per_host() == [60, 60]
        pages = sum(len(host.counts().keys() & site.pages) for host in hosts)
        assert 120 <= pages <= 120 + len(STEPS) * PER_KILL
        assert holdfast.run("verify").code == 0

        # and a raised budget, killed once more, is as exact; without one all is there
        holdfast.crawl_and_die(*limited, "90", fault=Fault(at=FaultPoint.IN_TRANSACTION, nth=4))
        assert holdfast.crawl(*limited, "90").ended().code == 0
        assert per_host() == [90, 90]
        assert holdfast.crawl(server.start, other.start, "--yes").ended().code == 0
        assert per_host() == [len(site.pages)] * 2
        assert holdfast.run("verify").code == 0


@pytest.mark.parametrize("durability", ["process", "power"])
def test_kills_of_a_crawl_with_many_small_segments(holdfast, server, durability):
    # given segments of some 10 kB, each synced when it is closed
    holdfast.environment = {"HOLDFAST_SEGMENT_MB": "0.01", "HOLDFAST_UNSYNCED_MB": "0.003"}
    command = (server.start, "--durability", durability)
    for point in STEPS[1:]:
        holdfast.crawl_and_die(*command, fault=Fault(at=point, nth=7))

    # then all of them are whole, and nothing that was synced had to be read back
    assert len(holdfast.segments()) > len(STEPS)
    ended = holdfast.crawl(*command).ended()
    assert (ended.code, ended.err) == (0, ""), ended
    assert_promise(holdfast, server)


def test_only_the_unsynced_tail_is_read_back(holdfast, server):
    # given a killed crawl whose segment was synced now and then
    holdfast.environment = {"HOLDFAST_UNSYNCED_MB": "0.02"}
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=20))
    ((synced, committed),) = holdfast.read("SELECT synced, committed FROM segments")
    assert 0 < synced < committed
    ((settled,),) = holdfast.read(
        "SELECT count(*) FROM records WHERE start + length > (SELECT synced FROM segments)"
    )

    # when all beyond that is gone
    (segment,) = holdfast.segments()
    with segment.open("r+b") as file:
        file.truncate(synced)

    # then only what lay there is fetched again
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server, again=settled)
