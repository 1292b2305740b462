"""The feeder: brings what is pending from the ledger into the frontier, and knows when nothing is left.

Looks, in this order, for items whose due time has come, hosts that run low, other hosts, links to be judged again,
and the next phase; then rests until one of them may have something.
"""

import asyncio
import logging
from collections import deque
from typing import Protocol

from holdfast.domain.commit import Committed
from holdfast.domain.item import Handled, Item, RetryAt
from holdfast.domain.job import Job
from holdfast.domain.lease import Lease
from holdfast.engine.frontier import DUE_CAP_S, NAP_S, Frontier
from holdfast.engine.lanes import Lane
from holdfast.engine.steady import SteadyTime
from holdfast.engine.tools import Tools
from holdfast.ports.pipeline import Handler, HostPace

log = logging.getLogger(__name__)

MAX_DUE = 256
"""Items brought back at a time whose due time has come, or whose links are judged again."""

MAX_HOSTS_ASKED = 1_000
"""Hosts brought in at a time: the loop is held no longer than that takes."""

MAX_REST_S = 60.0
"""However far off the next due time is: a wall clock may jump meanwhile."""


class Crew(Protocol):
    """What the feeder has to know of the worker that it feeds."""

    @property
    def lease(self) -> Lease:
        """The claim as it stands now."""

    @property
    def steady(self) -> SteadyTime:
        """The time by which due times are stored and compared."""

    @property
    def over(self) -> bool:
        """The claim ends: feed no more."""

    @property
    def idle(self) -> bool:
        """Nothing is in flight, and nothing waits to be committed."""

    def call(self) -> None:
        """There may be something to take: whoever waits should look."""

    async def enter(self, phase: str | None) -> None:
        """Nothing of this phase is left: the next one begins; None: there is none."""


