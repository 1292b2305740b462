"""`crawl -o FILE.jsonl` writes rows while it runs: each page once, whatever kills it and wherever."""

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.kit.process import Fault, Holdfast, assert_promise, assert_rows, until
from tests.kit.server import generated, serving

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

SEED = int(os.environ.get("FAULTS_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
STEPS = [
    Fault(at=point, do=action, nth=nth)
    for point, action in (
        (FaultPoint.AFTER_SEGMENT, "kill"),
        (FaultPoint.IN_TRANSACTION, "kill"),
        (FaultPoint.AFTER_COMMIT, "kill"),
        (FaultPoint.MID_ROWS, "kill"),
        (FaultPoint.MID_ROWS, "half"),
        (FaultPoint.AFTER_ROWS, "kill"),
    )
    for nth in (1, 7)
]
STEPS += [
    Fault(at=point, do=action, nth=2, helped=True)
    for point, action in (
        (FaultPoint.MID_ROWS, "kill"),
        (FaultPoint.MID_ROWS, "half"),
        (FaultPoint.AFTER_ROWS, "kill"),
    )
]
STEPS.append(Fault(at=FaultPoint.IN_TRANSACTION, nth=20, helped=True))


def rows_in(path):
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def assert_noted(holdfast, path):
    """Up to the noted length the file is whole lines, with as many rows as are noted, and none of them twice."""
    found = holdfast.read("SELECT bytes, rows FROM streams")
    if not found:
        return 0
    ((length, count),) = found
    data = path.read_bytes()[:length]
    assert len(data) == length
    assert not data or data.endswith(b"\n")
    urls = Counter(json.loads(line)["url"] for line in data.splitlines())
    assert urls.total() == len(urls) == count
    return count


def assert_whole(holdfast, server, path):
    """The file that grew has each page once, byte by byte what an export of the finished job has."""
    assert_rows(rows_in(path), server.urls)
    other = path.with_name("exported.jsonl")
    assert holdfast.run("export", "-o", other).code == 0
    assert sorted(path.read_bytes().splitlines()) == sorted(other.read_bytes().splitlines())
    assert not [one for one in path.parent.iterdir() if one.name.endswith(".part")]


@pytest.fixture
def target(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder / "pages.jsonl"


def test_a_reader_sees_rows_within_a_checkpoint(holdfast, server, target):
    # given a crawl that is slow enough to be looked at
    server.delay_s = 0.05
    running = holdfast.crawl(server.start, "-o", str(target), "-n", "200")
    until(lambda: target.exists() and len(target.read_bytes().splitlines()) >= 50, "50 rows", running=running)

    # then the rows are not far behind what the ledger has, and none is more than it has
    lines = target.read_bytes().count(b"\n")
    ((done,),) = holdfast.read("SELECT done FROM chunks")
    assert lines <= done
    until(lambda: target.read_bytes().count(b"\n") >= done, f"{done} rows", running=running)
    server.delay_s = 0.0
    assert running.ended().code == 0
    assert len(rows_in(target)) == 200


@pytest.mark.parametrize("fault", STEPS, ids=lambda fault: "-".join(fault.arguments).replace(" ", "-"))
def test_a_kill_at_a_step_leaves_no_row_twice_and_none_out(holdfast, server, target, fault):
    # given a crawl with rows, killed at the step
    server.delay_s = 0.01 * fault.helped
    command = (server.start, "-o", str(target))
    holdfast.crawl_and_die(*command, fault=fault)
    server.delay_s = 0.0
    assert_noted(holdfast, target)

    # then the same command carries on with the same file
    ended = holdfast.crawl(*command).ended()
    assert (ended.code, ended.err) == (0, "")
    assert_whole(holdfast, server, target)
    assert_promise(holdfast, server)


@pytest.mark.parametrize("helped", [False, True])
def test_kills_at_random_times(tmp_path, target, helped):
    print(f"FAULTS_SEED={SEED} repeats this")
    rng = random.Random(SEED)
    with (
        serving(generated(1_500, seed=SEED), tmp_path / "log") as server,
        Holdfast(tmp_path / "h") as holdfast,
    ):
        server.delay_s = 0.03
        command = (server.start, "-o", str(target))
        for _ in range(10):
            goal = server.served + rng.randrange(30, 120)
            running = holdfast.crawl(*command, fault=Fault(helped=True) if helped else None)
            until(lambda goal=goal: server.served >= goal, f"{goal} requests", running=running)
            time.sleep(rng.uniform(0.0, 0.02))
            holdfast.kill(running)
            assert_noted(holdfast, target)
        server.delay_s = 0.0
        ended = holdfast.crawl(*command).ended()
        assert (ended.code, ended.err) == (0, "")
        assert_whole(holdfast, server, target)


def test_a_pause_leaves_the_rows_of_all_that_is_committed_and_a_resume_goes_on(holdfast, server, target):
    server.delay_s = 0.03
    running = holdfast.crawl(server.start, "-o", str(target))
    until(lambda: target.exists() and target.stat().st_size > 10_000, "some rows", running=running)
    running.send(signal.SIGINT)
    assert running.ended().code == 3
    paused = target.read_bytes()
    ((done,),) = holdfast.read("SELECT done FROM chunks")
    assert len(rows_in(target)) == done == assert_noted(holdfast, target)

    # then what goes on appends to that very file
    server.delay_s = 0.0
    ended = holdfast.run("resume", "-o", target)
    assert ended.code == 0
    assert target.read_bytes().startswith(paused)
    assert_whole(holdfast, server, target)


@pytest.mark.parametrize("harm", ["shorter", "other", "gone"])
def test_a_file_that_isnt_what_was_written_is_named_and_written_anew(holdfast, server, target, harm):
    # given a crawl that was killed, and somebody who did something to its file
    command = (server.start, "-o", str(target))
    holdfast.crawl_and_die(*command, fault=Fault(at=FaultPoint.AFTER_ROWS, nth=9))
    data = target.read_bytes()
    match harm:
        case "shorter":
            target.write_bytes(data[: len(data) // 2])
        case "other":
            target.write_bytes(data.replace(b"Page", b"PAGE"))
        case "gone":
            target.unlink()

    # then it is said, and the file is whole in the end
    ended = holdfast.crawl(*command).ended()
    assert ended.code == 0
    expected = {"shorter": "is shorter than", "other": "doesn't hold", "gone": "is gone"}[harm]
    assert expected in ended.err
    assert_whole(holdfast, server, target)


def test_a_file_that_is_moved_away_meanwhile_is_written_whole_at_the_end(holdfast, server, target):
    server.delay_s = 0.03
    running = holdfast.crawl(server.start, "-o", str(target))
    until(lambda: target.exists() and target.stat().st_size > 10_000, "some rows", running=running)
    target.rename(target.with_name("rotated"))
    server.delay_s = 0.0
    ended = running.ended()
    assert ended.code == 0
    assert "was moved or replaced" in ended.err
    assert_whole(holdfast, server, target)


def test_rows_that_a_repair_took_back_do_not_stay(holdfast, server, target):
    # given a crawl that died and lost the end of its segment, of which rows stand in the file
    command = (server.start, "-o", str(target))
    holdfast.crawl_and_die(*command, fault=Fault(at=FaultPoint.AFTER_ROWS, nth=15))
    (segment,) = holdfast.segments()
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size // 2)
    # ... and whose pages have changed since
    server.misbehaving["/copies/1.html"] = lambda _path: server.site.answers["/p/2.html"]

    # then the file has what the ledger has, each page once
    ended = holdfast.crawl(*command).ended()
    assert ended.code == 0
    assert_whole(holdfast, server, target)


def test_a_worker_that_wakes_up_late_writes_no_row(holdfast, server, target):
    # given a worker that is stopped between its commit and the rows of it
    stopped = holdfast.crawl(
        server.start, "-o", str(target), fault=Fault(at=FaultPoint.MID_ROWS, do="stop", nth=8)
    )
    until(lambda: stopped.stopped, "it stopped", running=stopped)

    # and another one that took its place, and has to leave the file to it
    ended = holdfast.crawl(server.start, "--wait", "-o", str(target)).ended()
    assert ended.code == 0
    assert "is still being written by another process" in ended.err
    whole = target.read_bytes()

    # when the first one wakes up, then nothing of it reaches the file
    stopped.send(signal.SIGCONT)
    assert stopped.ended().code != 0
    assert target.read_bytes() == whole
    assert_whole(holdfast, server, target)


def test_no_room_for_the_rows_costs_the_crawl_nothing(holdfast, server, target):
    # given a disk of the file that is full for a moment
    ended = holdfast.crawl(
        server.start, "-o", str(target), fault=Fault(at=FaultPoint.MID_ROWS, do="half_full", nth=6)
    ).ended()

    # then it is said, the crawl comes to its end, and the file is whole
    assert ended.code == 0
    assert "can't be written" in ended.err
    assert_whole(holdfast, server, target)


def test_two_files_of_one_job_are_two(holdfast, server, target):
    other = target.with_name("other.jsonl")
    holdfast.crawl_and_die(server.start, "-o", str(target), fault=Fault(at=FaultPoint.AFTER_ROWS, nth=5))
    holdfast.crawl_and_die(server.start, "-o", str(other), fault=Fault(at=FaultPoint.AFTER_ROWS, nth=5))
    ended = holdfast.crawl(server.start, "-o", str(target)).ended()
    assert (ended.code, ended.err) == (0, "")
    assert_whole(holdfast, server, target)
    assert holdfast.crawl(server.start, "-o", str(other)).ended().code == 0
    assert_whole(holdfast, server, other)


def helpers(running):
    """Processes that a crawl has started."""
    tasks = Path(f"/proc/{running.pid}/task").glob("*/children")
    return [child for task in tasks for child in task.read_text(encoding="ascii").split()]


def test_whoever_makes_the_rows_may_die(holdfast, server, target):
    # given a crawl whose rows are made by another process
    server.delay_s = 0.03
    running = holdfast.crawl(server.start, "-o", str(target), fault=Fault(helped=True))
    until(lambda: target.exists() and target.stat().st_size > 10_000, "some rows", running=running)
    (helper,) = helpers(running)

    # when that one is killed, then the crawl makes them itself again
    os.kill(int(helper), signal.SIGKILL)
    server.delay_s = 0.0
    ended = running.ended()
    assert (ended.code, ended.err) == (0, "")
    assert_whole(holdfast, server, target)


def test_whoever_makes_the_rows_goes_with_the_crawl(holdfast, server, target):
    server.delay_s = 0.03
    running = holdfast.crawl(server.start, "-o", str(target), fault=Fault(helped=True))
    until(lambda: target.exists() and target.stat().st_size > 10_000, "some rows", running=running)
    (helper,) = helpers(running)
    holdfast.kill(running)
    until(lambda: b"crew" not in command_line(helper), "it ended, too")


def command_line(pid):
    """What runs there; nothing if nothing does."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
