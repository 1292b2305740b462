"""Which types of documents are kept, by their Content-Type."""

import re
from dataclasses import dataclass

from holdfast.crawl.html import is_html
from holdfast.crawl.pdf import MAGIC
from holdfast.crawl.readers import essence_of
from holdfast.domain.errors import UsageError

MIME = "mime"
"""Why an address was skipped when it was its turn: its document is of a type that nobody wants."""

_PATTERN = re.compile(r"[a-z0-9][a-z0-9.+-]*/(?:\*|[a-z0-9][a-z0-9.+-]*)")


@dataclass(frozen=True, slots=True)
class MimeRules:
    """What a person asked for: whole types (`application/pdf`) or kinds of them (`image/*`).

    HTML that isn't wanted is read for its links all the same: without them there would be nothing to find.
    """

    include: tuple[str, ...] = ()
    """Only these are kept; empty: all."""
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern in (*self.include, *self.exclude):
            if not _PATTERN.fullmatch(pattern):
                raise UsageError(
                    f"{pattern!r} is not a MIME type; write one like application/pdf or image/*, in lower case"
                )

    @property
    def any(self) -> bool:
        """Nothing was asked for."""
        return not self.include and not self.exclude

    def keeps(self, content_type: str, body: bytes) -> bool:
        """Whether a document is kept; without a Content-Type its first bytes tell its type."""
        return self.any or self._takes(essence_of(content_type) or _sniffed(body))

    def fetches(self, content_type: str) -> bool:
        """Whether its body is worth having, as far as its type tells: it is kept, or may lead to what is."""
        essence = essence_of(content_type)
        return self.any or not essence or is_html(essence, b"") or self._takes(essence) or _may_list(essence)

    def _takes(self, essence: str) -> bool:
        if any(_fits(pattern, essence) for pattern in self.exclude):
            return False
        return not self.include or any(_fits(pattern, essence) for pattern in self.include)


def _fits(pattern: str, essence: str) -> bool:
    return essence == pattern or (pattern.endswith("/*") and essence.startswith(pattern[:-1]))


def _may_list(essence: str) -> bool:
    """Sitemaps and feeds come as such."""
    return essence.endswith(("/xml", "+xml", "gzip"))


def _sniffed(body: bytes) -> str:
    if is_html("", body):
        return "text/html"
    return "application/pdf" if body.startswith(MAGIC) else "application/octet-stream"
