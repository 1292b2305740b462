"""Runs a command as a process group and measures it: wall clock, CPU, memory, exit code.

CPU time is that of the whole group, children that were killed or orphaned included: this process
adopts orphans (PR_SET_CHILD_SUBREAPER) and reads each one's usage as it reaps it. Peak memory is
that of the largest single process; the kernel counts what the parent held at the fork, so that
the smallest figure seen is that of this (small) process.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Usage:
    """What a command cost. A negative exit code is the signal that ended it."""

    wall_s: float
    cpu_s: float
    max_rss_mb: float
    exit_code: int


class Running:
    """A started command: wait for it, or kill it with all that it started."""

    def __init__(self, argv: Sequence[str], log: Path | None = None) -> None:
        """Start argv in a session of its own; what it prints goes to log, or nowhere."""
        _adopt_orphans()
        target = os.fspath(log or os.devnull)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, target, flags, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        program = shutil.which(argv[0]) or argv[0]
        self.started_at = time.time()
        self._started = time.perf_counter()
        self.pid = os.posix_spawn(program, list(argv), os.environ, file_actions=actions, setsid=True)
        self._pidfd = os.pidfd_open(self.pid)
        self._usage: Usage | None = None

    def ended(self, within_s: float = 0) -> bool:
        """Whether the command ended, waiting for that at most so long."""
        return self._usage is not None or bool(select.select([self._pidfd], [], [], within_s)[0])

    def kill(self) -> Usage:
        """SIGKILL the whole group, as a crash of the machine would, and reap it."""
        if self._usage is None:
            os.killpg(self.pid, signal.SIGKILL)
        return self.wait()

    def wait(self, timeout_s: float | None = None) -> Usage:
        """Wait for the end, killing the group if it takes longer; the value is what it cost."""
        if self._usage is None:
            if not select.select([self._pidfd], [], [], timeout_s)[0]:
                os.killpg(self.pid, signal.SIGKILL)
                select.select([self._pidfd], [], [])
            self._usage = self._reap(time.perf_counter() - self._started)
            os.close(self._pidfd)
        return self._usage

    def _reap(self, wall_s: float) -> Usage:
        # The leader is a zombie still, so that its group's number can't belong to anybody else.
        os.killpg(self.pid, signal.SIGKILL)
        cpu_s, max_rss_kb, exit_code = 0.0, 0, 0
        while True:
            try:
                pid, status, usage = os.wait4(-self.pid, 0)
            except ChildProcessError:
                return Usage(wall_s, cpu_s, max_rss_kb / 1024, exit_code)
            cpu_s += usage.ru_utime + usage.ru_stime
            max_rss_kb = max(max_rss_kb, usage.ru_maxrss)
            if pid == self.pid:
                exit_code = os.waitstatus_to_exitcode(status)


def run(argv: Sequence[str], log: Path | None = None, timeout_s: float | None = None) -> Usage:
    """Run a command to its end."""
    return Running(argv, log).wait(timeout_s)


def _adopt_orphans() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@dataclass(frozen=True)
class Spread:
    """A figure measured several times."""

    median: float
    min: float
    max: float

    def __str__(self) -> str:
        """The median, with the range behind it if there is one."""
        if self.min == self.max:
            return _short(self.median)
        return f"{_short(self.median)} ({_short(self.min)}-{_short(self.max)})"


def spread(values: Iterable[float]) -> Spread:
    """Median, least and greatest of at least one value."""
    listed = list(values)
    return Spread(statistics.median(listed), min(listed), max(listed))


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
