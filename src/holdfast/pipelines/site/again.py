"""A page that is asked for again: only if it has changed, where the server can tell; else its stored body is read."""

from collections.abc import Mapping
from typing import Any, Final

from holdfast.domain.item import Item
from holdfast.ports.fetcher import Response
from holdfast.ports.pipeline import Reread
from holdfast.ports.segments import DamagedRecord, Original, Reading

MAX_VALIDATOR_CHARS: Final = 512
_GIVEN_AS: Final = {"etag": "etag", "last-modified": "last_modified"}
_HEADERS: Final = {"etag": "If-None-Match", "last_modified": "If-Modified-Since"}


def validators(response: Response) -> dict[str, str]:
    """By what the response can be asked for again, for its row; one that can't be sent back as it came is left out."""
    given: dict[str, str] = {}
    for header, value in response.headers:
        name = _GIVEN_AS.get(header.lower())
        if name is not None:
            given.setdefault(name, value)
    return {name: value for name, value in given.items() if _can_be_sent_back(value)} if given else given


def _can_be_sent_back(value: str) -> bool:
    return 0 < len(value) <= MAX_VALIDATOR_CHARS and value.isascii() and value.isprintable()


def conditions(item: Item) -> tuple[tuple[str, str], ...]:
    """The headers by which a page that is known is asked for; none where it isn't, or its server gave no validators.

    Nor where the body that it shares is stored under another address: the headers stored with that are not its own.
    """
    if item.earlier is None or item.earlier.exchange.url != item.url:
        return ()
    return tuple(
        (header, str(item.earlier.data[name]))
        for name, header in _HEADERS.items()
        if name in item.earlier.data
    )


def original_of(item: Item, digest: bytes, encoding: str) -> Original | None:
    """The stored body, if the page came with the very same one again."""
    original: Original | None = None if item.earlier is None else item.earlier.exchange
    same = original is not None and (original.digest, original.encoding) == (digest, encoding)
    return original if same else None


def stands_for(original: Original) -> dict[str, Any]:
    """What a row says of the stored body that it goes on pointing to: whose it was, and when."""
    return {"original": {"url": original.url, "fetched_at": original.fetched_at}}


async def stored_page(item: Item, reread: Reread | None) -> Reading | None:
    """The body that has not changed since; None where it can't be read any more, and has to be fetched."""
    if item.earlier is None or reread is None:
        return None
    original: Original = item.earlier.exchange
    try:
        reading = await reread(original.location)
    except DamagedRecord:
        return None
    return None if reading.revisit or reading.digest != original.digest else reading


def unchanged(earlier: Mapping[str, Any], response: Response, original: Original) -> dict[str, Any]:
    """The row of a page that has not changed: what it was, when it was looked at last, and what was answered then."""
    # Whether its scripts ran, and the charset of what they made, is another matter than its body.
    forget = {"rendered", "unrendered"} | ({"charset"} if earlier.get("rendered") else set())
    return {
        **{name: value for name, value in earlier.items() if name not in forget},
        "fetched_at": response.fetched_at,
        "http_version": response.http_version,
        "elapsed_ms": round(response.elapsed_s * 1000, 1),
        "answered": response.status,
        **validators(response),
        **stands_for(original),
    }
