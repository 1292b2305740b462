"""Keeps a claim while the runner works: renews the lease, hears wishes, watches for stuck chunks.

A thread with an event loop and a connection of its own, so that a runner stuck in C code neither loses its lease at
once nor goes unnoticed: only the runner's commits are progress.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress

from holdfast.domain.errors import HoldfastError, LeaseLost
from holdfast.domain.lease import Lease, Standing
from holdfast.engine.pulse import Pulse
from holdfast.engine.tools import Tools
from holdfast.engine.watchdog import Watchdog

log = logging.getLogger(__name__)

_STUCK = "the lease is lost and the runner is stuck; run the same command again"
_SAID_S = 1.0


class Keeper:
    """Starts with a claim, ends with it. The callbacks are called on the keeper's thread."""

    def __init__(
        self,
        tools: Tools,
        lease: Lease,
        *,
        on_pause: Callable[[], None],
        on_lost: Callable[[LeaseLost], None],
        standing: Callable[[], Standing],
    ) -> None:
        self._tools = tools
        self._lease = lease
        self._on_pause = on_pause
        self._on_lost = on_lost
        self._standing = standing
        self._stop = threading.Event()
        self._bell = Pulse()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._main, name="keeper", daemon=True)

    def start(self) -> None:
        """Begin to renew."""
        self._thread.start()

    def end(self) -> None:
        """The claim is over; what the keeper still hears of it is no news."""
        self._stop.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._bell.ring)

    def join(self) -> None:
        """Wait until the thread is gone."""
        self._thread.join()

    def _main(self) -> None:
        asyncio.run(self._keep())

    async def _keep(self) -> None:
        self._loop = asyncio.get_running_loop()
        ledger = self._tools.another_ledger()
        clock, times = self._tools.clock, self._tools.times
        watchdog = Watchdog(ledger, self._tools.workers, clock, times)
        renew_at = sweep_at = clock.monotonic()
        try:
            while not self._stop.is_set():
                now = clock.monotonic()
                try:
                    if now >= renew_at:
                        renew_at = now + times.renew_s
                        await ledger.renew(self._lease, self._standing())
                    if now >= sweep_at:
                        sweep_at = now + min(times.sweep_s, times.stall_s)
                        await watchdog.sweep()
                    if await ledger.wish(self._lease) == "pause":
                        self._on_pause()
                except LeaseLost as lost:
                    self._lost(lost)
                    return
                except HoldfastError as error:
                    # The lease may run out meanwhile; the fence decides that, not this thread.
                    log.warning("couldn't renew the lease: %s", error)
                except Exception:
                    # Nor does a mistake of ours, or a file that can't be opened just now, end the renewals.
                    log.exception("couldn't renew the lease")
                await self._bell.heard(times.poll_s)
        finally:
            await ledger.close()

    def _lost(self, lost: LeaseLost) -> None:
        """Tell the runner; if it is stuck and can't stop by itself, end the process: it may not write any more."""
        if self._stop.is_set():
            return
        self._on_lost(lost)
        if not self._stop.wait(2 * self._tools.times.drain_s):
            # Whoever is stuck may hold what writing that line needs.
            said = threading.Thread(target=log.error, args=(_STUCK,), daemon=True)
            said.start()
            said.join(_SAID_S)
            os._exit(1)
