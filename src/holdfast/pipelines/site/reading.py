"""The reading room: what a fetched body gives, by the kind of its item and by what it turns out to be."""

import asyncio
from collections.abc import Mapping
from typing import Any

from holdfast.crawl.readers import text
from holdfast.domain.item import Consulted, Done, Found, Item, Outcome, Record
from holdfast.pipelines.site.belonging import Belonging
from holdfast.pipelines.site.facts import facts_of, page_facts, source_facts
from holdfast.pipelines.site.families import content
from holdfast.pipelines.site.leads import Answer, Leads, leads_of
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.fetcher import Response
from holdfast.ports.segments import Exchange

BIG_BODY_BYTES = 512 * 1024
"""From here on a body is read off the loop."""


class ReadingRoom:
    """Reads the bodies of a claim. `token` is the name by which pages may speak of us."""

    def __init__(self, spec: SiteSpec, token: str, belonging: Belonging) -> None:
        self._spec = spec
        self._token = token
        self._belonging = belonging

    async def receive(self, item: Item, response: Response) -> Outcome:
        """Done or consulted, with its record and every address in it."""
        # What is packed may be far larger than it looks.
        if len(response.body) > BIG_BODY_BYTES or response.body.startswith(b"\x1f\x8b"):
            data, digest, leads = await asyncio.to_thread(self._read, item, response)
        else:
            data, digest, leads = self._read(item, response)
        gathered = await self._belonging.gather(leads)
        data |= source_facts(leads) if leads.consulted else page_facts(leads)
        # Nothing may wait or fail between here and the return: from now on these links count as reported.
        findings, unkept = self._belonging.report(gathered, item)
        data["links"] = gathered.count
        data["unkept"] = unkept
        evidence = Exchange(response.undecoded(), digest)
        reason = f"http_{response.status}"
        if leads.consulted:
            return Consulted((Record("source", data, evidence),), findings, unkept, reason)
        barren = self._barren(item, response, leads, findings)
        return Done((Record("page", data, evidence),), findings, unkept, reason, barren)

    def _barren(
        self, item: Item, response: Response, leads: Leads, findings: tuple[Found, ...]
    ) -> Mapping[str, Any] | None:
        """The notes, where addresses like this one are given up from here on."""
        if len(response.body) > BIG_BODY_BYTES:
            return None
        document = leads.document
        onward = (found.url for found in findings if found.skip is None)

        def said() -> bytes:
            words = text(response.body, response.header("content-type") or "", document.charset)
            return content(item.url, words, document.links, response.body)

        closed = self._belonging.families.read(item.url, item.depth, onward, said)
        if closed is None:
            return None
        self._belonging.close_family(closed)
        return self._belonging.notes.to_json()

    def _read(self, item: Item, response: Response) -> tuple[dict[str, Any], bytes, Leads]:
        data, digest = facts_of(response)
        answer = Answer(item.url, item.kind, response.headers, response.body, data["content_type"])
        return data, digest, leads_of(self._spec, self._token, answer)
