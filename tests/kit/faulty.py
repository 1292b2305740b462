"""Holdfast's own command with a fault armed in it: `python -m tests.kit.faulty FAULT... -- crawl URL ...`.

Everything else is the real thing: the real entry point, the real settings, the real files. A fault happens at
the n-th time that a named point is reached; the product itself has no way to arm one.
"""

import argparse
import ctypes
import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from holdfast import bootstrap
from holdfast.cli.main import main
from holdfast.output import lines
from holdfast.ports import faults
from holdfast.ports.faults import FaultPoint
from holdfast.stores.sqlite import slices

Action = Callable[[Any], None]


def kill(_context: Any) -> None:
    """As by kill -9, here and now."""
    os.kill(os.getpid(), signal.SIGKILL)


def half(context: Any) -> None:
    """Half of the bytes reach the file, then kill -9."""
    fd, data = context
    os.write(fd, data[: len(data) // 2])
    kill(context)


def stop(_context: Any) -> None:
    """As by kill -STOP; goes on at kill -CONT."""
    os.kill(os.getpid(), signal.SIGSTOP)


def full(_context: Any) -> NoReturn:
    """The disk has no room left."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def half_full(context: Any) -> NoReturn:
    """Half of the bytes reach the file, then the disk has no room left."""
    fd, data = context
    os.write(fd, data[: len(data) // 2])
    full(context)


def hang(_context: Any) -> None:
    """As C code that never comes back, though it lets other threads run."""
    time.sleep(3600)


def segfault(_context: Any) -> None:
    """The death of a C library."""
    ctypes.string_at(0)


def mistake(_context: Any) -> NoReturn:
    """A mistake of ours, where nothing catches one."""
    raise RuntimeError("a mistake of ours")


ACTIONS: dict[str, Action] = {
    "kill": kill,
    "half": half,
    "stop": stop,
    "full": full,
    "half_full": half_full,
    "hang": hang,
    "segfault": segfault,
    "mistake": mistake,
}


def arm(point: FaultPoint, action: Action, *, nth: int, url: str | None) -> None:
    """Act at the n-th time that the point is reached, or each time that it is about this URL."""
    times = 0

    def hook(at: FaultPoint, context: Any) -> None:
        nonlocal times
        if at is not point:
            return
        if url is not None:
            if getattr(context, "url", None) == url:
                action(context)
            return
        times += 1
        if times == nth:
            action(context)

    faults.arm(hook)


def break_fsync(nth: int) -> None:
    """The n-th fsync and every later one fail, as those of a dying disk do."""
    real, times = os.fsync, 0

    def failing(fd: int) -> None:
        nonlocal times
        times += 1
        if times >= nth:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(fd)

    os.fsync = failing  # type: ignore[assignment]


def ask_for_help_at_once() -> None:
    """Rows that are written while a crawl runs are made by another process from the first commit on."""
    lines.HELP_AFTER_S = 0.0  # type: ignore[misc]
    lines.HELP_SHARE = 0.0  # type: ignore[misc]
    lines.hands = lambda rows: rows and 1  # type: ignore[attr-defined]


def bend_clock(offset: Path) -> None:
    """The wall clock is off by as many seconds as the file says at that moment; nothing in it means none."""

    def wall(_self: object) -> float:
        return time.time() + float(offset.read_text() or 0)

    bootstrap.SystemClock.wall = wall  # type: ignore[method-assign,assignment]


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    cut = arguments.index("--")
    parser = argparse.ArgumentParser(prog="faulty")
    parser.add_argument("--at", type=FaultPoint)
    parser.add_argument("--nth", type=int, default=1)
    parser.add_argument("--url")
    parser.add_argument("--do", choices=ACTIONS, default="kill")
    parser.add_argument("--break-fsync", type=int)
    parser.add_argument("--clock", type=Path)
    parser.add_argument("--helped", action="store_true")
    parser.add_argument("--slice", type=int)
    return parser.parse_args(arguments[:cut]), arguments[cut + 1 :]


def run(arguments: list[str]) -> None:
    """Arm what is asked for, then be holdfast."""
    asked, command = _parse(arguments)
    if asked.at is not None:
        arm(asked.at, ACTIONS[asked.do], nth=asked.nth, url=asked.url)
    if asked.break_fsync is not None:
        break_fsync(asked.break_fsync)
    if asked.slice is not None:
        slices.SLICE = asked.slice
    if asked.helped:
        ask_for_help_at_once()
    if asked.clock is not None:
        bend_clock(asked.clock)
    main(command)


if __name__ == "__main__":
    run(sys.argv[1:])
