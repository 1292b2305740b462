"""Whoever looked has gone (a closed terminal, a dead pipe): the crawl goes on, and still hears who wants it to stop."""

import json
import os
import pty
import signal
import subprocess

import pytest
from tests.kit.process import assert_promise, until

pytestmark = pytest.mark.failure


def crawling(holdfast, server, *words):
    server.delay_s = 0.03
    running = holdfast.start("crawl", server.start, "--json", *words)
    until(lambda: holdfast.commits() >= 3, "three commits", running=running)
    return running


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, "paused"), (signal.SIGTERM, "pending"), (signal.SIGHUP, "pending")]
)
def test_a_crawl_whose_stderr_is_a_broken_pipe_still_ends_in_order(holdfast, server, number, status):
    running = crawling(holdfast, server)
    running.stop_reading()
    running.send(number)
    ended = running.ended()
    assert (ended.code, ended.json["status"]) == (3, status)
    server.delay_s = 0.0
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server)


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_a_crawl_whose_terminal_is_closed_still_ends_in_order(holdfast, server, terminal):
    # given a crawl that shows its progress on a terminal
    ours, theirs = pty.openpty()
    server.delay_s = 0.03
    holdfast.stderr = theirs
    running = holdfast.start("crawl", server.start, "--json", TERM=terminal)
    holdfast.stderr = subprocess.PIPE
    os.close(theirs)
    until(lambda: holdfast.commits() >= 3, "three commits", running=running)
    assert os.read(ours, 1)

    # when its window is closed, and the machine goes down after that
    os.close(ours)
    until(lambda: holdfast.commits() >= 6, "it goes on without", running=running)
    running.send(signal.SIGTERM)

    # then it commits, and gives the job back
    ended = running.ended()
    assert (ended.code, ended.json["status"]) == (3, "pending")
    server.delay_s = 0.0
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server)


def test_its_answer_and_its_output_come_all_the_same(holdfast, server, tmp_path):
    output = tmp_path / "pages.jsonl"
    running = crawling(holdfast, server, "-o", str(output))
    running.stop_reading()
    server.delay_s = 0.0
    ended = running.ended()
    assert (ended.code, ended.json["status"]) == (0, "completed")
    rows = [json.loads(line)["url"] for line in output.read_text(encoding="utf-8").splitlines()]
    assert sorted(rows) == sorted(server.urls)
