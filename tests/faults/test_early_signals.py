"""Ctrl-C before the crawl has begun: no claim is left behind, and no page is suspected of a crash."""

import signal
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from tests.kit.process import assert_promise, until

pytestmark = pytest.mark.failure


@contextmanager
def held_up(holdfast):
    """Nobody else can write into the ledger meanwhile."""
    db = apsw.Connection(str(holdfast.ledger))
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")
    finally:
        db.close()


def opens_the_ledger(running, holdfast):
    links = list(Path(f"/proc/{running.pid}/fd").iterdir())
    return any(link.exists() and link.readlink() == holdfast.ledger for link in links)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [["crawl", "{start}", "--fresh"], ["resume"]], ids=["crawl", "resume"])
def test_a_signal_before_the_claim_leaves_nothing_in_progress(holdfast, server, number, words):
    # given a paused job, and a command that can't write yet
    server.delay_s = 0.03
    running = holdfast.crawl(server.start)
    until(lambda: holdfast.commits() >= 3, "three commits", running=running)
    running.send(signal.SIGINT)
    assert running.ended().code == 3
    served = server.served
    with held_up(holdfast):
        running = holdfast.start(*(word.format(start=server.start) for word in words))
        until(lambda: opens_the_ledger(running, holdfast), "it is at the ledger", running=running)
        running.send(number)

    # then it ends without a claim, or in order
    ended = running.ended()
    assert ended.code in {3, -number}, ended
    assert holdfast.read("SELECT count(*) FROM jobs WHERE status = 'in_progress'") == [(0,)]
    assert holdfast.read("SELECT max(claims_since_progress) FROM chunks") == [(0,)]
    assert server.served <= served + 1 + 16

    # and the same command goes on
    server.delay_s = 0.0
    assert holdfast.crawl(server.start).ended().code == 0
    assert holdfast.read("SELECT count(*) FROM commits WHERE reason = 'caution'") == [(0,)]
    if "resume" in words:
        assert_promise(holdfast, server, again=server.served)
