"""A worker that lost its lease can't write any more, however late it wakes up."""

import signal

import pytest
from tests.kit.process import Fault, assert_promise, until

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure


@pytest.mark.parametrize(
    ("point", "nth"),
    [
        (FaultPoint.AFTER_CLAIM, 1),
        (FaultPoint.HANDLING, 60),
        (FaultPoint.BEFORE_SEGMENT, 8),
        (FaultPoint.AFTER_SEGMENT, 1),
        (FaultPoint.AFTER_SEGMENT, 8),
        (FaultPoint.AFTER_COMMIT, 8),
    ],
    ids=str,
)
def test_a_stopped_worker_wakes_up_after_its_successor_is_done(holdfast, server, point, nth):
    # given a worker that is stopped amid its work
    zombie = holdfast.crawl(server.start, fault=Fault(at=point, do="stop", nth=nth))
    until(lambda: zombie.stopped, "the worker stopped", running=zombie)

    # when another one waits for its lease to run out, takes over and finishes
    successor = holdfast.crawl(server.start, "--wait").ended()
    assert successor.code == 0, successor
    before, stored = holdfast.everything(), holdfast.committed_bytes()
    requests = server.served

    # then the first one, woken, says that its lease is lost, and has written nothing
    zombie.send(signal.SIGCONT)
    ended = zombie.ended()
    assert ended.code == 1, ended
    assert "the lease is lost" in ended.sentence
    assert holdfast.everything() == before
    assert holdfast.committed_bytes() == stored
    holdfast.kills = 1
    assert_promise(holdfast, server, again=server.served - requests)


def test_a_stopped_worker_wakes_up_while_its_successor_works(holdfast, server):
    # given a worker that is stopped between segment and transaction, and a successor at work
    zombie = holdfast.crawl(server.start, fault=Fault(at=FaultPoint.AFTER_SEGMENT, do="stop", nth=8))
    until(lambda: zombie.stopped, "the worker stopped", running=zombie)
    at_stop = holdfast.commits()
    server.delay_s = 0.05
    successor = holdfast.crawl(server.start, "--wait")
    until(lambda: holdfast.commits() > at_stop + 3, "the successor committed")

    # when the first wakes up
    zombie.send(signal.SIGCONT)
    ended = zombie.ended()

    # then it stops, and the successor never notices
    assert ended.code == 1, ended
    assert "the lease is lost" in ended.sentence
    assert successor.alive
    server.delay_s = 0.0
    assert successor.ended().code == 0
    holdfast.kills = 1
    assert_promise(holdfast, server)


def test_a_runner_that_hangs_in_c_code_is_ended_by_its_own_keeper(holdfast, server):
    # given a page that never comes back to Python, while the process renews its lease
    impatient = {"HOLDFAST_STALL_S": "1.5", "HOLDFAST_STALE_S": "60"}
    hangs = Fault(at=FaultPoint.HANDLING, do="hang", nth=60)
    ended = holdfast.crawl(server.start, fault=hangs, **impatient).ended()

    # then the process ends with one sentence, its job taken back, and the same command finishes it
    assert ended.code == 1, ended
    assert "the runner is stuck" in ended.sentence
    assert holdfast.show()["status"] == "pending"
    assert holdfast.crawl(server.start).ended().code == 0
    holdfast.kills = 1
    assert_promise(holdfast, server)
