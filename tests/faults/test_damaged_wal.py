"""A ledger that lost its last transactions carries on from an earlier commit; bytes beyond that are not read."""

import signal

import pytest
from tests.kit.process import Fault, assert_promise, until

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure


def cut(wal, share):
    with wal.open("r+b") as file:
        file.truncate(int(wal.stat().st_size * share))


def zeroed(wal, share):
    data = wal.read_bytes()
    kept = int(len(data) * share)
    wal.write_bytes(data[:kept] + bytes(len(data) - kept))


def garbled(wal, share):
    data = wal.read_bytes()
    kept = int(len(data) * share)
    wal.write_bytes(data[:kept] + bytes(byte ^ 0x5A for byte in data[kept:]))


def paused_and_killed(holdfast, server):
    """A ledger with a first half that is folded into its file, and a second that stands in the WAL."""
    server.delay_s = 0.02
    running = holdfast.crawl(server.start)
    until(lambda: holdfast.commits() >= 6, "six commits", running=running)
    running.send(signal.SIGINT)
    assert running.ended().code == 3
    server.delay_s = 0.0
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=15))
    return holdfast.ledger.with_name("holdfast.db-wal")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("damage", [cut, zeroed, garbled], ids=lambda damage: damage.__name__)
def test_the_tail_of_the_wal_is_gone(holdfast, server, damage, share):
    # given a killed crawl whose WAL lost its end, and -shm with it
    wal = paused_and_killed(holdfast, server)
    damage(wal, share)
    if share != 0.3:
        holdfast.ledger.with_name("holdfast.db-shm").unlink()
    files = {path: path.read_bytes() for path in holdfast.segments()}

    # then the same command carries on from an earlier commit
    ended = holdfast.crawl(server.start).ended()
    assert ended.code == 0, ended

    # and what was written for commits that are gone stays as it is, unread
    assert {path: path.read_bytes() for path in files} == files
    assert_promise(holdfast, server, again=len(server.site.answers))


def test_the_whole_ledger_is_gone(holdfast, server):
    # given a killed crawl whose ledger had never been folded into its file
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=15))
    for path in holdfast.home.glob("holdfast.db*"):
        path.unlink()

    # then the same command begins anew, and doesn't trip over the files that are left
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server, again=len(server.site.answers))
