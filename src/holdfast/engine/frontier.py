"""The near end of the queue: a bounded part of what is pending, held in memory and let go host by host.

The ledger is the truth; nothing here is saved. What is held here is still pending there until it is committed.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import NamedTuple
from weakref import WeakValueDictionary

from holdfast.domain.commit import HostQueue
from holdfast.domain.item import Item
from holdfast.domain.job import Limits
from holdfast.engine.lanes import Lane, Machine
from holdfast.engine.pulse import Pulse
from holdfast.engine.rate import Rate
from holdfast.engine.rota import Rota
from holdfast.ports.pipeline import HostPace

MAX_HOSTS = 20_000
"""Hosts in memory at a time; the rest wait in the ledger, and come in rounds."""
MAX_ITEMS = 16_384
"""Items in memory, where each host has more than its least share; those brought back at their due times are apart."""
LEAST, MOST = 2, 256
"""Items of one host in memory."""
TURN = 16
"""So many items of a host are taken before another one gets its place, where hosts wait in the ledger for one."""
NAP_S = 30.0
"""A host that may not be asked for longer than this takes no place that others wait for."""
MAX_LEFT = 20_000
"""Hosts without work whose pace and clock are remembered."""
DUE_CAP_S = 6 * 3600.0
"""No stored time holds a host back longer than this, however a clock jumped."""


class _Left(NamedTuple):
    """What is remembered of a host that has no lane any more."""

    next_start: float
    pace: HostPace | None
    machine: Machine
    pages: int
    bytes: int


class Frontier:
    """Lanes in turn, so that no host waits behind another. Nothing that is done for an item looks at all of them."""

    def __init__(self, limits: Limits | None = None, rate: Rate | None = None) -> None:
        self._limits = limits or Limits()
        self._budgeted = self._limits.host_pages is not None or self._limits.host_bytes is not None
        self._rate = rate
        self._capped = False
        self._lanes: dict[int, Lane] = {}
        self._rota = Rota()
        self._aside: dict[int, Lane] = {}
        """Met and without a turn: all they have is in flight, or they have more in the ledger."""
        self._strangers: OrderedDict[int, Lane] = OrderedDict()
        self._machines: WeakValueDictionary[str, Machine] = WeakValueDictionary()
        self._at_work: dict[int, Lane] = {}
        self._first: deque[Item] = deque()
        self._shut: set[int] = set()
        self._late: dict[int, set[int]] = {}
        self._put: set[int] = set()
        self._left: OrderedDict[int, _Left] = OrderedDict()
        self._filling = False
        self.changed = Pulse()
        """Rung when a lane has run low, and when a host is to be left alone for a time: the clock is to be watched."""
        self._low: OrderedDict[int, None] = OrderedDict()
        self.crowded = False
        """Hosts with work were turned away for want of room since this was last unset."""
        self.beyond = False
        """The ledger may have hosts with work that were not brought in yet."""

    # -- hosts

    def welcome(self, hosts: Iterable[HostQueue], *, now: float, wall: float) -> int:
        """Hosts that have work now, for all the ledger knows. Gives how many of them have got a place."""
        came = 0
        for host in hosts:
            lane = self._lanes.get(host.id)
            wait = min(max(0.0, (host.due_at or 0.0) - wall), DUE_CAP_S)
            if lane is not None:
                lane.dry = lane.yields = False
                self._low[host.id] = None
                self._place(lane)
            elif len(self._lanes) >= MAX_HOSTS or (wait > NAP_S and not self.room):
                self.crowded = True
            else:
                self._open(Lane(host.id, host.name, now + wait, pages=host.pages, bytes=host.bytes))
                came += 1
        return came

    def _open(self, lane: Lane) -> Lane:
        """For a host that has had a lane, with the pace and the clock that it left with."""
        left = self._left.pop(lane.host_id, None)
        if left is not None:
            lane.next_start = max(left.next_start, lane.next_start)
            # What it was when the ledger was asked may be older than what was committed since.
            lane.pages, lane.bytes = max(left.pages, lane.pages), max(left.bytes, lane.bytes)
            lane.pace, lane.machine = left.pace, left.machine
            lane.machine.lanes[lane.host_id] = lane
        self._lanes[lane.host_id] = lane
        self._low[lane.host_id] = None
        self._place(lane)
        return lane

    def stranger(self, now: float) -> Lane | None:
        """The next host with items that nobody has met yet: whoever asks goes and meets it, by a request."""
        if not self._strangers or self._over_rate(now):
            return None
        if self._rate is not None:
            self._rate.spend(now)
        _, lane = self._strangers.popitem(last=False)
        lane.meeting = True
        return lane

    def met(self, lane: Lane, pace: HostPace) -> None:
        """How a host wants to be treated from now on."""
        lane.meeting = False
        lane.pace = pace
        self._strangers.pop(lane.host_id, None)
        if self._rate is not None and not pace.asked:
            self._rate.give_back()
        if pace.machine:
            lane.machine = self._machines.setdefault(pace.machine, lane.machine)
        if lane.host_id in self._lanes:
            lane.machine.lanes[lane.host_id] = lane
            self._place(lane)
            self._close_if_done(lane)

    def repace(self, host_id: int, pace: HostPace) -> None:
        """A host that was met showed that it wants to be treated otherwise. What has started is not changed by it."""
        lane = self._lanes.get(host_id)
        if lane is not None and lane.pace is not None:
            lane.pace = pace
            self._place(lane)

    def lane(self, host_id: int) -> Lane | None:
        """The lane of a host, if it is in memory."""
        return self._lanes.get(host_id)

    def hold_host(self, host_id: int, until: float) -> None:
        """Nothing of that host, nor of its machine, starts before then."""
        lane = self._lanes.get(host_id)
        if lane is None:
            return
        lane.next_start = max(lane.next_start, until)
        lane.machine.held_until = max(lane.machine.held_until, until)
        for one in lane.machine.lanes.values():
            if one.host_id in self._rota:
                self._enter(one)
        self.changed.ring()

    def _enter(self, lane: Lane) -> None:
        if self._rota.enter(lane.host_id, lane.due):
            self.changed.ring()

    def _place(self, lane: Lane) -> None:
        """Where a lane belongs after something about it has changed."""
        host_id = lane.host_id
        if self._budgeted and lane.items and lane.spent(self._limits):
            self._shut_out(lane)
        if lane.pace is None:
            if lane.items and not lane.meeting:
                self._strangers[host_id] = lane
            return
        if host_id in self._rota:
            return
        if lane.items and lane.free(self._limits):
            self._aside.pop(host_id, None)
            self._enter(lane)
        elif lane.items or not lane.dry:
            self._aside[host_id] = lane
        else:
            self._aside.pop(host_id, None)

    def _shut_out(self, lane: Lane) -> None:
        """Its budget is used up: what it has is to be put aside for good, for which nobody is asked."""
        self._first += lane.items
        self._shut.update(item.id for item in lane.items)
        lane.items.clear()
        self._rota.leave(lane.host_id)
        self._strangers.pop(lane.host_id, None)
        if not lane.dry:
            self._low[lane.host_id] = None

    def shut(self, item: Item) -> bool:
        """Whether an item that was taken is not to be handled: its host's budget is used up."""
        return item.id in self._shut

    # -- filling

    def thirsty(self) -> Lane | None:
        """A lane that runs low and for which the ledger may have more."""
        enough = self.share // 4
        while self._low:
            host_id = next(iter(self._low))
            lane = self._lanes.get(host_id)
            if lane is not None and not lane.dry and len(lane.items) <= enough:
                if lane.handed < TURN or not (self.crowded or self.beyond):
                    return lane
                self._have_others_go_first(lane)
            del self._low[host_id]
        return None

    @property
    def low(self) -> bool:
        """A lane may have run low."""
        return bool(self._low)

    @property
    def share(self) -> int:
        """How many items a lane may hold."""
        most = TURN if self.crowded or self.beyond else MOST
        return max(LEAST, min(most, MAX_ITEMS // max(1, len(self._lanes))))

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
        self._place(lane)
        self._let_go_late()
        self._close_if_done(lane)

    def put(self, item: Item, *, now: float, first: bool = False) -> None:
        """A pending item into its host's lane: behind what waits there, or to the head of everything."""
        lane = self._lanes.get(item.host_id)
        if lane is None:
            lane = self._open(
                Lane(item.host_id, item.host, now, pages=item.host_pages, bytes=item.host_bytes)
            )
        if item.id in lane.held:
            return
        lane.held.add(item.id)
        self._put.add(item.id)
        lane.items.insert(0 if first else len(lane.items), item)
        self._place(lane)
        if first:
            self._rota.lead(item.host_id)

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
        if self._over_rate(now):
            return None
        while (host_id := self._rota.next(now)) is not None:
            lane = self._lanes[host_id]
            pace = lane.pace
            if pace is None or pace.until <= now:
                lane.pace = None
                self._place(lane)
                self.changed.ring()
            elif lane.due > now:
                # Another one of its machine began meanwhile.
                self._enter(lane)
            elif lane.free(self._limits):
                return self._start(lane, pace, now)
            else:
                self._place(lane)
        return None

    def _over_rate(self, now: float) -> bool:
        """Nothing more may begin now, whatever the host; whoever watches the clock is told so."""
        if self._rate is None or self._rate.free_at(now) <= now:
            return False
        if not self._capped:
            self._capped = True
            self.changed.ring()
        return True

    def _start(self, lane: Lane, pace: HostPace, now: float) -> Item:
        if self._rate is not None:
            self._rate.spend(now)
        lane.in_flight += 1
        lane.handed += 1
        lane.machine.in_flight += 1
        lane.machine.last_start = now
        lane.next_start = now + pace.delay_s
        self._at_work[lane.host_id] = lane
        item = lane.items.pop(0)
        if not lane.dry and len(lane.items) <= self.share // 4:
            self._low[lane.host_id] = None
        self._place(lane)
        if self._low:
            self.changed.ring()
        return item

    def finished(self, item: Item, *, pages: int = 0, size: int = 0) -> None:
        """The host is free for another; the item stays held until its outcome is committed.

        `pages` and `size` are what it gave, and count against its host's budget from now on.
        """
        if item.id in self._shut:
            self._shut.discard(item.id)
            return
        lane = self._lanes.get(item.host_id)
        if lane is None or item.id not in lane.held:
            return
        lane.pages += pages
        lane.bytes += size
        lane.in_flight -= 1
        if not lane.in_flight:
            self._at_work.pop(lane.host_id, None)
        lane.machine.in_flight -= 1
        for one in tuple(lane.machine.lanes.values()):
            self._place(one)

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
        if lane.dry and not lane.held and not lane.meeting and lane.host_id in self._lanes:
            del self._lanes[lane.host_id]
            self.crowded |= lane.yields
            self._aside.pop(lane.host_id, None)
            self._strangers.pop(lane.host_id, None)
            lane.machine.lanes.pop(lane.host_id, None)
            self._left[lane.host_id] = _Left(lane.next_start, lane.pace, lane.machine, lane.pages, lane.bytes)
            if len(self._left) > MAX_LEFT:
                self._left.popitem(last=False)

    # -- making room

    def _have_others_go_first(self, lane: Lane) -> None:
        """What it has in the ledger is not brought in now: it comes back in a later round."""
        lane.dry = lane.yields = True
        self._place(lane)
        self._close_if_done(lane)

    def make_room(self, now: float) -> None:
        """Hosts that may not be asked for long go back to the ledger, with what isn't in flight of them.

        Looks at every lane: for when others wait for a place.
        """
        for lane in [one for one in self._lanes.values() if one.due > now + NAP_S and not one.meeting]:
            stay = [item for item in lane.items if item.id in self._put]
            lane.held -= {item.id for item in lane.items} - self._put
            lane.items = stay
            if not stay:
                self._rota.leave(lane.host_id)
                self._strangers.pop(lane.host_id, None)
            self._have_others_go_first(lane)

    @property
    def room(self) -> int:
        """How many more hosts fit; 0 while they are too few to be worth a question to the ledger."""
        free = MAX_HOSTS - len(self._lanes)
        return free if free > MAX_HOSTS // 8 else 0

    # -- looking ahead

    def at_work(self) -> dict[str, int]:
        """The hosts that are being asked, each with how many items."""
        return {lane.name: lane.in_flight for lane in self._at_work.values()}

    def woken(self, now: float) -> bool:
        """Whether time alone has made something fit to be taken since this was last asked."""
        woken = self._rota.woken(now)
        if self._capped and self._rate is not None and self._rate.free_at(now) <= now:
            self._capped = False
            woken = True
        return woken

    def wake_at(self, now: float) -> float | None:
        """When time alone will do that next."""
        due = self._rota.wake_at
        if self._capped and self._rate is not None and (self._rota.some_ready or self._strangers):
            free = self._rate.free_at(now)
            return free if due is None else min(due, free)
        return due

    def barren(self, *, until: float) -> bool:
        """Nothing is to be taken before then, and the ledger has nothing more as far as we know.

        Of a host that nobody has met yet nothing can be taken, and nobody knows when.
        """
        if self._first or self._rota.some_ready:
            return False
        wake = self._rota.wake_at
        return (wake is None or wake > until) and all(lane.due > until for lane in self._aside.values())

    @property
    def empty(self) -> bool:
        """Nothing is held, and no lane can be filled."""
        return not self._first and not self._lanes

    def due_times(self, *, now: float, wall: float, since: Iterable[int]) -> dict[int, float]:
        """Wall-clock times before which those hosts are not to be asked, worth a row only from a second on."""
        lanes = (self._lanes.get(host_id) for host_id in since)
        return {
            lane.host_id: wall + lane.next_start - now
            for lane in lanes
            if lane is not None and lane.next_start - now >= 1.0
        }
