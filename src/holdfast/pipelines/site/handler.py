"""One URL, from robots.txt to its outcome: the way is here, what a body gives is decided in its kind's room."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from holdfast.crawl.directives import token_of
from holdfast.crawl.outage import Outages
from holdfast.crawl.robots import FOR_GOOD, Robots, Rules, Unknown
from holdfast.crawl.throttle import Throttle
from holdfast.domain.item import Failed, Item, Outcome, RetryAt, Skipped
from holdfast.domain.retry import RetryPolicy
from holdfast.domain.url import hostname, origin
from holdfast.pipelines.site.again import conditions, stored_page
from holdfast.pipelines.site.belonging import Belonging
from holdfast.pipelines.site.discovery import ABSENT, PAGE, ROBOTS_TXT
from holdfast.pipelines.site.judge import ROBOTS
from holdfast.pipelines.site.mime import MIME
from holdfast.pipelines.site.reading import ReadingRoom
from holdfast.pipelines.site.redirects import REDIRECTS, Redirects
from holdfast.pipelines.site.setbacks import Setbacks, unreachable
from holdfast.pipelines.site.spec import DEFAULT_USER_AGENT, SiteSpec
from holdfast.pipelines.site.visit import visit
from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import UNWANTED, Fetcher, FetchFailed, Request, Response
from holdfast.ports.pipeline import HostPace, PipelineRun
from holdfast.ports.segments import NOT_MODIFIED, Reading

LISTS_AT_A_TIME = 2
"""So many sitemaps and the like are asked for and read at a time."""


class SiteHandler:
    """A site crawl at work on one claim.

    What it asks of the engine: outcomes are committed in the order in which they were returned, each of them, or
    the claim ends (what was reported once isn't reported again).
    """

    def __init__(
        self,
        run: PipelineRun,
        fetcher: Fetcher,
        clock: Clock,
        jitter: Callable[[], float],
        policy: RetryPolicy | None = None,
    ) -> None:
        self._spec = SiteSpec.from_json(run.job.spec)
        self._pace = run.job.pace
        self._fetcher = fetcher
        self._clock = clock
        policy = policy or RetryPolicy()
        agent = self._spec.user_agent or DEFAULT_USER_AGENT
        self._outages = Outages(clock, jitter, policy)
        keep = {origin(url) for url in self._spec.start_urls} if self._spec.discovery.sitemaps else ()
        self._robots = Robots(
            fetcher, clock, jitter, user_agent=agent, policy=policy, outages=self._outages, keep=keep
        )
        self._setbacks = Setbacks(clock, jitter, policy, self._outages)
        self._repace = run.repace
        self._throttle: Throttle | None = None
        if self._pace.target is not None:
            self._throttle = Throttle(clock, target=self._pace.target, max_delay_s=self._pace.max_delay_s)
        self._belonging = belonging = Belonging(self._spec, run.job.limits.max_depth, run.cursor, run.outside)
        self._redirects = Redirects(belonging)
        # Each may hold fifty thousand addresses until it is committed.
        self._lists = asyncio.Semaphore(LISTS_AT_A_TIME)
        self._room = ReadingRoom(self._spec, token_of(agent), belonging)
        self._reread = run.reread

    @property
    def phases(self) -> Sequence[str]:
        """A site crawl has one."""
        return ("crawl",)

    async def close(self) -> None:
        """Let go of connections."""
        await self._robots.close()
        await self._fetcher.close()
        self._room.close()

    async def meet(self, host: str) -> HostPace:
        """Ask for robots.txt. With a crawl-delay: one request at a time, with that delay or ours."""
        pace = await self._learnt(host)
        return pace if self._throttle is None else self._throttle.met(host, pace)

    async def _learnt(self, host: str) -> HostPace:
        pace = HostPace(self._pace.per_host, self._pace.delay_s, machine=hostname(f"{host}/"))
        if self._spec.ignore_robots:
            return replace(pace, asked=False)
        rules = await self._robots.of(host)
        delay = rules.delay_s if isinstance(rules, Rules) else None
        if delay is not None:
            pace = replace(pace, per_host=1, delay_s=max(delay, pace.delay_s))
        return replace(pace, until=rules.until)

    async def handle(self, item: Item) -> Outcome:
        """Whatever the URL comes to. Raises only for what we did wrong."""
        if item.host_answered and not self._outages.knows(item.host):
            self._outages.answered(item.host)
        refusal = await self._refusal(item) or self._trap(item)
        if refusal is not None:
            return refusal
        if item.kind == PAGE:
            outcome = await self._asked(item)
        else:
            async with self._lists:
                outcome = await self._asked(item)
        if isinstance(outcome, Failed):
            self._belonging.families.forget(item.url)
        return outcome

    async def _asked(self, item: Item) -> Outcome:
        try:
            response = await self._answer(item, conditions(item))
            stored = await self._unchanged(item, response)
            if response.status == NOT_MODIFIED and stored is None and conditions(item):
                response = await self._answer(item)
        except FetchFailed as failed:
            unwanted = failed.reason == UNWANTED
            return Skipped(MIME) if unwanted else self._setbacks.unfetched(item, failed)
        status = response.status
        if self._throttle is not None:
            pace = self._throttle.answered(item.host, status, response.elapsed_s)
            if pace is not None:
                self._repace(item.host_id, pace)
        if status < 500:  # noqa: PLR2004 - server errors
            self._outages.answered(item.host)
        if status < 400:  # noqa: PLR2004 - what was asked for
            self._setbacks.answered(item.host)
        if 200 <= status < 300:  # noqa: PLR2004 - success
            return await self._room.receive(item, response)
        if stored is not None:
            return await self._room.keep(item, response, stored)
        if status in REDIRECTS:
            return self._redirects.follow(item, response)
        outcome = self._setbacks.unanswered(item, response)
        # It was looked for without anybody having promised it.
        absent = item.kind != PAGE and status < 500 and isinstance(outcome, Failed)  # noqa: PLR2004 - as above
        return Skipped(ABSENT) if absent else outcome

    async def _answer(self, item: Item, headers: tuple[tuple[str, str], ...] = ()) -> Response:
        """What was answered for the rules' sake a moment ago isn't asked for twice."""
        had = self._robots.taken(item.host) if item.kind == ROBOTS_TXT else None
        wanted = self._wants if item.kind == PAGE and not self._spec.mime.any else None
        return had or await visit(self._fetcher, Request(item.url, headers, wanted=wanted))

    def _wants(self, status: int, content_type: str) -> bool:
        return not 200 <= status < 300 or self._spec.mime.fetches(content_type)  # noqa: PLR2004 - success

    def _trap(self, item: Item) -> Outcome | None:
        if item.kind != PAGE or item.url in self._belonging.judge.seeds:
            return None
        trap = self._belonging.families.refuse(item.url)
        return None if trap is None else Skipped(trap.value)

    async def _unchanged(self, item: Item, response: Response) -> Reading | None:
        """The stored body of a page that has not changed, where that was asked."""
        if response.status != NOT_MODIFIED or not conditions(item):
            return None
        return await stored_page(item, self._reread)

    async def _refusal(self, item: Item) -> Outcome | None:
        if self._spec.ignore_robots:
            return None
        rules = self._robots.known(item.host) or await self._robots.of(item.host)
        if isinstance(rules, Unknown):
            if rules.until == FOR_GOOD:
                return unreachable(rules.reason)
            due = self._clock.wall() + max(0.0, rules.until - self._clock.monotonic())
            return RetryAt(due, rules.reason, due, tried=False)
        allowed = item.kind == ROBOTS_TXT or rules.allows(item.url)
        return None if allowed else Skipped(ROBOTS)
