"""A bell for coroutines: rung when something changed, heard by whoever waits, remembered if nobody does."""

import asyncio


class Pulse:
    """For one waiter. Cheaper than asyncio.Event with wait_for: no task is made for a wait with a limit."""

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Something changed."""
        self._rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def heard(self, timeout_s: float | None = None) -> bool:
        """Return when rung since the last time (True), or after the timeout (False)."""
        if not self._rung:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = (
                None
                if timeout_s is None
                else loop.call_later(max(0.0, timeout_s), self._give_up, self._waiter)
            )
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        rung, self._rung = self._rung, False
        return rung

    @staticmethod
    def _give_up(waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            waiter.set_result(None)


class Gate:
    """For many waiters, let through all together."""

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Until let through."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def let_all(self) -> None:
        """Everybody who waits."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
