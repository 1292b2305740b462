"""Several processes in one home: one works on a job, the others are told; different jobs don't disturb each other."""

import pytest
from tests.kit.process import assert_promise, assert_rows, exported, until

pytestmark = pytest.mark.failure


@pytest.mark.parametrize("count", [2, 8])
def test_the_same_command_at_the_same_moment(holdfast, server, count):
    # given one command, started many times at once in a home that isn't there yet
    server.delay_s = 0.05
    running = [holdfast.crawl(server.start) for _ in range(count)]
    until(lambda: sum(one.alive for one in running) == 1, "one was left")
    server.delay_s = 0.0
    ended = [one.ended() for one in running]

    # then one worked, and the others name it
    (worked,) = [one for one in ended if one.code == 0]
    (pid,) = [process.pid for process, one in zip(running, ended, strict=True) if one is worked]
    for refused in ended:
        if refused is not worked:
            assert refused.code == 2, refused
            assert f"process {pid} " in refused.sentence, refused
    assert len(holdfast.run("ls", "--json").out.splitlines()) == 1
    assert_promise(holdfast, server)


def test_those_who_wait_find_the_job_done(holdfast, server):
    # given four who are willing to wait for each other
    server.delay_s = 0.01
    running = [holdfast.crawl(server.start, "--wait") for _ in range(4)]
    ended = [one.ended() for one in running]

    # then it was crawled once, and everybody has its answer
    assert [one.code for one in ended] == [0, 0, 0, 0], ended
    assert len({one.json["job"] for one in ended}) == 1
    assert_promise(holdfast, server)


def test_a_killed_worker_is_succeeded_by_exactly_one_of_those_who_wait(holdfast, server):
    # given a worker and three who wait
    server.delay_s = 0.03
    worker = holdfast.crawl(server.start)
    until(lambda: holdfast.commits() >= 3, "three commits", running=worker)
    waiting = [holdfast.crawl(server.start, "--wait") for _ in range(3)]

    # kill the worker
    holdfast.kill(worker)

    # then the others finish its work
    assert [one.ended().code for one in waiting] == [0, 0, 0]
    assert_promise(holdfast, server)


def test_different_jobs_in_one_home(holdfast, server):
    # given four jobs at once in one home, one of which is killed amid its work
    server.delay_s = 0.02
    names = ["a", "b", "c", "d"]
    running = {name: holdfast.crawl(server.start, "--name", name) for name in names}
    until(lambda: holdfast.commits() >= 30, "thirty commits in all")
    holdfast.kill(running["b"])

    # then the other three complete, and so does the fourth when it is asked to again
    server.delay_s = 0.0
    for name in ("a", "c", "d"):
        ended = running[name].ended()
        assert ended.code == 0, ended
    assert holdfast.crawl(server.start, "--name", "b").ended().code == 0
    for name in names:
        assert_rows(exported(holdfast, name), server.urls)
        verified = holdfast.run("verify", name)
        assert verified.code == 0, verified
