"""Every way to stop a crawl, and that it goes on as if nothing had been."""

import json
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.kit.process import PER_KILL, assert_promise, until

SLOW = ("--delay", "0.02", "--per-host", "4")
HEARD_S = 5.0
"""A wish is heard within a second; a busy machine gets more."""


@pytest.fixture
def crawling(holdfast, server):
    """A crawl in the middle of its work, slow enough to stay there."""

    def start(*words, **environment):
        server.delay_s = 0.02
        running = holdfast.start("crawl", server.start, "--json", *SLOW, *words, **environment)
        until(lambda: holdfast.commits() > 2, "the crawl is on its way")
        return running

    return start


def _has_open(pid, path):
    with suppress(OSError):
        return any(entry.readlink() == path for entry in Path(f"/proc/{pid}/fd").iterdir())
    return False


def test_ctrl_c_pauses_and_the_same_command_goes_on(holdfast, server, crawling):
    running = crawling()
    running.send(signal.SIGINT)
    paused = running.ended()
    assert paused.code == 3, paused
    assert (paused.json["status"], paused.json["reason"]) == ("paused", "user")
    assert 0 < paused.json["pages"] < len(server.urls)
    resume = f"holdfast resume {paused.json['job'][-8:]} --home {holdfast.home}"
    assert paused.sentence == f"holdfast: Resume with: {resume}"
    again = holdfast.run("crawl", server.start, "--json")
    assert again.code == 0, again
    assert "resuming job" in again.err
    assert again.json["pages"] == len(server.urls)
    assert_promise(holdfast, server)


def test_a_second_ctrl_c_stops_at_once_and_loses_nothing_committed(holdfast, server, crawling):
    running = crawling(HOLDFAST_DRAIN_S="60")
    server.delay_s = 30.0
    before = holdfast.read("SELECT count(*) FROM items WHERE status = 'done'")
    running.send(signal.SIGINT)
    time.sleep(0.3)
    running.send(signal.SIGINT)
    asked = time.monotonic()
    stopped = running.ended()
    assert stopped.code == 3
    assert time.monotonic() - asked < HEARD_S
    assert holdfast.read("SELECT count(*) FROM items WHERE status = 'done'") >= before
    server.delay_s = 0.0
    holdfast.kills = 1
    assert holdfast.run("crawl", server.start).code == 0
    assert_promise(holdfast, server)


def test_an_impatient_third_ctrl_c_changes_nothing(holdfast, server, crawling):
    running = crawling()
    running.send(signal.SIGINT)
    until(lambda: holdfast.read("SELECT 1 FROM jobs WHERE status = 'paused'"), "it is paused")
    while running.alive:
        running.send(signal.SIGINT)
        time.sleep(0.002)
    ended = running.ended()
    assert ended.code == 3
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_shutdown_leaves_a_job_that_resumes_by_itself(holdfast, server, crawling, number):
    running = crawling()
    running.send(number)
    stopped = running.ended()
    assert stopped.code == 3
    assert (stopped.json["status"], stopped.json["reason"]) == ("pending", "shutdown")
    assert holdfast.run("resume", "--json").json["pages"] == len(server.urls)
    assert_promise(holdfast, server)


def test_pause_from_another_process(holdfast, server, crawling):
    running = crawling()
    asked = time.monotonic()
    said = holdfast.run("pause")
    assert said.code == 0, said
    assert time.monotonic() - asked < HEARD_S
    assert "is paused at checkpoint" in said.err
    paused = running.ended()
    assert (paused.code, paused.json["status"]) == (3, "paused")
    assert holdfast.run("pause").code == 2
    resumed = holdfast.run("resume", "--json")
    assert (resumed.code, resumed.json["pages"]) == (0, len(server.urls))
    assert_promise(holdfast, server)


