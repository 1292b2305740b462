"""What page and source records say beyond their responses."""

import hashlib
from typing import Any

from holdfast.crawl.document import Kind
from holdfast.domain.item import Record
from holdfast.domain.url import MAX_URL_BYTES
from holdfast.pipelines.site.leads import Leads
from holdfast.ports.fetcher import Response
from holdfast.ports.renderer import Rendered
from holdfast.ports.segments import RENDERED, Exchange


def page_facts(leads: Leads) -> dict[str, Any]:
    """What a page record says beyond its response."""
    document, canonical = leads.document, leads.canonical
    facts: dict[str, Any] = {
        "kind": document.kind.value,
        "title": document.title,
        "lang": document.lang,
        "description": document.description,
        "canonical": canonical if canonical is not None and len(canonical) <= MAX_URL_BYTES else None,
        "charset": document.charset,
        "noindex": leads.said.noindex,
    }
    if document.kind is Kind.PDF:
        # Where its links are judged again nobody may wait for a child that reads PDFs; `verify` reads them anew.
        facts |= {"hrefs": document.links, "cut": document.cut, "unread": document.unread}
    return facts


def source_facts(leads: Leads) -> dict[str, Any]:
    """Likewise of a record of what was consulted."""
    document = leads.document
    return {"kind": document.kind.value, "charset": document.charset, "cut": document.cut}


def rendering_of(url: str, rendered: Rendered) -> Exchange:
    """What a browser made of a page, on its way into a segment behind the response that it was made of."""
    response = Response(
        url=url,
        status=0,
        http_version="",
        reason_phrase="",
        headers=(("Content-Type", "text/html; charset=utf-8"),),
        payload=rendered.body,
        body=rendered.body,
        request_head=b"",
        ip="",
        fetched_at=rendered.at,
        elapsed_s=rendered.elapsed_s,
    )
    return Exchange(response, hashlib.sha256(rendered.body).digest(), rendering=True)


def rendering_record(exchange: Exchange) -> Record:
    """The record of that. It has no `size`: what counts as bytes of a page is what its server sent."""
    data = {
        "fetched_at": exchange.response.fetched_at,
        "encoding": RENDERED,
        "sha256": exchange.digest.hex(),
        "elapsed_ms": round(exchange.response.elapsed_s * 1000, 1),
    }
    return Record(RENDERED, data, exchange)
