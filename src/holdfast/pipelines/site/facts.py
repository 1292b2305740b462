"""What page and source records say beyond their responses."""

from typing import Any

from holdfast.crawl.document import Kind
from holdfast.domain.url import MAX_URL_BYTES
from holdfast.pipelines.site.leads import Leads


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
