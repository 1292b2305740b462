"""Several processes make rows as one would: in order, whole, or not at all."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kit.process import ROOT, until

from holdfast.domain.errors import StorageFailed
from holdfast.output import crew as crews
from holdfast.output.crew import crew, hands


def results(size, make, batches):
    with crew(size, make) as several:
        found = [result for batch in batches for result in several.give(batch)]
        while more := several.take():
            found += more
    return found


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 17])
def test_results_come_in_the_order_of_the_batches(count):
    # The first takes the longest.
    batches = [range(2_000_000 // (n + 1)) for n in range(count)]
    assert results(3, sum, batches) == [sum(batch) for batch in batches]


def test_batches_and_results_may_be_larger_than_any_pipe():
    batches = [str(n) * 3_000_000 for n in range(5)]
    assert results(2, str.lower, batches) == batches


def test_what_one_of_them_raises_is_raised_here():
    with pytest.raises(RuntimeError, match="JSONDecodeError"):
        results(2, json.loads, ["1", "nonsense", "2"])
    with pytest.raises(StorageFailed, match="no such segment"):
        results(2, exec, ["from holdfast.domain.errors import *; raise StorageFailed('no such segment')"])


@pytest.mark.parametrize("batches", [["1"], ["1"] * 5])
def test_one_that_dies_is_told(batches):
    with pytest.raises(StorageFailed, match="export again"):
        results(2, exec, [f"import os; os.kill(os.getpid(), {signal.SIGKILL})", *batches])


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_nobody_stays_behind_when_whoever_writes_is_killed():
    program = """
import sys
from holdfast.output.crew import crew
with crew(2, str) as several:
    print(*(worker._process.pid for worker in several._free), flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        text=True,
    ) as writer:
        pids = writer.stdout.readline().split()
        assert all(map(alive, pids))
        writer.kill()
        writer.wait()
    until(lambda: not any(map(alive, pids)), "nobody is left")


def test_few_rows_are_made_by_one(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert (hands(0), hands(crews.WORTH_IT - 1), hands(crews.WORTH_IT)) == (0, 0, 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert hands(10**9) == 0
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(100)), raising=False)
    assert hands(10**9) == crews.MOST
