"""Write your own pipeline: what a job fetches, in which phases, and which records it makes of that.

    @dataclass(frozen=True)
    class Shop(Pipeline):
        kind = "shop"
        phases = ("catalogue", "products")
        columns = {"name": str, "price": float}
        url: str

        def start(self):
            yield self.url

        def visit(self, page):
            ...

docs/howto/write-a-pipeline.md goes on from here. Leases, commits, retries, robots.txt and politeness are none of its
business.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast.crawl.charset import as_utf8, of_content_type
from holdfast.crawl.content import Content
from holdfast.crawl.document import Document
from holdfast.crawl.fields import Extractor, read_field
from holdfast.crawl.readers import read
from holdfast.domain.url import join

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

__all__ = ["Lead", "Page", "Pipeline"]


@dataclass(frozen=True, slots=True)
class Lead:
    """An address to visit, and as what."""

    url: str
    kind: str | None = None
    """The kind of item; None: that of the page that it was found on, or the first of all."""


class Page:
    """A response with a body, as its pipeline's `visit` gets it. Whatever is asked of it, it is parsed at most once."""

    def __init__(
        self, url: str, kind: str, status: int, headers: Iterable[tuple[str, str]], body: bytes
    ) -> None:
        self.url = url
        """Its canonical URL."""
        self.kind = kind
        """As what it was named: one of its pipeline's kinds."""
        self.status = status
        """The HTTP status, 200 to 299."""
        self.headers = tuple(headers)
        """The response's, in their order."""
        self.body = body
        """The decoded body."""

    def __repr__(self) -> str:
        return f"<Page {self.url}>"

    def header(self, name: str) -> str:
        """The first header of that name, "" where there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    @property
    def content_type(self) -> str:
        """As it was sent, with its parameters."""
        return self.header("content-type").strip()

    @cached_property
    def document(self) -> Document:
        """What it says of itself: title, lang, description, kind, and links as they are written."""
        return read(self.body, self.content_type, of_content_type(self.content_type))

    @property
    def title(self) -> str:
        """From the HTML."""
        return self.document.title

    @cached_property
    def text(self) -> str:
        """What a reader sees of it."""
        return self._content.text

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Canonical URLs of the links on it, each once, in their order."""
        found = (join(self.base, href) for href in self.document.links)
        return tuple(dict.fromkeys(url for url in found if url is not None))

    @cached_property
    def base(self) -> str:
        """What its links are relative to."""
        href = self.document.base_href
        return (join(self.url, href) if href else None) or self.url

    @property
    def tree(self) -> "LexborHTMLParser | None":
        """The parsed HTML (selectolax), for what the ways below can't say; None of anything else."""
        return self._content.tree

    def css(self, selector: str) -> list[str]:
        """The texts of all elements that it finds, or their attributes: `a.next@href`."""
        found: list[str] = self.field(f"all css:{selector}")
        return found

    def xpath(self, expression: str) -> list[str]:
        """The texts of all that it finds."""
        found: list[str] = self.field(f"all xpath:{expression}")
        return found

    def field(self, how: str) -> Any:  # noqa: ANN401 - a text, a number or a list, as `how` says
        """What `--field NAME=HOW` finds: `css:h1` the first or None, `number css:i` a number, `all css:...` a list."""
        return _extractor(how).values(self._content)["found"]

    def json(self) -> Any:  # noqa: ANN401 - whatever it holds
        """The body as JSON. ValueError if it isn't."""
        return json.loads(as_utf8(self.body, self.document.charset or "utf-8"))

    def follow(self, href: str | None, kind: str | None = None) -> Lead | None:
        """A link on this page as a lead; None for what leads to no page (None, mailto:, javascript:)."""
        url = None if href is None else join(self.base, href)
        return None if url is None else Lead(url, kind or self.kind)

    @cached_property
    def _content(self) -> Content:
        return Content(self.body, self.content_type, self.document.charset)


@lru_cache(maxsize=256)
def _extractor(how: str) -> Extractor:
    return Extractor([read_field(f"found={how}")])


@dataclass(frozen=True)
class Pipeline:
    """A kind of job of one's own: a frozen dataclass, whose fields are what a job is asked for (`--set NAME=VALUE`).

    A package offers it under the entry point group `holdfast.pipelines`, by its kind.
    """

    kind: ClassVar[str]
    """The name of such jobs: lower-case letters, digits and -."""
    phases: ClassVar[tuple[str, ...]] = ("visit",)
    """In their order: an item of a later one is not asked for before nothing of the earlier ones is left."""
    kinds: ClassVar[Mapping[str, str]] = {}
    """Kinds of items, and the phase of each. By itself each phase has one kind of item, of its own name."""
    columns: ClassVar[Mapping[str, type]] = {}
    """What a record holds beside the URL of its page: str, int, float, bool, list or dict, or None in their place."""

    def start(self) -> Iterable[str | Lead]:
        """The first addresses; without a kind they are of the first one."""
        raise NotImplementedError

    def visit(self, page: Page) -> Iterable[Lead | Mapping[str, Any] | None]:
        """What a page gives: leads to further pages, and records. None is passed over.

        It may be called again for the stored page, by `verify` for one, and has to give the same then: it may depend
        on nothing but the page and the pipeline's own fields. What it raises fails this page only (`internal_error`).
        """
        raise NotImplementedError
