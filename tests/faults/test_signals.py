"""What the terminal and the machine send: drained and committed, or at once; either way nothing is lost."""

import signal

import pytest
from tests.kit.process import assert_promise, until

pytestmark = pytest.mark.failure


def hanging(holdfast, server):
    """A crawl with three commits and requests in flight that won't be answered for a while."""
    server.delay_s = 0.03
    running = holdfast.crawl(server.start, HOLDFAST_DRAIN_S="30")
    until(lambda: holdfast.commits() >= 3, "three commits", running=running)
    server.delay_s = 20.0
    served = server.served
    until(lambda: server.served >= served + 10, "ten requests hang", running=running)
    return running


@pytest.mark.parametrize(
    ("number", "status", "reason"),
    [
        (signal.SIGINT, "paused", "user"),
        (signal.SIGTERM, "pending", "shutdown"),
        (signal.SIGHUP, "pending", "shutdown"),
    ],
)
def test_a_signal_drains_commits_and_says_how_to_go_on(holdfast, server, number, status, reason):
    server.delay_s = 0.03
    running = holdfast.crawl(server.start)
    until(lambda: holdfast.commits() >= 3, "three commits", running=running)
    running.send(number)
    ended = running.ended()
    assert (ended.code, ended.json["status"], ended.json["reason"]) == (3, status, reason)
    assert ended.json["pages"] > 0
    server.delay_s = 0.0
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_kill_amid_the_drain(holdfast, server, number):
    running = hanging(holdfast, server)
    running.send(number)
    holdfast.kill(running)
    server.delay_s = 0.0
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server)


def test_a_second_interrupt_stops_at_once(holdfast, server):
    # given a crawl that drains for a first Ctrl-C
    running = hanging(holdfast, server)
    running.send(signal.SIGINT)
    committed = holdfast.commits()

    # when there is a second one
    until(lambda: not running.alive or running.send(signal.SIGINT), "it ended", patience_s=3)
    ended = running.ended()

    # then it has stopped, with a sentence, and has lost nothing that was committed
    assert ended.code == 3, ended
    assert "what was committed is safe" in ended.sentence
    assert holdfast.commits() >= committed
    server.delay_s = 0.0
    assert holdfast.crawl(server.start).ended().code == 0
    holdfast.kills = 1
    assert_promise(holdfast, server)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_what_nohup_and_scripts_have_it_ignore_stays_ignored(holdfast, server, number):
    # given a crawl that was started with the signal ignored, as by nohup or behind a script's `&`
    before = signal.signal(number, signal.SIG_IGN)
    try:
        running = holdfast.crawl(server.start)
    finally:
        signal.signal(number, before)
    until(lambda: holdfast.commits() >= 3, "three commits", running=running)

    # when the terminal goes away
    running.send(number)

    # then it crawls on to its end
    assert running.ended().code == 0
    assert_promise(holdfast, server)
