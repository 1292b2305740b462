"""How many bytes may come in: per second, and at a time in memory.

The fetcher's transfers tell what came, and are paused (the server feels it by TCP's own means) while it is too much:

- per second: all of them, until what came is paid for in time. New ones wait for their turn.
- in memory: all but the oldest, so that one comes to its end and its reader makes room. Bodies are unpacked one after
  the other then, each when one before it has been handled.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

MEMORY_BYTES: Final = 128 * 1024 * 1024
LARGE_BYTES: Final = 256 * 1024
"""What a smaller response takes once it is handed out isn't counted: the crawl's concurrency bounds that."""
RELIEF_S: Final = 10.0
"""Whoever holds one response while waiting for another one may wait for itself: not for longer than this."""
_BURST_S: Final = 0.1


class Flow:
    """The bytes of one fetcher. Belongs to the loop that was running when it was made."""

    def __init__(
        self,
        now: Callable[[], float],
        *,
        memory_bytes: int = MEMORY_BYTES,
        bytes_s: int | None = None,
    ) -> None:
        """`now` is the monotonic clock."""
        self._loop = asyncio.get_running_loop()
        self._now = now
        self._memory_bytes = memory_bytes
        self._bytes_s = bytes_s
        self._paid_until = 0.0
        self._coming = 0
        self._out = 0
        self._in_line = 0
        self.strained = False
        """It has been too much since `settle`: somebody may be held back, or wait. All that a plain fetch looks at."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.on_room: Callable[[], None] = lambda: None
        """Called when bytes have left memory."""

    # -- told by transfers

    def came(self, count: int) -> None:
        """Bytes of a body, which are in memory now."""
        self._coming += count
        if self._coming + self._out > self._memory_bytes:
            self.strained = True
        if self._bytes_s is not None:
            self.cost(count)

    def cost(self, count: int) -> None:
        """Bytes on the wire."""
        if self._bytes_s is not None:
            begin = max(self._paid_until, self._now() - _BURST_S)
            self._paid_until = begin + count / self._bytes_s
            self.strained = True

    def forgotten(self, count: int) -> None:
        """A transfer let go of what came: it failed, or somebody else has it now."""
        self._coming -= count
        if self.strained:
            self._make_way()

    # -- asked by the reactor

    @property
    def pressed(self) -> bool:
        """Somebody has to be held back."""
        return self.full or self.in_debt

    @property
    def in_debt(self) -> bool:
        """What came isn't paid for yet."""
        return self._bytes_s is not None and self._paid_until > self._now()

    @property
    def crowded(self) -> bool:
        """Memory is full, and whole bodies wait to be unpacked."""
        return self.full and self._in_line > 0

    @property
    def full(self) -> bool:
        """Too much is in memory for more than one transfer to go on."""
        return self._coming + self._out > self._memory_bytes

    def debt_s(self) -> float:
        """Seconds until what came is paid for; not above zero: it is."""
        return 0.0 if self._bytes_s is None else self._paid_until - self._now()

    def settle(self) -> None:
        """Nobody is held back any more."""
        self.strained = self.pressed or self._in_line > 0

    # -- asked by the fetcher

    async def turn(self) -> None:
        """Until a new request may be sent."""
        while (debt_s := self.debt_s()) > 0:  # noqa: ASYNC110 - time pays it, and nobody else
            await asyncio.sleep(debt_s)

    async def relief(self) -> None:
        """Until there is room to unpack another body, or nobody is left who would make some."""
        give_up = self._now() + RELIEF_S
        self._in_line += 1
        try:
            await self._until_relieved(give_up)
        finally:
            self._in_line -= 1
            self._wake_next()

    async def _until_relieved(self, give_up: float) -> None:
        while self.full and self._out and (left_s := give_up - self._now()) > 0:
            waiting: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(waiting)
            try:
                await asyncio.wait([waiting], timeout=left_s)
            finally:
                waiting.cancel()

    def hand_out(self, count: int) -> "Share | None":
        """What stands for a response of so many bytes, as long as somebody has it. None for a small one."""
        if count < LARGE_BYTES:
            return None
        self._out += count
        self.strained = self.strained or self.full
        return Share(self, count)

    def returned(self, count: int) -> None:
        """Nobody has that response any more. Large ones are read in threads, so it may be one that says so."""
        with suppress(RuntimeError):  # the loop is closed, and all of this over
            self._loop.call_soon_threadsafe(self._left, count)

    def _left(self, count: int) -> None:
        self._out -= count
        if self.strained:
            self._make_way()

    def _make_way(self) -> None:
        self._wake_next()
        self.on_room()

    def _wake_next(self) -> None:
        while self._waiting and not (self.full and self._out):
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return


class Share:
    """A response's part of the memory. Gives it back by itself when the last one who held it lets go."""

    __slots__ = ("_count", "_flow")

    def __init__(self, flow: Flow, count: int) -> None:
        self._flow = flow
        self._count = count

    def __del__(self) -> None:
        self._flow.returned(self._count)
