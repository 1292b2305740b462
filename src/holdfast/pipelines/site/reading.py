"""The reading room: what a fetched body gives, by the kind of its item and by what it turns out to be."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

from holdfast.crawl.document import Kind
from holdfast.crawl.evidence import facts_of
from holdfast.crawl.hollow import is_hollow
from holdfast.crawl.pdf import PdfReader, may_be_one
from holdfast.crawl.readers import BIG_BODY_BYTES, is_pdf, takes_long, text
from holdfast.domain.item import Consulted, Done, Failed, Found, Item, Outcome, Record, Skipped
from holdfast.pipelines.site.again import original_of, stands_for, unchanged, validators
from holdfast.pipelines.site.belonging import Belonging
from holdfast.pipelines.site.discovery import PAGE
from holdfast.pipelines.site.facts import page_facts, rendering_of, rendering_record, source_facts
from holdfast.pipelines.site.families import content
from holdfast.pipelines.site.leads import Answer, Leads, leads_of
from holdfast.pipelines.site.mime import MIME
from holdfast.pipelines.site.rendering import RenderingRoom
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.fetcher import Response
from holdfast.ports.renderer import RenderFailed
from holdfast.ports.segments import Exchange, Original, Reading, headers_since

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Read(NamedTuple):
    """An answer, and where it leads."""

    answer: Answer
    leads: Leads


class ReadingRoom:
    """Reads the bodies of a claim. `token` is the name by which pages may speak of us."""

    def __init__(
        self, spec: SiteSpec, token: str, belonging: Belonging, rendering: RenderingRoom | None = None
    ) -> None:
        """Without `rendering` every page is read as it was served."""
        self._spec = spec
        self._token = token
        self._belonging = belonging
        self._rendering = rendering
        self._pdfs = PdfReader()
        # They are read one at a time anyway, for long: those that wait hold no thread that others need.
        self._pdf_turn = asyncio.Lock()

    def close(self) -> None:
        """Whatever is being read is dropped."""
        self._pdfs.stop()

    async def receive(self, item: Item, response: Response) -> Outcome:
        """Done or consulted, with its record and every address in it; skipped, if it is of a type that nobody wants."""
        mime = self._spec.mime
        if item.kind == PAGE and not mime.any and not mime.fetches(response.header("content-type") or ""):
            return Skipped(MIME)
        data, digest, read = await self._off_the_loop(response.body, self._read, item, response)
        data |= validators(response)
        original = original_of(item, digest, data["encoding"])
        if original is not None:
            data |= stands_for(original)
        return await self._shown(item, read, data, Exchange(response.undecoded(), digest, original))

    async def keep(self, item: Item, response: Response, stored: Reading) -> Outcome:
        """Done, though the server only said that the page has not changed: its row and links are the stored body's."""
        assert item.earlier is not None  # noqa: S101 - nobody else is asked whether it has changed
        original: Original = item.earlier.exchange
        data = unchanged(item.earlier.data, response, original)
        headers = headers_since(stored.headers, response.headers)
        answer = Answer(item.url, item.kind, headers, stored.body, data["content_type"], data.get("charset"))
        read = await self._off_the_loop(stored.body, self._led, answer)
        return await self._shown(item, read, data, Exchange(response, original.digest, original))

    async def _off_the_loop(self, body: bytes, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What takes long isn't done here."""
        if not takes_long(body):
            return work(*args, **kwargs)
        if may_be_one(body):
            async with self._pdf_turn:
                return await asyncio.to_thread(work, *args, **kwargs)
        return await asyncio.to_thread(work, *args, **kwargs)

    async def _shown(self, item: Item, read: Read, data: dict[str, Any], evidence: Exchange) -> Outcome:
        """What the page gives, as its scripts leave it if it is to be shown by a browser."""
        rendering = self._rendering
        if rendering is None and item.depth == 0:
            _hint(item, read)
        if rendering is None or not rendering.wants(item, read.answer, read.leads):
            return await self._outcome(item, read, data, (evidence,))
        try:
            rendered = await rendering.show(item, read.answer)
        except RenderFailed as failed:
            again = rendering.later(item, failed)
            if again is not None:
                return again
            if rendering.strict:
                return Failed(failed.reason, (Record("error", data | {"reason": failed.reason}, evidence),))
            return await self._outcome(item, read, data | {"unrendered": failed.reason}, (evidence,))
        shown = await self._off_the_loop(
            rendered.body, self._led, read.answer._replace(body=rendered.body, charset="utf-8")
        )
        data["rendered"] = True
        return await self._outcome(item, shown, data, (evidence, rendering_of(item.url, rendered)))

    async def _outcome(
        self, item: Item, read: Read, data: dict[str, Any], evidence: tuple[Exchange, ...]
    ) -> Outcome:
        leads = read.leads
        if not leads.consulted and not self._spec.mime.keeps(read.answer.content_type, read.answer.body):
            return Skipped(MIME)
        gathered = await self._belonging.gather(leads)
        data |= source_facts(leads) if leads.consulted else page_facts(leads)
        # Nothing may wait or fail between here and the return: from now on these links count as reported.
        findings, unkept = self._belonging.report(gathered, item)
        data["links"] = gathered.count
        data["unkept"] = unkept
        exchange, *renderings = evidence
        reason = f"http_{exchange.response.status}"
        if leads.consulted:
            return Consulted((Record("source", data, exchange),), findings, unkept, reason)
        records = (Record("page", data, exchange), *map(rendering_record, renderings))
        barren = self._barren(item, read, findings)
        return Done(records, findings, unkept, reason, barren)

    def _barren(self, item: Item, read: Read, findings: tuple[Found, ...]) -> Mapping[str, Any] | None:
        """The notes, where addresses like this one are given up from here on."""
        body, document = read.answer.body, read.leads.document
        if len(body) > BIG_BODY_BYTES or document.kind is Kind.PDF:
            return None
        onward = (found.url for found in findings if found.skip is None)

        def said() -> bytes:
            words = text(body, read.answer.content_type, document.charset)
            return content(item.url, words, document.links, body)

        closed = self._belonging.families.read(item.url, item.depth, onward, said)
        if closed is None:
            return None
        self._belonging.close_family(closed)
        return self._belonging.notes.to_json()

    def _read(self, item: Item, response: Response) -> tuple[dict[str, Any], bytes, Read]:
        data, digest = facts_of(response)
        answer = Answer(item.url, item.kind, response.headers, response.body, data["content_type"])
        return data, digest, self._led(answer)

    def _led(self, answer: Answer) -> Read:
        if is_pdf(answer.content_type, answer.body):
            answer = answer._replace(document=self._pdfs.read(answer.body))
        return Read(answer, leads_of(self._spec, self._token, answer))


def _hint(item: Item, read: Read) -> None:
    """Whoever starts at a page that is empty without scripts gets nothing of the site, and should hear why."""
    if is_hollow(read.answer.body, read.leads.document):
        log.warning("%s shows nothing without its scripts; --render auto has a browser run them", item.url)