def test_cancel_from_another_process(holdfast, server, crawling):
    running = crawling()
    asked = time.monotonic()
    said = holdfast.run("cancel")
    assert said.code == 0, said
    assert time.monotonic() - asked < HEARD_S
    cancelled = running.ended()
    assert (cancelled.code, cancelled.json["status"]) == (5, "cancelled")
    again = holdfast.run("crawl", server.start)
    assert again.code == 2
    assert "holdfast restart" in again.sentence
    assert holdfast.run("resume").code == 2
    restarted = holdfast.run("restart", "--json")
    assert (restarted.code, restarted.json["pages"]) == (0, len(server.urls))


def test_pause_and_cancel_of_a_dead_workers_job_take_hold_at_once(holdfast, server, crawling):
    holdfast.kill(crawling())
    assert holdfast.show()["status"] == "in_progress"
    assert "its worker died" in holdfast.run("ls").out
    assert holdfast.run("pause").code == 0
    shown = holdfast.show()
    assert shown["status"] == "paused"
    assert shown["paused_at"] == shown["events"][0]["at"]
    assert " paused, created " in holdfast.run("show").out
    assert holdfast.run("cancel").code == 0
    assert holdfast.show()["status"] == "cancelled"


def test_resume_takes_up_a_dead_workers_job(holdfast, server, crawling):
    holdfast.kill(crawling())
    server.delay_s = 0.0
    resumed = holdfast.run("resume", "--json")
    assert (resumed.code, resumed.json["pages"]) == (0, len(server.urls))
    assert server.fetched_again() <= PER_KILL
    assert_promise(holdfast, server)


def test_whatever_was_interrupted_goes_on_with_one_command(holdfast, server, crawling):
    # given jobs that were killed, shut down, paused and completed
    killed = crawling("--name", "killed")
    holdfast.kill(killed)
    released = holdfast.start("crawl", server.start, "--name", "released", *SLOW)
    until(lambda: holdfast.read("SELECT 1 FROM jobs WHERE name = 'released' AND commit_no > 2"), "it works")
    released.send(signal.SIGTERM)
    assert released.ended().code == 3
    paused = holdfast.start("crawl", server.start, "--name", "paused", *SLOW)
    until(lambda: holdfast.read("SELECT 1 FROM jobs WHERE name = 'paused' AND commit_no > 2"), "it works")
    paused.send(signal.SIGINT)
    assert paused.ended().code == 3
    server.delay_s = 0.0
    assert holdfast.run("crawl", server.start, "--name", "completed", "-n", "3").code == 0

    # when everything that was interrupted is to go on
    ended = holdfast.run("resume", "--interrupted", "--json")

    # then those two do, and what a person paused stays paused
    assert ended.code == 0, ended
    assert [json.loads(line)["name"] for line in ended.out.splitlines()] == ["killed", "released"]
    statuses = dict(holdfast.read("SELECT name, status FROM jobs"))
    assert statuses == {
        "killed": "completed", "released": "completed", "paused": "paused", "completed": "completed"
    }  # fmt: skip
    again = holdfast.run("resume", "--interrupted")
    assert (again.code, again.sentence) == (0, "holdfast: no job is interrupted.")


def test_a_shutdown_ends_all_that_was_to_go_on(holdfast, server):
    # given two jobs that were killed
    def commits(name):
        return sum(row[0] for row in holdfast.read(f"SELECT commit_no FROM jobs WHERE name = '{name}'"))

    server.delay_s = 0.05
    for name in ("one", "two"):
        running = holdfast.start("crawl", server.start, "--name", name, *SLOW)
        until(lambda name=name: commits(name) > 2, "it is on its way", running=running)
        holdfast.kill(running)
    before = {name: commits(name) for name in ("one", "two")}

    # when the machine goes down while the first one goes on
    running = holdfast.start("resume", "--interrupted")
    until(lambda: commits("one") > before["one"] + 2, "it goes on", running=running)
    running.send(signal.SIGTERM)

    # then the second one is not begun
    assert running.ended().code == 3
    assert commits("two") == before["two"]
    assert dict(holdfast.read("SELECT name, status FROM jobs"))["one"] == "pending"


