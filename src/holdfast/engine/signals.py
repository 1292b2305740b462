"""What the process is told from outside, as the end of a claim."""

import asyncio
import signal
from collections.abc import Callable
from functools import cache

from holdfast.domain.states import Action
from holdfast.engine.worker import Worker

_SAID = {
    signal.SIGINT: (Action.PAUSE, "user"),
    signal.SIGTERM: (Action.RELEASE, "shutdown"),
    signal.SIGHUP: (Action.RELEASE, "shutdown"),
}


@cache
def heard() -> tuple[signal.Signals, ...]:
    """Those that mean something to us; asked once, before anything here changes what they do.

    What whoever started us has us ignore (SIGHUP under nohup, SIGINT behind a script's `&`) stays ignored.
    """
    return tuple(number for number in _SAID if signal.getsignal(number) is not signal.SIG_IGN)


class SignalStop:
    """SIGINT: a person wants it paused. SIGTERM, SIGHUP: the machine goes. A second SIGINT: at once.

    Listens from when it is made, in the task that will run the job. Before that task holds a claim there is nothing to
    end in order: it is cancelled where it waits, and the job stands as it stood.
    """

    def __init__(self, *, on_first: Callable[[], None], at_once: Callable[[], None]) -> None:
        self._on_first = on_first
        self._at_once = at_once
        self._command = asyncio.current_task()
        self._claimed = False
        self.worker: Worker | None = None
        """Who is told; None before there is one."""
        self._asked: tuple[Action, str] | None = None
        loop = asyncio.get_running_loop()
        for number in heard():
            loop.add_signal_handler(number, self._hear, number)

    @property
    def asked(self) -> bool:
        """Somebody wants an end."""
        return self._asked is not None

    def claimed(self) -> None:
        """A claim is held: from now on it comes to an end in order."""
        self._claimed = True

    def listen(self, worker: Worker) -> None:
        """Requests go to this worker from now on."""
        self.worker = worker
        if self._asked is not None:
            worker.end(*self._asked)

    def _hear(self, number: signal.Signals) -> None:
        if self._asked is not None:
            if number is signal.SIGINT:
                self._at_once()
            return
        self._asked = _SAID[number]
        if self.worker is not None:
            self.worker.end(*self._asked)
        if self._claimed:
            self._on_first()
        elif self._command is not None:
            self._command.cancel()
