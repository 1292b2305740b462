"""How hosts are asked, whatever for: by the rules of robots.txt, at the pace that they want, again where that may help.

Every pipeline that fetches has one of these for each claim.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from holdfast.crawl.outage import Outages
from holdfast.crawl.reach import DEFAULT_USER_AGENT
from holdfast.crawl.robots import FOR_GOOD, Robots, Rules, Unknown
from holdfast.crawl.setbacks import ROBOTS, Setbacks, unreachable
from holdfast.crawl.throttle import Throttle
from holdfast.domain.item import Item, Outcome, RetryAt, Skipped
from holdfast.domain.retry import RetryPolicy
from holdfast.domain.url import hostname, origin
from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import Fetcher, Response
from holdfast.ports.pipeline import HostPace, PipelineRun


@dataclass(frozen=True, slots=True)
class Means:
    """What asking takes beside the fetcher."""

    clock: Clock
    jitter: Callable[[], float]
    policy: RetryPolicy


@dataclass(frozen=True, slots=True)
class Manners:
    """By which name we go, and whether robots.txt is asked for."""

    user_agent: str = DEFAULT_USER_AGENT
    ignore_robots: bool = False
    keep: Collection[str] = ()
    """Hosts whose robots.txt is wanted as a response as well; see Robots."""


class Asker:
    """What a claim knows of the hosts that it asks."""

    def __init__(self, run: PipelineRun, fetcher: Fetcher, means: Means, manners: Manners) -> None:
        self._pace = run.job.pace
        self._repace = run.repace
        self._clock = means.clock
        self._ignore_robots = manners.ignore_robots
        self._outages = Outages(means.clock, means.jitter, means.policy)
        self._throttle: Throttle | None = None
        if self._pace.target is not None:
            self._throttle = Throttle(
                means.clock, target=self._pace.target, max_delay_s=self._pace.max_delay_s
            )
        self.robots = Robots(
            fetcher,
            means.clock,
            means.jitter,
            user_agent=manners.user_agent,
            policy=means.policy,
            outages=self._outages,
            keep=manners.keep,
        )
        self.setbacks = Setbacks(means.clock, means.jitter, means.policy, self._outages)
        """What becomes of items that gave no good answer."""

    async def close(self) -> None:
        """Nobody waits for rules any more."""
        await self.robots.close()

    async def meet(self, host: str) -> HostPace:
        """Ask for robots.txt. With a crawl-delay: one request at a time, with that delay or ours."""
        pace = await self._learnt(host)
        return pace if self._throttle is None else self._throttle.met(host, pace)

    def forbids(self, url: str) -> bool:
        """Whether the robots.txt of its host, if that has been asked for, shuts the address out."""
        rules = None if self._ignore_robots else self.robots.known(origin(url))
        return isinstance(rules, Rules) and not rules.allows(url)

    async def _learnt(self, host: str) -> HostPace:
        pace = HostPace(self._pace.per_host, self._pace.delay_s, machine=hostname(f"{host}/"))
        if self._ignore_robots:
            return replace(pace, asked=False)
        rules = await self.robots.of(host)
        delay = rules.delay_s if isinstance(rules, Rules) else None
        if delay is not None:
            pace = replace(pace, per_host=1, delay_s=max(delay, pace.delay_s))
        return replace(pace, until=rules.until)

    async def refusal(self, item: Item, *, anyway: bool = False) -> Outcome | None:
        """What becomes of an item that may not be asked for, or not now.

        `anyway`: whatever the rules say, once they are known.
        """
        if item.host_answered and not self._outages.knows(item.host):
            self._outages.answered(item.host)
        if self._ignore_robots:
            return None
        rules = self.robots.known(item.host) or await self.robots.of(item.host)
        if isinstance(rules, Unknown):
            if rules.until == FOR_GOOD:
                return unreachable(rules.reason)
            due = self._clock.wall() + max(0.0, rules.until - self._clock.monotonic())
            return RetryAt(due, rules.reason, due, tried=False)
        return None if anyway or rules.allows(item.url) else Skipped(ROBOTS)

    def answered(self, item: Item, response: Response) -> None:
        """What an answer tells of its host, whatever it says."""
        if self._throttle is not None:
            pace = self._throttle.answered(item.host, response.status, response.elapsed_s)
            if pace is not None:
                self._repace(item.host_id, pace)
        if response.status < 500:  # noqa: PLR2004 - server errors
            self._outages.answered(item.host)
        if response.status < 400:  # noqa: PLR2004 - what was asked for
            self.setbacks.answered(item.host)
