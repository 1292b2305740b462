"""Time that tests set: a clock that stands still, and an event loop that leaps over every wait.

In `leaping` code that would wait two hours waits no time at all, and the clock says afterwards that it did.
"""

import asyncio
import inspect
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
NOON = 1_800_000_000.0
"""The wall-clock time at which tests begin."""


class ManualClock:
    """Both clocks, moved by hand. `jump` is what a person or NTP does to the wall clock alone."""

    def __init__(self, wall: float = NOON, monotonic: float = 1_000.0) -> None:
        self._wall = wall
        self._monotonic = monotonic

    def wall(self) -> float:
        """Seconds since 1970."""
        return self._wall

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self._wall += seconds
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """The wall clock is set; no time passes."""
        self._wall += seconds


class StuckForever(Exception):
    """Everything waits, nothing runs, and no timer is set: the code under test would hang."""


class _LeapingSelector(selectors.SelectSelector):
    """Where the loop would sleep, the clock leaps instead. Work on threads is really waited for."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock
        self.on_threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if self.on_threads:
            return super().select(0.01)
        if timeout is None:
            raise StuckForever("nothing is left that could wake this loop")
        # A little too far: rounding must not leave the timer an instant ahead for ever.
        self._clock.advance(timeout + 0.001)
        return []


class _LeapingLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: ManualClock) -> None:
        self._leaper = _LeapingSelector(clock)
        self._leaping_clock = clock
        super().__init__(self._leaper)

    def time(self) -> float:
        return self._leaping_clock.monotonic()

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        self._leaper.on_threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._came_back)
        return future

    async def shutdown_default_executor(self, *arguments: Any) -> None:
        self._leaper.on_threads += 1
        await super().shutdown_default_executor(*arguments)

    def _came_back(self, _: asyncio.Future[Any]) -> None:
        self._leaper.on_threads -= 1


def leaping(clock: ManualClock, story: Coroutine[Any, Any, T]) -> T:
    """asyncio.run with a loop that keeps the clock's time."""
    with asyncio.Runner(loop_factory=lambda: _LeapingLoop(clock)) as runner:
        return runner.run(story)


def run_async_test(item: pytest.Function) -> bool | None:
    """For a conftest's `pytest_pyfunc_call`: an `async def` test runs in a loop of its own.

    A test that asks for a fixture named `leap` (a ManualClock) runs in a leaping loop on it.
    """
    if not inspect.iscoroutinefunction(item.obj):
        return None
    wanted = inspect.signature(item.obj).parameters
    arguments = {name: item.funcargs[name] for name in wanted}
    story = item.obj(**arguments)
    clock = arguments.get("leap")
    if isinstance(clock, ManualClock):
        leaping(clock, story)
    else:
        asyncio.run(story)
    return True
