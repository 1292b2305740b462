"""A full disk costs nothing: one sentence, exit code 3, and with more room the same command carries on."""

import pytest
from tests.kit.process import Fault, Holdfast, assert_promise, until
from tests.kit.tmpfs import small_disk

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

NO_FLOOR = {"HOLDFAST_MIN_FREE_MB": "0"}
ROOMY_KIB = 128 * 1024


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", ROOMY_KIB) as disk:
        yield disk


@pytest.fixture
def holdfast(disk):
    with Holdfast(disk.path / "home", NO_FLOOR) as holdfast:
        yield holdfast


def stopped_for_want_of_room(ended):
    assert ended.code == 3, ended
    assert "room" in ended.sentence or "full" in ended.sentence, ended
    assert "that should not have happened" not in ended.err, ended


@pytest.mark.parametrize("kib", [100, 250, 450, 800, 1200])
def test_a_disk_that_is_too_small(holdfast, server, disk, kib):
    # given a disk on which the crawl doesn't fit
    disk.resize(kib)
    stopped_for_want_of_room(holdfast.crawl(server.start).ended())

    # then without more room it stops again, and with more it carries on to its end
    stopped_for_want_of_room(holdfast.crawl(server.start).ended())
    holdfast.kills = 2
    disk.resize(ROOMY_KIB)
    ended = holdfast.crawl(server.start).ended()
    assert ended.code == 0, ended
    assert_promise(holdfast, server)


@pytest.mark.parametrize("commits", [1, 5, 15])
def test_a_disk_that_somebody_else_fills(holdfast, server, disk, commits):
    # given a crawl at work, on whose disk all room is taken at once
    server.delay_s = 0.03
    running = holdfast.crawl(server.start)
    until(lambda: holdfast.commits() >= commits, f"{commits} commits", running=running)
    ballast = disk.fill()
    stopped_for_want_of_room(running.ended())
    done = holdfast.show()["pages"]

    # then it goes on where it was once there is room
    ballast.unlink()
    server.delay_s = 0.0
    ended = holdfast.crawl(server.start).ended()
    assert ended.code == 0, ended
    assert ended.json["pages"] > done
    holdfast.kills = 1
    assert_promise(holdfast, server)


def test_looking_at_a_home_on_a_full_disk(holdfast, server, disk):
    # given a home on a disk without any room
    assert holdfast.crawl(server.start, "-n", "100").ended().code == 0
    ballast = disk.fill()

    # then whoever only looks, too, is told what is wrong
    for command in ("show", "ls", "verify"):
        stopped_for_want_of_room(holdfast.run(command))

    # and with the little room that SQLite needs in order to look, what is there can be seen and checked
    with ballast.open("r+b") as file:
        file.truncate(ballast.stat().st_size - 64 * 1024)
    assert holdfast.show()["pages"] == 100
    assert holdfast.run("ls").code == 0
    assert holdfast.run("verify").code == 0
    refused = holdfast.run("export", "-o", disk.path / "pages.jsonl")
    assert refused.code == 3, refused
    assert "no room" in refused.sentence


@pytest.mark.parametrize("action", ["full", "half_full"])
@pytest.mark.parametrize("nth", [1, 7])
def test_no_room_for_the_segment_pauses_the_job(holdfast, server, action, nth):
    # given a segment that can't be written, wholly or from its middle on
    fault = Fault(at=FaultPoint.MID_RECORD, do=action, nth=nth)
    ended = holdfast.crawl(server.start, fault=fault).ended()

    # then the ledger, for which there is room, says that the disk was the reason
    stopped_for_want_of_room(ended)
    assert (ended.json["status"], ended.json["reason"]) == ("paused", "disk")
    assert holdfast.crawl(server.start).ended().code == 0
    holdfast.kills = 1
    assert_promise(holdfast, server)


def test_below_the_floor_the_job_pauses_itself_before_anything_fails(holdfast, server):
    # given less room than the floor asks for
    ended = holdfast.crawl(server.start, HOLDFAST_MIN_FREE_MB="200").ended()

    # then it stops at its first commit, with what it has fetched committed
    assert ended.code == 3, ended
    assert (ended.json["status"], ended.json["reason"]) == ("paused", "disk")
    assert ended.json["pages"] == server.served
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server)
