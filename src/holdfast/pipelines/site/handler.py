"""One URL, from robots.txt to its outcome: the way is here, what a body gives is decided in its kind's room."""

import asyncio
from collections.abc import Callable, Sequence

from holdfast.crawl.asking import Asker, Manners, Means
from holdfast.crawl.directives import token_of
from holdfast.crawl.reach import DEFAULT_USER_AGENT
from holdfast.crawl.redirects import REDIRECTS
from holdfast.crawl.visit import visit
from holdfast.domain.item import Failed, Item, Outcome, Skipped
from holdfast.domain.retry import RetryPolicy
from holdfast.domain.url import origin
from holdfast.pipelines.site.again import conditions, stored_page
from holdfast.pipelines.site.belonging import Belonging
from holdfast.pipelines.site.discovery import ABSENT, PAGE, ROBOTS_TXT
from holdfast.pipelines.site.errands import Errands
from holdfast.pipelines.site.mime import MIME
from holdfast.pipelines.site.reading import ReadingRoom
from holdfast.pipelines.site.redirects import Redirects
from holdfast.pipelines.site.rendering import RenderingRoom
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import UNWANTED, Fetcher, FetchFailed, Request, Response
from holdfast.ports.pipeline import HostPace, PipelineRun
from holdfast.ports.renderer import Renderer
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
        *,
        renderer: Renderer | None = None,
    ) -> None:
        """Without a `renderer` every page is read as it was served."""
        self._spec = SiteSpec.from_json(run.job.spec)
        self._fetcher = fetcher
        agent = self._spec.user_agent or DEFAULT_USER_AGENT
        keep = {origin(url) for url in self._spec.start_urls} if self._spec.discovery.sitemaps else ()
        means = Means(clock, jitter, policy or RetryPolicy())
        self._asker = Asker(run, fetcher, means, Manners(agent, self._spec.ignore_robots, keep))
        self._belonging = belonging = Belonging(self._spec, run.job.limits.max_depth, run.cursor, run.outside)
        self._redirects = Redirects(belonging)
        # Each may hold fifty thousand addresses until it is committed.
        self._lists = asyncio.Semaphore(LISTS_AT_A_TIME)
        self._renderer = renderer
        self._room = ReadingRoom(self._spec, token_of(agent), belonging, self._rendering(run, clock))
        self._reread = run.reread

    def _rendering(self, run: PipelineRun, clock: Clock) -> RenderingRoom | None:
        if self._renderer is None:
            return None
        robots = None if self._spec.ignore_robots else self._asker.robots
        errands = Errands(self._fetcher, robots, run.job.pace, clock)
        return RenderingRoom(self._spec.render, self._renderer, errands, self._asker.setbacks, run.hold)

    @property
    def phases(self) -> Sequence[str]:
        """A site crawl has one."""
        return ("crawl",)

    async def close(self) -> None:
        """Let go of connections, and of the browser."""
        if self._renderer is not None:
            await self._renderer.close()
        await self._asker.close()
        await self._fetcher.close()
        self._room.close()

    async def meet(self, host: str) -> HostPace:
        """Ask for robots.txt."""
        return await self._asker.meet(host)

    def forbids(self, url: str) -> bool:
        """Whether the robots.txt of its host, if that has been asked for, shuts the address out."""
        return self._asker.forbids(url)

    async def handle(self, item: Item) -> Outcome:
        """Whatever the URL comes to. Raises only for what we did wrong."""
        refusal = await self._asker.refusal(item, anyway=item.kind == ROBOTS_TXT) or self._trap(item)
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
            only_if = conditions(item)
            response = await self._answer(item, only_if)
            stored: Reading | None = None
            if only_if and response.status == NOT_MODIFIED:
                stored = await stored_page(item, self._reread)
                response = response if stored is not None else await self._answer(item)
        except FetchFailed as failed:
            unwanted = failed.reason == UNWANTED
            return Skipped(MIME) if unwanted else self._asker.setbacks.unfetched(item, failed)
        self._asker.answered(item, response)
        status = response.status
        if 200 <= status < 300:  # noqa: PLR2004 - success
            return await self._room.receive(item, response)
        if stored is not None:
            return await self._room.keep(item, response, stored)
        if status in REDIRECTS:
            return self._redirects.follow(item, response)
        outcome = self._asker.setbacks.unanswered(item, response)
        # It was looked for without anybody having promised it.
        absent = item.kind != PAGE and status < 500 and isinstance(outcome, Failed)  # noqa: PLR2004 - as above
        return Skipped(ABSENT) if absent else outcome

    async def _answer(self, item: Item, headers: tuple[tuple[str, str], ...] = ()) -> Response:
        """What was answered for the rules' sake a moment ago isn't asked for twice."""
        had = self._asker.robots.taken(item.host) if item.kind == ROBOTS_TXT else None
        wanted = self._wants if item.kind == PAGE and not self._spec.mime.any else None
        return had or await visit(self._fetcher, Request(item.url, headers, wanted=wanted))

    def _wants(self, status: int, content_type: str) -> bool:
        return not 200 <= status < 300 or self._spec.mime.fetches(content_type)  # noqa: PLR2004 - success

    def _trap(self, item: Item) -> Outcome | None:
        if item.kind != PAGE or item.url in self._belonging.judge.seeds:
            return None
        trap = self._belonging.families.refuse(item.url)
        return None if trap is None else Skipped(trap.value)
