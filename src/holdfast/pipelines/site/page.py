"""The room of pages: what a fetched body gives as a row, and the links in it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from holdfast.crawl.document import Document
from holdfast.crawl.readers import read, text
from holdfast.domain.item import Done, Found, Item, Outcome, Record
from holdfast.pipelines.site.belonging import Belonging
from holdfast.pipelines.site.facts import base_of, facts_of, page_facts
from holdfast.pipelines.site.families import content
from holdfast.ports.fetcher import Response
from holdfast.ports.segments import Exchange

BIG_BODY_BYTES = 512 * 1024
"""From here on a body is read off the loop."""


class PageRoom:
    """Reads the pages of a claim."""

    def __init__(self, belonging: Belonging) -> None:
        self._belonging = belonging

    async def receive(self, item: Item, response: Response) -> Outcome:
        """Done, with its record and every link it names."""
        if len(response.body) > BIG_BODY_BYTES:
            data, digest, document = await asyncio.to_thread(_read, response)
        else:
            data, digest, document = _read(response)
        base = base_of(item.url, document)
        data |= page_facts(base, document)
        links = await self._belonging.resolve(base, document.links)
        # Nothing may wait or fail between here and the return: from now on these links count as reported.
        findings, unkept = self._belonging.report(links, base, (item.id, item.url), item.depth + 1)
        data["links"] = len(links)
        data["unkept"] = unkept
        return Done(
            (Record("page", data, Exchange(response.undecoded(), digest)),),
            findings,
            unkept,
            f"http_{response.status}",
            self._barren(item, response, document, findings),
        )

    def _barren(
        self, item: Item, response: Response, document: Document, findings: tuple[Found, ...]
    ) -> Mapping[str, Any] | None:
        """The notes, where addresses like this one are given up from here on."""
        if len(response.body) > BIG_BODY_BYTES:
            return None
        onward = (found.url for found in findings if found.skip is None)

        def said() -> bytes:
            words = text(response.body, response.header("content-type") or "", document.charset)
            return content(item.url, words, document.links, response.body)

        closed = self._belonging.families.read(item.url, item.depth, onward, said)
        if closed is None:
            return None
        self._belonging.close_family(closed)
        return self._belonging.notes.to_json()


def _read(response: Response) -> tuple[dict[str, Any], bytes, Document]:
    data, digest = facts_of(response)
    return data, digest, read(response.body, data["content_type"])
