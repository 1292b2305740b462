"""The seam to a browser: a page as it was served in, the page as its scripts leave it out."""

from dataclasses import dataclass
from typing import Protocol

from holdfast.ports.fetcher import Response


@dataclass(frozen=True, slots=True)
class Served:
    """A page as its server gave it. It is never asked for again."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    """Decoded."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A GET that the page wants to make while it is shown."""

    url: str
    """As the browser spells it."""
    kind: str
    """script, stylesheet, xhr or fetch."""
    headers: tuple[tuple[str, str], ...] = ()


class Asked(Protocol):
    """Answers what a page that is being shown asks for. The page has no other way to anything."""

    @property
    def waited_s(self) -> float:
        """How long the page was kept waiting for others' sake; that is no fault of the page."""

    async def fetch(self, ask: Ask) -> Response:
        """The response, redirects followed; FetchFailed where there is none, or none for this page."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The page as its scripts left it."""

    body: bytes
    """The document as HTML in UTF-8. It stands by itself: if its scripts changed the page's address, a <base> says so,
    and where they wanted to go is said by `<link rel="next">`s at the head's beginning."""
    at: float
    """When, in seconds since 1970."""
    elapsed_s: float


class RenderFailed(Exception):
    """No page came of it. `reason` is one of a fixed list, `transient` whether a later try may do better.

    | reason | what happened | later? |
    | --- | --- | --- |
    | render_failed | the browser, or the page in it, broke down | yes |
    | render_timeout | scripts held the page so long that nothing could be read of it | yes |
    | render_too_large | what the scripts made is larger than a body may be | no |
    """

    def __init__(self, reason: str, detail: str = "", *, transient: bool = True) -> None:
        self.reason = reason
        self.detail = detail
        self.transient = transient
        super().__init__(f"{reason}: {detail}" if detail else reason)


class Renderer(Protocol):
    """Shows pages, each apart from all others."""

    async def render(self, page: Served, asked: Asked) -> Rendered:
        """The page once its scripts have come to rest, or RenderFailed. A cancelled call lets go of the page."""

    async def close(self) -> None:
        """Let go of every page, and of the browser."""
