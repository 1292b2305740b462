"""Real holdfast processes: started, watched, killed, and judged by what they leave behind.

Nothing here sleeps for a fixed time: `until` looks again and again, and fails by itself.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import apsw
import pytest
from tests.kit.server import SiteServer

ROOT: Final = Path(__file__).resolve().parents[2]
CHECKPOINT_ITEMS: Final = 10
CONCURRENCY: Final = 16
PER_KILL: Final = CHECKPOINT_ITEMS + CONCURRENCY
"""What one kill may cost: a checkpoint and what was in flight."""
PATIENCE_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.004

IMPATIENT: Final = {
    "HOLDFAST_RENEW_S": "0.2",
    "HOLDFAST_EXPIRE_S": "1.2",
    "HOLDFAST_SWEEP_S": "0.2",
    "HOLDFAST_POLL_S": "0.05",
    "HOLDFAST_DRAIN_S": "1",
    "HOLDFAST_RETRY_BASE_S": "0.1",
    "HOLDFAST_RETRY_CAP_S": "0.5",
    "HOLDFAST_MIN_FREE_MB": "1",
}
"""Every interval that a test would otherwise wait for."""


def until(
    condition: Callable[[], object],
    what: str,
    *,
    running: "Running | None" = None,
    patience_s: float = PATIENCE_S,
) -> None:
    """Look until the condition holds; fail with what was waited for, at once if the process ended before."""
    give_up = time.monotonic() + patience_s
    while not condition():
        if running is not None and not running.alive and not condition():
            pytest.fail(f"it ended before {what}: {running.ended()}")
        if time.monotonic() > give_up:
            pytest.fail(f"waited {patience_s:g} s in vain until {what}")
        time.sleep(_LOOK_EVERY_S)


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, where and when; see tests.kit.faulty."""

    at: str | None = None
    do: str = "kill"
    nth: int = 1
    url: str | None = None
    break_fsync: int | None = None
    clock: Path | None = None
    helped: bool = False
    """Rows are made by another process from the first commit on."""
    slice: int | None = None
    """So few rows at a time in a change of many."""

    @property
    def arguments(self) -> list[str]:
        """As the driver reads it."""
        words = ["--do", self.do, "--nth", str(self.nth)]
        for name in ("at", "url", "break_fsync", "clock", "slice"):
            value = getattr(self, name)
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        if self.helped:
            words.append("--helped")
        return words


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. `code` is negative for a signal."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on stdout."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def sentence(self) -> str:
        """The last line on stderr, which has to be all that a person needs."""
        assert "Traceback" not in self.err, self.err
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""


