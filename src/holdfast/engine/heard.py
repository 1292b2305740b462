"""What the keeper hears on its thread, passed on to the loop. What comes before there is a worker waits for it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from holdfast.domain.errors import LeaseLost
from holdfast.domain.lease import Lease, Standing
from holdfast.domain.states import Action
from holdfast.engine.worker import Worker


class Heard:
    """Belongs to the loop that was running when it was made, and to one claim."""

    def __init__(self, lease: Lease) -> None:
        self._loop = asyncio.get_running_loop()
        self._standing = Standing(lease.seq)
        self._worker: Worker | None = None
        self._pause = False
        self._lost: asyncio.Future[LeaseLost] = self._loop.create_future()

    # -- on the keeper's thread

    def pause(self) -> None:
        """A person wants a pause."""
        self._soon(self._pass_pause)

    def lose(self, lost: LeaseLost) -> None:
        """The chunk is somebody else's."""
        self._soon(self._pass_lost, lost)

    def standing(self) -> Standing:
        """How the claim stands, for a renewal."""
        return self._standing if self._worker is None else self._worker.standing

    def _soon(self, call: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # a loop that is closed already needs no telling
            self._loop.call_soon_threadsafe(call, *args)

    # -- on the loop

    def tell(self, worker: Worker) -> None:
        """From now on, this worker; what came before, at once."""
        self._worker = worker
        if self._lost.done():
            worker.lose(self._lost.result())
        elif self._pause:
            worker.end(Action.PAUSE, "user")

    async def unless_lost(self, work: Coroutine[Any, Any, object]) -> None:
        """`work` to its end, or LeaseLost as soon as that is heard."""
        task = asyncio.create_task(work)
        watched: set[asyncio.Future[Any]] = {task, self._lost}
        try:
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise self._lost.result()
            task.result()
        finally:
            task.cancel()

    def _pass_pause(self) -> None:
        self._pause = True
        if self._worker is not None:
            self._worker.end(Action.PAUSE, "user")

    def _pass_lost(self, lost: LeaseLost) -> None:
        if not self._lost.done():
            self._lost.set_result(lost)
        if self._worker is not None:
            self._worker.lose(lost)