def test_one_job_or_all_but_not_both(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "1")
    ended = holdfast.run("resume", "--interrupted", "--time-limit", "1m")
    assert ended.code == 2
    assert "--interrupted" in ended.sentence


def test_a_time_limit_counts_active_time_and_is_granted_again(holdfast, server):
    server.delay_s = 0.02
    words = ("crawl", server.start, "--json", *SLOW, "--time-limit", "0.5")
    first = holdfast.run(*words)
    assert (first.code, first.json["status"], first.json["reason"]) == (4, "timeout", "time limit")
    assert 0.4 < first.json["seconds"] < 3
    resumed = holdfast.run("resume", "--time-limit", "10m", "--json")
    assert (resumed.code, resumed.json["pages"]) == (0, len(server.urls))
    assert_promise(holdfast, server)


def test_a_time_limit_counts_the_time_before_a_kill_too(holdfast, server):
    """Though nothing was committed in it: all pages hang, and only the renewals know how long."""
    words = ("crawl", server.start, "--json", "--time-limit", "2")
    server.delay_s = 60.0
    for _ in range(2):
        running = holdfast.start(*words)
        until(
            lambda: holdfast.read("SELECT 1 FROM chunks WHERE since_commit_s > 0.5"),
            "it worked half a second",
        )
        holdfast.kill(running)
    ended = holdfast.run(*words)
    assert (ended.code, ended.json["status"]) == (4, "timeout")
    assert ended.json["seconds"] >= 2.0
    spent = sum(row[0] for row in holdfast.read("SELECT active_s FROM jobs"))
    assert spent >= 2.0


def test_a_job_that_somebody_works_on_is_refused_and_can_be_waited_for(holdfast, server, crawling):
    running = crawling()
    server.delay_s = 1.0
    refused = holdfast.run("crawl", server.start)
    assert refused.code == 2
    assert f"process {running.pid} on " in refused.sentence
    assert "--wait" in refused.sentence
    for words in (["resume"], ["restart"], ["rm", "--yes"], ["verify"]):
        other = holdfast.run(*words)
        assert other.code == 2, words
        assert "`holdfast pause " in other.sentence
        assert "--wait" not in other.err
    waiter = holdfast.start("crawl", server.start, *SLOW, "--wait", "--json")
    until(lambda: _has_open(waiter.pid, holdfast.ledger), "the second one is at the ledger")
    time.sleep(0.5)
    server.delay_s = 0.0
    waiting = waiter.ended()
    assert waiting.code == 0
    assert f"process {running.pid} on " in waiting.err
    assert waiting.json["pages"] == len(server.urls)
    assert running.ended().code == 0
    assert_promise(holdfast, server)


def test_watch_follows_and_ends_with_the_job(holdfast, server, crawling):
    running = crawling()
    watching = holdfast.start("watch")
    assert running.ended().code == 0
    watched = watching.ended()
    assert (watched.code, watched.out) == (0, "")
    assert "completed:" in watched.sentence


def test_watch_says_that_the_process_died_and_how_to_go_on(holdfast, server, crawling):
    running = crawling()
    watching = holdfast.start("watch")
    until(lambda: _has_open(watching.pid, holdfast.ledger), "it watches")
    holdfast.kill(running)
    watched = watching.ended()
    assert watched.code == 0
    assert "has died" in watched.err
    assert watched.sentence.startswith("holdfast: Resume with: holdfast resume ")


def test_an_output_is_written_at_a_pause_too_and_again_at_the_end(holdfast, server, crawling, tmp_path):
    output = tmp_path / "pages.jsonl"
    running = crawling("-o", str(output))
    running.send(signal.SIGINT)
    paused = running.ended()
    assert len(output.read_text().splitlines()) == paused.json["pages"]
    assert f"-o {output}" in paused.err
    assert holdfast.run("crawl", server.start, "-o", output).code == 0
    assert len(output.read_text().splitlines()) == len(server.urls)