class Running:
    """A process that is at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def send(self, number: int) -> None:
        """A signal."""
        self._process.send_signal(number)

    def kill(self) -> Ended:
        """kill -9, and wait for the end."""
        self.send(signal.SIGKILL)
        return self.ended()

    def ended(self, patience_s: float = PATIENCE_S) -> Ended:
        """Wait for the end. A process that doesn't come to one is killed, and the test fails."""
        try:
            out, err = self._process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            out, err = self._process.communicate()
            pytest.fail(f"still at work after {patience_s:g} s; stderr was:\n{err}")
        return Ended(self._process.returncode, out, err)

    def stop_reading(self) -> None:
        """What it says on stderr goes nowhere from here on: the pipe is broken."""
        assert self._process.stderr is not None
        self._process.stderr.close()

    @property
    def alive(self) -> bool:
        """Not ended (it may be stopped)."""
        return self._process.poll() is None

    @property
    def stopped(self) -> bool:
        """As by SIGSTOP."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return False
        return stat.rpartition(")")[2].split()[0] in {"T", "t"}

    def discard(self) -> None:
        """At the end of a test: nothing outlives it."""
        if self.alive:
            self._process.kill()
        self._process.communicate()


@dataclass
class Holdfast:
    """The command, in one home."""

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    kills: int = 0
    stderr: int = subprocess.PIPE
    """Where it says what it says."""
    _started: list[Running] = field(default_factory=list)

    def start(self, *words: str | Path, fault: Fault | None = None, **environment: str) -> Running:
        """`holdfast WORDS`, with a fault armed if one is given."""
        module = ["-m", "holdfast"] if fault is None else ["-m", "tests.kit.faulty", *fault.arguments, "--"]
        process = subprocess.Popen(
            [sys.executable, *module, "--home", str(self.home), *map(str, words)],
            env=self._environment(environment),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            text=True,
        )
        running = Running(process)
        self._started.append(running)
        return running

    def run(self, *words: str | Path, fault: Fault | None = None, **environment: str) -> Ended:
        """The same, to its end."""
        return self.start(*words, fault=fault, **environment).ended()

    def crawl(self, url: str, *words: str, fault: Fault | None = None, **environment: str) -> Running:
        """The command that is repeated until it is done."""
        return self.start("crawl", url, "--json", "--quiet", *words, fault=fault, **environment)

    def crawl_and_die(self, url: str, *words: str, fault: Fault, **environment: str) -> Ended:
        """Crawl until the fault kills the process; it fails the test if it doesn't come to that."""
        ended = self.crawl(url, *words, fault=fault, **environment).ended()
        assert ended.code == -signal.SIGKILL, f"the fault never happened: {ended}"
        self.kills += 1
        return ended

    def kill(self, running: Running) -> Ended:
        """kill -9, counted."""
        self.kills += 1
        return running.kill()

    def show(self) -> Any:
        """`holdfast show --json`."""
        ended = self.run("show", "--json")
        assert ended.code == 0, ended
        return ended.json

    def close(self) -> None:
        """Nothing that was started outlives the test."""
        for running in self._started:
            running.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HOLDFAST_")}
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), plain.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        return {**plain, "PYTHONPATH": path, **IMPATIENT, **self.environment, **more}

    # -- what it leaves behind

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.home / "holdfast.db"

    def read(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the ledger, by a connection that can't write. None where there is no ledger yet."""
        try:
            db = apsw.Connection(str(self.ledger), flags=apsw.SQLITE_OPEN_READONLY)
        except apsw.CantOpenError:
            return []
        try:
            db.set_busy_timeout(10_000)
            return db.execute(sql).fetchall()
        except apsw.SQLError:
            return []  # the schema is not there yet
        finally:
            db.close()

    def commits(self) -> int:
        """How many commits the job has."""
        return sum(row[0] for row in self.read("SELECT commit_no FROM jobs"))

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables: for saying that nothing was written."""
        tables = [name for (name,) in self.read("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: self.read(f"SELECT * FROM {name} ORDER BY 1, 2") for name in tables}

    def segments(self) -> list[Path]:
        """The segments' files, the oldest claim first."""
        found = (self.home / "segments").glob("*/*.warc.gz")
        return sorted(found, key=lambda path: [int(part[1:] or 0) for part in _numbers(path)])

    def committed_bytes(self) -> dict[str, bytes]:
        """Of each segment, what the ledger says is in it."""
        rows = self.read(
            "SELECT j.public_id, s.name, s.committed FROM segments AS s JOIN jobs AS j ON j.id = s.job_id"
        )
        return {
            name: (self.home / "segments" / job / name).read_bytes()[:length] for job, name, length in rows
        }


def _numbers(path: Path) -> list[str]:
    chunk, epoch, number = path.name.split(".")[0].split("-")
    return [chunk, epoch, f"n{number}"]


def exported(holdfast: Holdfast, job: str | None = None) -> list[dict[str, Any]]:
    """The page rows, as `holdfast export` writes them."""
    target = holdfast.home.parent / f"{holdfast.home.name}-{job or 'latest'}.jsonl"
    ended = holdfast.run("export", *([job] if job else []), "-o", target, "--quiet")
    assert ended.code == 0, ended
    with target.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def assert_rows(rows: Sequence[Mapping[str, Any]], urls: Iterable[str]) -> None:
    """Each URL is there, once; nothing else is."""
    counted = Counter(row["url"] for row in rows)
    expected = set(urls)
    assert set(counted) == expected, (
        f"missing {expected - set(counted)}, unexpected {set(counted) - expected}"
    )
    assert max(counted.values()) == 1, [url for url, count in counted.items() if count > 1]


def assert_promise(
    holdfast: Holdfast, server: SiteServer, *, without: Iterable[str] = (), again: int = 0
) -> None:
    """The whole promise: completed, every URL in the export exactly once, verified, few fetched again.

    `without` names URLs that are not to be there, `again` allows for requests beyond what the kills may cost.
    """
    stands = holdfast.read("SELECT j.status, c.queued FROM jobs AS j JOIN chunks AS c ON c.job_id = j.id")
    assert stands == [("completed", 0)]
    assert_rows(exported(holdfast), server.urls - set(without))
    verified = holdfast.run("verify")
    assert verified.code == 0, verified
    allowed = holdfast.kills * PER_KILL + again
    assert server.fetched_again() <= allowed, f"{server.fetched_again()} fetched again, {allowed} allowed"
