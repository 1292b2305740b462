"""What is written down of a response, beside itself: the data of page, redirect and error records."""

import hashlib
from collections.abc import Iterable
from typing import Any

from holdfast.crawl.charset import by_label, of_content_type
from holdfast.crawl.html import Page, is_html, parse
from holdfast.domain.url import MAX_URL_BYTES, join
from holdfast.ports.fetcher import Response

MAX_HEADER_CHARS = 512


def joined_header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """All headers of that name (given in lower case) as one value."""
    return ", ".join(value for key, value in headers if key.lower() == name)


def facts_of(response: Response) -> tuple[dict[str, Any], bytes]:
    """What every record says of its response, and the SHA-256 of the payload."""
    digest = hashlib.sha256(response.payload).digest()
    encoding = joined_header(response.headers, "content-encoding")
    plain = response.body is response.payload or response.body == response.payload
    body_digest = digest if plain else hashlib.sha256(response.body).digest()
    return {
        "status": response.status,
        "fetched_at": response.fetched_at,
        "content_type": (response.header("content-type") or "").strip()[:MAX_HEADER_CHARS],
        "encoding": encoding[:MAX_HEADER_CHARS],
        "size": len(response.body),
        "sha256": body_digest.hex(),
        "http_version": response.http_version,
        "elapsed_ms": round(response.elapsed_s * 1000, 1),
    }, digest


def read_page(body: bytes, content_type: str, charset: str | None = None) -> Page | None:
    """The page in an HTML body; None for other content. `charset` is what an earlier reading found out."""
    if not is_html(content_type, body):
        return None
    return parse(body, charset or of_content_type(content_type))


def base_of(url: str, page: Page) -> str:
    """What the links of a page at that URL are relative to."""
    # A <base> that leads elsewhere than the web is ignored, as browsers do.
    return (join(url, page.base_href) if page.base_href else None) or url


def page_facts(base: str, page: Page | None, content_type: str) -> dict[str, Any]:
    """What a page record says beyond its response."""
    if page is None:
        charset = by_label(of_content_type(content_type)) or ""
        return {"title": "", "lang": "", "description": "", "canonical": None, "charset": charset}
    canonical = join(base, page.canonical) if page.canonical else None
    return {
        "title": page.title,
        "lang": page.lang,
        "description": page.description,
        "canonical": canonical if canonical is not None and len(canonical) <= MAX_URL_BYTES else None,
        "charset": page.charset,
    }
