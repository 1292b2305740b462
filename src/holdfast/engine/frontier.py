"""The near end of the queue: a bounded part of what is pending, held in memory and let go host by host.

The ledger is the truth; nothing here is saved. What is held here is still pending there until it is committed.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.domain.commit import HostQueue
from holdfast.domain.item import Item
from holdfast.engine.pulse import Pulse
from holdfast.ports.pipeline import HostPace

MAX_HOSTS = 2_000
"""Hosts in memory at a time; the rest wait in the ledger."""
MAX_ITEMS = 4_096
"""Items in memory, where each host has more than its least share; those brought back at their due times are apart."""
MAX_LEFT = 20_000
"""Hosts without work whose pace and clock are remembered."""
DUE_CAP_S = 6 * 3600.0
"""No stored time holds a host back longer than this, however a clock jumped."""


@dataclass(slots=True)
class Lane:
    """One host: its next items, and when it may be asked again."""

    host_id: int
    name: str
    next_start: float
    """On the monotonic clock."""
    pace: HostPace | None = None
    """None until the pipeline has met the host, and when it has to be met again."""
    meeting: bool = False
    items: deque[Item] = field(default_factory=deque)
    held: set[int] = field(default_factory=set)
    in_flight: int = 0
    dry: bool = False
    """The ledger had no more for this host when last asked."""

    def ready(self, now: float) -> bool:
        """Whether an item may start now."""
        return (
            bool(self.items)
            and self.pace is not None
            and self.in_flight < self.pace.per_host
            and self.next_start <= now
        )


class Frontier:
    """Lanes in turn, so that no host waits behind another."""

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._turn: deque[int] = deque()
        self._first: deque[Item] = deque()
        self._late: dict[int, set[int]] = {}
        self._put: set[int] = set()
        self._left: dict[int, tuple[float, HostPace | None]] = {}
        self._filling = False
        self.changed = Pulse()
        """Rung when a lane has run low, and when a host is to be left alone for a time: the clock is to be watched."""
        self._low: dict[int, None] = {}
        self.crowded = False
        """Hosts with work were turned away for want of room since this was last unset."""

    # -- hosts

    def welcome(self, hosts: Iterable[HostQueue], *, now: float, wall: float) -> None:
        """Hosts that have work now, for all the ledger knows."""
        for host in hosts:
            lane = self._lanes.get(host.id)
            if lane is not None:
                lane.dry = False
                self._low[host.id] = None
            elif len(self._lanes) >= MAX_HOSTS:
                self.crowded = True
            else:
                wait = min(max(0.0, (host.due_at or 0.0) - wall), DUE_CAP_S)
                self._open(host.id, host.name, now + wait)

    def _open(self, host_id: int, name: str, not_before: float) -> Lane:
        """A lane; for a host that has had one, with the pace and the clock that it left with."""
        next_start, pace = self._left.pop(host_id, (not_before, None))
        lane = self._lanes[host_id] = Lane(host_id, name, max(next_start, not_before), pace)
        self._turn.append(host_id)
        self._low[host_id] = None
        return lane

    def strangers(self) -> list[Lane]:
        """Lanes with items whose hosts nobody has met yet."""
        return [
            lane for lane in self._lanes.values() if lane.pace is None and lane.items and not lane.meeting
        ]

    def lane(self, host_id: int) -> Lane | None:
        """The lane of a host, if it is in memory."""
        return self._lanes.get(host_id)

    def hold_host(self, host_id: int, until: float) -> None:
        """Nothing of that host starts before then."""
        lane = self._lanes.get(host_id)
        if lane is not None:
            lane.next_start = max(lane.next_start, until)
            self.changed.ring()

    # -- filling

    def thirsty(self) -> Lane | None:
        """A lane that runs low and for which the ledger may have more."""
        enough = self.share // 4
        while self._low:
            host_id = next(iter(self._low))
            lane = self._lanes.get(host_id)
            if lane is not None and not lane.dry and len(lane.items) <= enough:
                return lane
            del self._low[host_id]
        return None

    @property
    def low(self) -> bool:
        """A lane may have run low."""
        return bool(self._low)

    @property
    def share(self) -> int:
        """How many items a lane may hold."""
        return max(16, min(256, MAX_ITEMS // max(1, len(self._lanes))))

    def filling(self) -> None:
        """A question is on its way to the ledger: its answer may name what is committed meanwhile."""
        self._filling = True

    def fill(self, lane: Lane, items: list[Item], *, asked: int) -> None:
        """What the ledger gave for a lane."""
        self._filling = False
        for item in items:
            if item.id not in lane.held:
                lane.held.add(item.id)
                lane.items.append(item)
        lane.dry = len(items) < asked
        self._low.pop(lane.host_id, None)
        self._let_go_late()
        self._close_if_done(lane)

    def put(self, item: Item, *, now: float, first: bool = False) -> None:
        """A pending item into its host's lane: behind what waits there, or to the head of everything."""
        lane = self._lanes.get(item.host_id)
        if lane is None:
            lane = self._open(item.host_id, item.host, now)
        if item.id in lane.held:
            return
        lane.held.add(item.id)
        self._put.add(item.id)
        if first:
            lane.items.appendleft(item)
            self._turn.remove(item.host_id)
            self._turn.appendleft(item.host_id)
        else:
            lane.items.append(item)

    def put_first(self, item: Item) -> None:
        """An item that is settled already (its links are judged again): it asks no host for leave."""
        self._first.append(item)

    @property
    def put_already(self) -> set[int]:
        """The items in memory that came by `put`: no others in here have a due time in the ledger."""
        return self._put

    @property
    def full(self) -> bool:
        """As many of them are held as may be."""
        return len(self._put) >= MAX_ITEMS

    # -- taking

    def next(self, now: float) -> Item | None:
        """The next item that may start now, its host's turn passed on."""
        if self._first:
            return self._first.popleft()
        for _ in range(len(self._turn)):
            lane = self._lanes[self._turn[0]]
            self._turn.rotate(-1)
            if lane.pace is not None and lane.ready(now):
                if lane.pace.until <= now:
                    lane.pace = None
                    self.changed.ring()
                    continue
                lane.in_flight += 1
                lane.next_start = now + lane.pace.delay_s
                item = lane.items.popleft()
                if not lane.dry and len(lane.items) <= self.share // 4:
                    self._low[lane.host_id] = None
                if self._low or lane.pace.delay_s:
                    self.changed.ring()
                return item
        return None

    def finished(self, item: Item) -> None:
        """The host is free for another; the item stays held until its outcome is committed."""
        lane = self._lanes.get(item.host_id)
        if lane is not None and item.id in lane.held:
            lane.in_flight -= 1

    def release(self, item: Item) -> None:
        """The item's outcome is committed (or given up): the ledger knows better from here on."""
        if self._filling:
            self._late.setdefault(item.host_id, set()).add(item.id)
        else:
            self._let_go(item.host_id, {item.id})

    def _let_go_late(self) -> None:
        for host_id, ids in self._late.items():
            self._let_go(host_id, ids)
        self._late.clear()

    def _let_go(self, host_id: int, ids: set[int]) -> None:
        self._put -= ids
        lane = self._lanes.get(host_id)
        if lane is not None:
            lane.held -= ids
            self._close_if_done(lane)

    def _close_if_done(self, lane: Lane) -> None:
        """Without items in hand, and none to be had now, a host only takes another one's place."""
        if lane.dry and not lane.held and lane.host_id in self._lanes:
            del self._lanes[lane.host_id]
            self._turn.remove(lane.host_id)
            self._left[lane.host_id] = (lane.next_start, lane.pace)
            if len(self._left) > MAX_LEFT:
                del self._left[next(iter(self._left))]

    def at_work(self) -> dict[str, int]:
        """The hosts that are being asked, each with how many items."""
        return {lane.name: lane.in_flight for lane in self._lanes.values() if lane.in_flight}

    # -- looking ahead

    def wake_at(self, since: float) -> float | None:
        """When the next host that waits for its own clock may be asked: the first such time after `since`."""
        times = [
            lane.next_start
            for lane in self._lanes.values()
            if lane.next_start > since and lane.items and lane.pace
        ]
        return min(times, default=None)

    def barren(self, *, until: float) -> bool:
        """Nothing is to be taken before then, and the ledger has nothing more as far as we know.

        Of a host that nobody has met yet nothing can be taken, and nobody knows when.
        """
        return not self._first and all(
            (lane.dry and not lane.items) or lane.pace is None or lane.next_start > until
            for lane in self._lanes.values()
        )

    @property
    def empty(self) -> bool:
        """Nothing is held, and no lane can be filled."""
        return not self._first and all(lane.dry and not lane.held for lane in self._lanes.values())

    @property
    def room(self) -> int:
        """How many more hosts fit; 0 while they are too few to be worth a question to the ledger."""
        free = MAX_HOSTS - len(self._lanes)
        return free if free > MAX_HOSTS // 8 else 0

    def due_times(self, *, now: float, wall: float, since: Iterable[int]) -> dict[int, float]:
        """Wall-clock times before which those hosts are not to be asked, worth a row only from a second on."""
        lanes = (self._lanes.get(host_id) for host_id in since)
        return {
            lane.host_id: wall + lane.next_start - now
            for lane in lanes
            if lane is not None and lane.next_start - now >= 1.0
        }
