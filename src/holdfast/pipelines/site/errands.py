"""What pages ask for while a browser shows them: scripts, styles and data, under the rules that pages are under.

Each request is judged by robots.txt, and goes by the crawl's own fetcher: guard, proxies, secrets and bandwidth are the
same. A page's requests to a host come in one go, `per_host` of them at a time; then that host is left alone for as many
delays as it was asked, so that on the average it is asked no more often than without a browser.
"""

import asyncio
from collections import OrderedDict
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from holdfast.crawl.redirects import REDIRECTS
from holdfast.crawl.robots import Robots, Rules
from holdfast.domain.job import Pace
from holdfast.domain.url import hostname, join, join_location, origin
from holdfast.ports.clock import Clock
from holdfast.ports.faults import FaultPoint, reached
from holdfast.ports.fetcher import Fetcher, FetchFailed, Request, Response
from holdfast.ports.renderer import Ask

MOST_REQUESTS: Final = 100
"""Of one page; what is remembered isn't counted."""
MOST_BYTES: Final = 32 * 1024 * 1024
"""Of bodies, likewise."""
MOST_HOPS: Final = 5
LONGEST_WAIT_S: Final = 60.0
"""So long a page waits in all for hosts that are to be left alone."""
REMEMBERED_BYTES: Final = 64 * 1024 * 1024
_LARGEST_REMEMBERED: Final = 4 * 1024 * 1024
_LASTING: Final = frozenset({"script", "stylesheet"})
_MOST_MACHINES: Final = 10_000
_OK: Final = 200


@dataclass(slots=True)
class _Machine:
    """How a machine is treated. Times are on the monotonic clock."""

    turns: asyncio.Semaphore
    free_at: float = 0.0


class Errands:
    """The requests of all pages that a claim shows. Scripts and styles are remembered for the claim."""

    def __init__(self, fetcher: Fetcher, robots: Robots | None, pace: Pace, clock: Clock) -> None:
        """Without `robots`, nobody is asked what may be fetched."""
        self._fetcher = fetcher
        self._robots = robots
        self._pace = pace
        self._clock = clock
        self._machines: OrderedDict[str, _Machine] = OrderedDict()
        self._remembered: OrderedDict[str, Response] = OrderedDict()
        self._remembered_bytes = 0
        self._coming: dict[str, asyncio.Lock] = {}

    def begin(self, url: str) -> "Errand":
        """For one page that is about to be shown."""
        return Errand(self, url)

    async def rules(self, url: str) -> float:
        """The delay that its host wants; FetchFailed where it may not be asked for that."""
        if self._robots is None:
            return self._pace.delay_s
        rules = await self._robots.of(origin(url))
        if not isinstance(rules, Rules) or not rules.allows(url):
            raise FetchFailed("robots", url, transient=False)
        return max(self._pace.delay_s, rules.delay_s or 0.0)

    async def request(self, request: Request) -> Response:
        """One request; no redirect is followed."""
        return await self._fetcher.fetch(request)

    def machine(self, url: str) -> _Machine:
        """That of the URL's host."""
        name = hostname(url)
        machine = self._machines.get(name)
        if machine is None:
            machine = self._machines[name] = _Machine(asyncio.Semaphore(self._pace.per_host))
            if len(self._machines) > _MOST_MACHINES:
                self._machines.popitem(last=False)
        return machine

    def now(self) -> float:
        """On the monotonic clock."""
        return self._clock.monotonic()

    def remembered(self, url: str) -> Response | None:
        """What was answered before in this claim."""
        response = self._remembered.get(url)
        if response is not None:
            self._remembered.move_to_end(url)
        return response

    def remember(self, url: str, response: Response) -> None:
        """A script or a style that was whole, unless its server asks that nobody keep it."""
        unkept = "no-store" in (response.header("cache-control") or "").lower()
        if response.status != _OK or unkept or len(response.body) > _LARGEST_REMEMBERED:
            return
        self._remembered[url] = response
        self._remembered_bytes += len(response.body)
        while self._remembered_bytes > REMEMBERED_BYTES:
            _, oldest = self._remembered.popitem(last=False)
            self._remembered_bytes -= len(oldest.body)

    def coming(self, url: str) -> asyncio.Lock:
        """Held by whoever fetches what others want as well."""
        return self._coming.setdefault(url, asyncio.Lock())

    def came(self, url: str) -> None:
        """Nobody waits for it any more."""
        lock = self._coming.get(url)
        if lock is not None and not lock.locked():
            del self._coming[url]


@dataclass(slots=True)
class Errand:
    """What one page asks for. Implements the port Asked."""

    _errands: Errands
    _url: str
    waited_s: float = 0.0
    _requests: int = 0
    _bytes: int = 0
    _met: set[str] = field(default_factory=set)
    """Machines that were waited for."""

    async def fetch(self, ask: Ask) -> Response:
        """What the page gets; FetchFailed where it may not have it."""
        url = join(self._url, ask.url)
        if url is None:
            raise FetchFailed("bad_url", ask.url, transient=False)
        reached(FaultPoint.RENDERING, ask)
        if ask.kind not in _LASTING:
            return await self._followed(url, ask)
        async with AsyncExitStack() as held:
            # Several pages that are shown at once want the same script at once.
            held.callback(self._errands.came, url)
            await held.enter_async_context(self._errands.coming(url))
            response = self._errands.remembered(url)
            if response is None:
                response = await self._followed(url, ask)
                self._errands.remember(url, response)
        return response

    def end(self) -> float | None:
        """Until when the page's own host is to be left alone, on the monotonic clock; None: it needn't."""
        until = self._errands.machine(self._url).free_at
        return until if self._requests and until > self._errands.now() else None

    async def _followed(self, url: str, ask: Ask) -> Response:
        for _ in range(MOST_HOPS):
            response = await self._fetched(url, ask)
            if response.status not in REDIRECTS:
                return response
            target = join_location(url, response.header("location") or "")
            if target is None:
                return response
            if origin(target) != origin(url):
                # As browsers do: what was said to one host isn't said to another.
                ask = Ask(ask.url, ask.kind, tuple(_for_anybody(ask)))
            url = target
        raise FetchFailed("too_many_redirects", url, transient=False)

    async def _fetched(self, url: str, ask: Ask) -> Response:
        errands = self._errands
        delay_s = await errands.rules(url)
        machine = errands.machine(url)
        await self._wait_for(hostname(url), machine)
        if self._requests >= MOST_REQUESTS or self._bytes >= MOST_BYTES:
            raise FetchFailed("render_limit", url, transient=False)
        self._requests += 1
        machine.free_at = max(machine.free_at, errands.now()) + delay_s
        async with machine.turns:
            response = await errands.request(Request(url, ask.headers, max_bytes=MOST_BYTES - self._bytes))
        self._bytes += len(response.body)
        return response

    async def _wait_for(self, name: str, machine: _Machine) -> None:
        """Until what earlier pages asked of that machine is paid for. This page's own requests come in one go."""
        if name in self._met:
            return
        self._met.add(name)
        wait_s = min(machine.free_at - self._errands.now(), LONGEST_WAIT_S - self.waited_s)
        if wait_s > 0:
            self.waited_s += wait_s
            await asyncio.sleep(wait_s)


def _for_anybody(ask: Ask) -> list[tuple[str, str]]:
    return [pair for pair in ask.headers if pair[0].lower() not in {"authorization", "cookie"}]
