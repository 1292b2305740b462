"""One address of a plugin's job, from robots.txt to its outcome."""

import asyncio
import logging
from collections.abc import Sequence

from holdfast.crawl.asking import Asker, Manners, Means
from holdfast.crawl.document import Document
from holdfast.crawl.evidence import facts_of, record_of
from holdfast.crawl.reach import DEFAULT_USER_AGENT
from holdfast.crawl.readers import takes_long
from holdfast.crawl.redirects import REDIRECTS, Chains
from holdfast.crawl.setbacks import failed
from holdfast.crawl.visit import visit
from holdfast.domain.item import Done, Failed, Item, Outcome, Record, Redirected
from holdfast.pipelines.plugin.pipeline import PAGE, findings, redirected_to
from holdfast.pipelines.plugin.rows import ROW
from holdfast.pipelines.plugin.spec import PluginSpec
from holdfast.pipelines.plugin.visiting import Visited, VisitFailed, Visitor
from holdfast.plugin import Page
from holdfast.ports.fetcher import Fetcher, FetchFailed, Request, Response
from holdfast.ports.pipeline import HostPace, PipelineRun
from holdfast.ports.segments import Exchange

log = logging.getLogger(__name__)


class PluginHandler:
    """A plugin at work on one claim."""

    def __init__(
        self, run: PipelineRun, visitor: Visitor, phases: Sequence[str], asking: tuple[Fetcher, Means]
    ) -> None:
        spec = PluginSpec.from_json(run.job.spec)
        self._fetcher, means = asking
        manners = Manners(spec.user_agent or DEFAULT_USER_AGENT, spec.ignore_robots)
        self._asker = Asker(run, self._fetcher, means, manners)
        self._visitor = visitor
        self._phases = phases
        self._max_depth = run.job.limits.max_depth
        self._chains = Chains()

    @property
    def phases(self) -> Sequence[str]:
        """The plugin's."""
        return self._phases

    async def close(self) -> None:
        """Let go of connections."""
        await self._asker.close()
        await self._fetcher.close()

    async def meet(self, host: str) -> HostPace:
        """Ask for robots.txt."""
        return await self._asker.meet(host)

    async def handle(self, item: Item) -> Outcome:
        """Whatever the address comes to. What its author did wrong costs this page alone."""
        refusal = await self._asker.refusal(item)
        if refusal is not None:
            return refusal
        try:
            response = await visit(self._fetcher, Request(item.url))
        except FetchFailed as error:
            return self._asker.setbacks.unfetched(item, error)
        self._asker.answered(item, response)
        if 200 <= response.status < 300:  # noqa: PLR2004 - success
            return await self._received(item, response)
        if response.status in REDIRECTS:
            return self._redirected(item, response)
        return self._asker.setbacks.unanswered(item, response)

    def _redirected(self, item: Item, response: Response) -> Outcome:
        target = self._chains.target(item, response)
        if isinstance(target, Failed):
            return target
        finding = redirected_to(target, self._visitor, item)
        record = record_of("redirect", response, location=target)
        return Redirected((finding,), f"http_{response.status}", (record,))

    async def _received(self, item: Item, response: Response) -> Outcome:
        page = Page(item.url, item.kind, response.status, response.headers, response.body)
        try:
            if takes_long(response.body):
                visited, document = await asyncio.to_thread(self._visit, page)
            else:
                visited, document = self._visit(page)
        except VisitFailed:
            log.exception(
                "visiting %s failed",
                item.url,
                extra={"error_type": "internal_error", "retry_count": item.attempts},
            )
            return failed("internal_error", response)
        found = tuple(findings(visited, self._visitor, item, self._max_depth))
        records = (
            _page_record(document, response, visited),
            *(Record(ROW, {"row": row}) for row in visited.rows),
        )
        return Done(records, found, reason=f"http_{response.status}")

    def _visit(self, page: Page) -> tuple[Visited, Document]:
        return self._visitor.visit(page), page.document


def _page_record(document: Document, response: Response, visited: Visited) -> Record:
    data, digest = facts_of(response)
    data |= {
        "kind": document.kind.value,
        "title": document.title,
        "lang": document.lang,
        "description": document.description,
        "canonical": None,
        "charset": document.charset,
        "noindex": False,
        "links": len(visited.leads),
        "records": len(visited.rows),
        "records_sha256": visited.digest,
    }
    return Record(PAGE, data, Exchange(response.undecoded(), digest))
