"""Several processes that make rows, for exports that are long enough to be worth their start.

Each has at most one batch at a time, and batches come back in the order in which they were given: so memory is bounded,
and the file is the same, byte by byte, as one process would write it. They talk over their standard streams; whoever
finds its input closed ends, however the export has ended.
"""

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, BinaryIO, Final

from holdfast.domain.errors import HoldfastError, StorageFailed

WORTH_IT: Final = 2_000
"""Fewer rows are made sooner than processes are started."""
MOST: Final = 16
"""Beyond that the one who writes the file is what others wait for."""

_PROGRAM: Final = "import sys; sys.path[:] = {path!r}; from holdfast.output.crew import main; main()"

Make = Callable[[Any], Any]
"""What makes a result of a batch. It and its arguments travel: they can be pickled."""


def hands(rows: int) -> int:
    """How many processes are worth it for so many rows: 0 means none beside this one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST) if cores > 1 and rows >= WORTH_IT and sys.executable else 0


class Crew:
    """Takes batches, and gives their results in order."""

    def __init__(self, workers: Sequence["_Worker"]) -> None:
        self._free = deque(workers)
        self._busy: deque[_Worker] = deque()

    def give(self, batch: object) -> list[Any]:
        """Hand a batch to somebody. The oldest result, if everybody had one: whoever made it goes on at once."""
        if self._free:
            worker, results = self._free.popleft(), []
        else:
            worker = self._busy.popleft()
            results = [worker.take()]
        worker.give(batch)
        self._busy.append(worker)
        return results

    def take(self) -> list[Any]:
        """The oldest result that is still out, or nothing."""
        if not self._busy:
            return []
        worker = self._busy.popleft()
        self._free.append(worker)
        return [worker.take()]


@contextmanager
def crew(size: int, make: Make) -> Iterator[Crew]:
    """So many processes, for as long as the block lasts."""
    with ExitStack() as stack:
        workers = [_Worker(make) for _ in range(size)]
        for worker in workers:
            stack.callback(worker.dismiss)
        yield Crew(workers)


class _Worker:
    """One process, from this side."""

    def __init__(self, make: Make) -> None:
        # A session of its own: Ctrl-C at the terminal is for the one who writes the file. It finds modules where we do,
        # and nowhere else: what lies in the current directory is none of ours.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM.format(path=[place for place in sys.path if place])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        assert self._process.stdout is not None  # noqa: S101 - likewise
        self._to: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._from: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self.give(make)

    def take(self) -> Any:  # noqa: ANN401 - whatever was made
        try:
            failed, result = pickle.load(self._from)  # noqa: S301 - our own process
        except (EOFError, OSError, pickle.UnpicklingError):
            raise self._lost() from None
        if failed is not None:
            raise failed
        return result

    def dismiss(self) -> None:
        """At once: what it works on is wanted no more."""
        self._process.kill()
        for stream in (self._to, self._from):
            with suppress(OSError):
                stream.close()
        self._process.wait()

    def give(self, value: object) -> None:
        try:
            pickle.dump(value, self._to, pickle.HIGHEST_PROTOCOL)
            self._to.flush()
        except OSError:
            raise self._lost() from None

    def _lost(self) -> StorageFailed:
        return StorageFailed(
            "a process that makes rows has ended, perhaps for want of memory; "
            "the file stands as it was before: export again"
        )


def work(source: BinaryIO, target: BinaryIO) -> None:
    """Make results until no more batches come."""
    with suppress(EOFError):
        make: Make = pickle.load(source)  # noqa: S301 - from the process that started us
        while True:
            batch = pickle.load(source)  # noqa: S301 - likewise
            pickle.dump(_made(make, batch), target, pickle.HIGHEST_PROTOCOL)
            target.flush()


def _made(make: Make, batch: object) -> tuple[Exception | None, object]:
    try:
        return None, make(batch)
    except HoldfastError as error:
        return type(error)(*error.args) if type(error) is StorageFailed else StorageFailed(str(error)), None
    except Exception:  # noqa: BLE001 - a bug is told where a person sees it
        return RuntimeError(traceback.format_exc()), None


def main() -> None:
    """One of the crew."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with suppress(BrokenPipeError):
        work(sys.stdin.buffer, sys.stdout.buffer)
    # What Python would still flush goes nowhere.
    os._exit(0)
