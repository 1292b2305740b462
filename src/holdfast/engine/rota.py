"""Whose turn it is: hosts that may start something stand in a ring, those that wait for their time in a heap.

What it costs to find the next one doesn't grow with the number of hosts, but for the depth of the heap.
"""

import heapq
from collections import OrderedDict

STALE = 1_000
"""So many entries of the heap may be out of date beyond as many as aren't."""


class Rota:
    """Hosts by id. Each stands in it once at most."""

    def __init__(self, stale: int = STALE) -> None:
        self._stale = stale
        self._now = 0.0
        self._ready: OrderedDict[int, None] = OrderedDict()
        self._asleep: list[tuple[float, int, int]] = []
        self._entries: dict[int, int] = {}
        """The number of the one entry of the heap that counts, by host."""
        self._number = 0
        self._woken = False

    def enter(self, host: int, due: float) -> bool:
        """Behind all others whose time has come; or, while its own hasn't, asleep until then.

        Gives whether it sleeps and wakes before all others: whoever watches the clock has to know.
        """
        self.leave(host)
        if due <= self._now:
            self._ready[host] = None
            return False
        self._number += 1
        self._entries[host] = self._number
        heapq.heappush(self._asleep, (due, self._number, host))
        self._drop_stale()
        return self._asleep[0][1] == self._number

    def lead(self, host: int) -> None:
        """Before all others, if its time has come."""
        if host in self._ready:
            self._ready.move_to_end(host, last=False)

    def leave(self, host: int) -> None:
        """It has no turn any more, if it had one."""
        self._ready.pop(host, None)
        self._entries.pop(host, None)

    def __contains__(self, host: int) -> bool:
        """Whether it will have its turn."""
        return host in self._ready or host in self._entries

    def next(self, now: float) -> int | None:
        """The host whose turn it is; it stands in the rota no more."""
        self._wake(now)
        return self._ready.popitem(last=False)[0] if self._ready else None

    @property
    def some_ready(self) -> bool:
        """Some host's time has come, for all that was known when time was last told."""
        return bool(self._ready)

    def woken(self, now: float) -> bool:
        """Whether some host's time has come since this was last asked."""
        self._wake(now)
        woken, self._woken = self._woken, False
        return woken

    @property
    def wake_at(self) -> float | None:
        """When the time of the next sleeper comes."""
        self._drop_stale()
        return self._asleep[0][0] if self._asleep else None

    def _wake(self, now: float) -> None:
        self._now = max(now, self._now)
        while self._asleep and self._asleep[0][0] <= now:
            entry = heapq.heappop(self._asleep)
            if self._counts(entry):
                host = entry[2]
                del self._entries[host]
                self._ready[host] = None
                self._woken = True

    def _drop_stale(self) -> None:
        if len(self._asleep) > 2 * len(self._entries) + self._stale:
            self._asleep = [entry for entry in self._asleep if self._counts(entry)]
            heapq.heapify(self._asleep)
        while self._asleep and not self._counts(self._asleep[0]):
            heapq.heappop(self._asleep)

    def _counts(self, entry: tuple[float, int, int]) -> bool:
        return self._entries.get(entry[2]) == entry[1]