class Feeder:
    """Feeds one claim. Whoever changes something that it looks at rings `Frontier.changed`."""

    def __init__(self, tools: Tools, job: Job, handler: Handler, frontier: Frontier, crew: Crew) -> None:
        self._tools = tools
        self._job = job
        self._handler = handler
        self._frontier = frontier
        self._crew = crew
        self._meetings: set[asyncio.Task[None]] = set()
        self._phases: deque[str] = deque()
        self._stage = 0
        self._due_at: float | None = None
        self._hosts_upto = 0
        self._make_room_at = 0.0
        self.waiting_until: float | None = None
        """The wall-clock time before which there is nothing to do, while that is so."""

    async def feed(self) -> None:
        """Until the claim ends."""
        await self._begin()
        while not self._crew.over:
            self._meet_strangers()
            if self._some_due and not self._frontier.full:
                await self._fill_due()
            elif (lane := self._frontier.thirsty()) is not None:
                await self._fill_lane(lane)
            elif not await self._look_further():
                await self._rest()

    @property
    def meeting(self) -> bool:
        """Some host's rules are on their way."""
        return bool(self._meetings)

    @property
    def _some_due(self) -> bool:
        return self._due_at is not None and self._due_at <= self._crew.steady.now()

    def committed(self, handled: tuple[Handled, ...], committed: Committed) -> None:
        """Hosts that were given items, and due times: only from the commit on does the ledger know of them."""
        for entry in handled:
            if isinstance(entry.outcome, RetryAt):
                self._due_at = min(entry.outcome.due_at, self._due_at or entry.outcome.due_at)
        now, wall = self._tools.clock.monotonic(), self._crew.steady.now()
        hosts = [host for host in committed.hosts if host.stage <= self._stage]
        self._frontier.welcome(hosts, now=now, wall=wall)
        self._frontier.changed.ring()

    async def recalled(self, items: list[Item]) -> list[Item]:
        """In a run that asks for pages again: with what the earlier run has of them."""
        if self._job.rescan_of is None:
            return items
        return await self._tools.ledger.earlier(self._crew.lease, items)

    async def stop(self) -> None:
        """Let go of hosts that are being met."""
        meetings = list(self._meetings)
        for task in meetings:
            task.cancel()
        await asyncio.gather(*meetings, return_exceptions=True)

    async def _begin(self) -> None:
        """Enter the first phase if the job is new, and see what waits."""
        phases = deque(self._handler.phases)
        if self._job.phase in phases:
            while phases.popleft() != self._job.phase:
                self._stage += 1
        else:
            await self._crew.enter(phases.popleft())
        self._phases = phases
        self._due_at = await self._next_due(since=0.0)
        await self._more_hosts()

    async def _fill_lane(self, lane: Lane) -> None:
        share = self._frontier.share
        self._frontier.filling()
        items = await self.recalled(
            await self._tools.ledger.take(self._crew.lease, lane.host_id, limit=share, taken=lane.held)
        )
        self._frontier.fill(lane, items, asked=share)
        self._crew.call()

    async def _fill_due(self) -> None:
        wall = self._crew.steady.now()
        due = await self._tools.ledger.take_due(
            self._crew.lease,
            now=wall,
            latest=wall + DUE_CAP_S,
            limit=MAX_DUE,
            taken=self._frontier.put_already,
            stage=self._stage,
        )
        for item in await self.recalled(due):
            self._frontier.put(item, now=self._tools.clock.monotonic())
        later = wall if len(due) == MAX_DUE else await self._next_due(since=wall)
        # What is due still is in hand by now, or is one too many: asked at once, the ledger would say the same again.
        self._due_at = wall + 1.0 if later == wall else later
        self._crew.call()

    async def _next_due(self, *, since: float) -> float | None:
        """When the next item is due that waits for a time; at once if that time is past belief (a clock jumped)."""
        wall = self._crew.steady.now()
        due = await self._tools.ledger.next_due(self._crew.lease, now=since, stage=self._stage)
        return due if due is None or due <= wall + DUE_CAP_S else wall

    async def _look_further(self) -> bool:
        """Whether there was anything beyond the hosts in memory: other hosts, links to judge again, another phase."""
        if self._frontier.crowded or self._hosts_upto:
            self._make_room()
            # A round that brings nobody may have been what the job's end waited for.
            if self._frontier.room and await self._more_hosts():
                return True
        if not self._frontier.empty or not self._crew.idle:
            return False
        rejudged = await self._tools.ledger.take_rejudged(self._crew.lease, limit=MAX_DUE, taken=[])
        for item in rejudged:
            self._frontier.put_first(item)
        if rejudged:
            self._crew.call()
            return False
        if await self._more_hosts():
            return True
        self._due_at = await self._next_due(since=0.0)
        if self._due_at is None:
            await self._next_phase()
        return False

    async def _next_phase(self) -> None:
        """What waited for it is brought in once the checkpoint says that it has begun."""
        if not self._phases:
            await self._crew.enter(None)
            return
        await self._crew.enter(self._phases.popleft())
        self._stage += 1
        self._frontier.changed.ring()

    async def _more_hosts(self) -> bool:
        """As many hosts as fit, in rounds by their ids; False where a round has come to its end with none.

        Whom a commit turns away meanwhile, another round finds.
        """
        if not self._hosts_upto:
            self._frontier.crowded = False
        now, wall = self._tools.clock.monotonic(), self._crew.steady.now()
        limit = min(MAX_HOSTS_ASKED, self._frontier.room)
        hosts = await self._tools.ledger.queued_hosts(
            self._crew.lease, after=self._hosts_upto, limit=limit, stage=self._stage
        )
        self._hosts_upto = hosts[-1].id if len(hosts) == limit else 0
        self._frontier.beyond = bool(self._hosts_upto)
        fresh = [host for host in hosts if self._frontier.lane(host.id) is None]
        self._frontier.welcome(fresh, now=now, wall=wall)
        return bool(fresh or self._hosts_upto)

    def _make_room(self) -> None:
        """Now and then, where hosts wait for a place: those that may not be asked for long give theirs up."""
        now = self._tools.clock.monotonic()
        if not self._frontier.room and self._make_room_at <= now:
            self._make_room_at = now + NAP_S
            self._frontier.make_room(now)

    def _meet_strangers(self) -> None:
        """Learn new hosts' rules, a few at once; their items wait meanwhile."""
        while len(self._meetings) < self._job.pace.concurrency:
            lane = self._frontier.stranger(self._tools.clock.monotonic())
            if lane is None:
                return
            task = asyncio.create_task(self._meet(lane))
            self._meetings.add(task)
            task.add_done_callback(self._met)

    async def _meet(self, lane: Lane) -> None:
        try:
            pace = await self._handler.meet(lane.name)
        except Exception:
            log.exception("learning the rules of %s failed", lane.name)
            pace = HostPace(per_host=1, delay_s=max(1.0, self._job.pace.delay_s))
        self._frontier.met(lane, pace)

    def _met(self, meeting: asyncio.Task[None]) -> None:
        """Its items may be taken, and another host may be met."""
        self._meetings.discard(meeting)
        self._frontier.changed.ring()
        self._crew.call()

    async def _rest(self) -> None:
        """Until something changes, the next host may be asked, or an item is due."""
        now, wall = self._tools.clock.monotonic(), self._crew.steady.now()
        if self._frontier.woken(now):
            self._crew.call()
        wake = self._frontier.wake_at(now)
        waits = [] if wake is None else [wake - now]
        # Where no more due items fit, the next commit makes room, and rings.
        if self._due_at is not None and not (self._some_due and self._frontier.full):
            waits.append(self._due_at - wall)
        idle = self._crew.idle and not self._meetings
        self.waiting_until = wall + min(waits) if idle and waits else None
        await self._frontier.changed.heard(min(MAX_REST_S, max(0.001, min(waits))) if waits else None)
        self.waiting_until = None
