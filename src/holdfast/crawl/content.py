"""A stored body, opened for all that is derived from it: text, fields, what it says of itself for machines."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdfast.crawl import readers
from holdfast.crawl.charset import as_utf8, detect
from holdfast.crawl.html import is_html
from holdfast.crawl.nesting import tree_of
from holdfast.crawl.text import text_of

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

MAX_SOURCE_BYTES = 8 * 1024 * 1024
"""So much of a page is searched by expressions that a person wrote."""


class Content:
    """A decoded body. Whatever is asked of it, it is parsed at most once, and never changed."""

    def __init__(self, body: bytes, content_type: str, charset: str | None) -> None:
        self._body = body
        self._content_type = content_type
        self._charset = charset or None

    @cached_property
    def tree(self) -> "LexborHTMLParser | None":
        """The tree of HTML, None of anything else."""
        return tree_of(self.html) if is_html(self._content_type, self._body) else None

    @cached_property
    def searched(self) -> "LexborHTMLParser | None":
        """The tree, if the page is not too large to be searched by what a person wrote."""
        return self.tree if self.tree is not None and len(self.html) <= MAX_SOURCE_BYTES else None

    @cached_property
    def dom(self) -> Any:  # noqa: ANN401 - lxml's, and only where XPath is asked for
        """The same tree for XPath."""
        from holdfast.crawl.xpath import parsed

        return (
            None if self.searched is None else parsed((self.searched.html or "").encode("utf-8", "replace"))
        )

    @cached_property
    def html(self) -> bytes:
        """The body in UTF-8, if it is HTML."""
        return as_utf8(self._body, detect(self._body, self._charset))

    @cached_property
    def text(self) -> str:
        """What a reader sees of HTML, the characters of other text, nothing of anything else."""
        if self.tree is not None:
            return text_of(self.tree)
        return readers.text(self._body, self._content_type, self._charset)

    @cached_property
    def source(self) -> bytes:
        """The characters as they were written, in UTF-8: of HTML with its tags, of anything else its text."""
        whole = self.html if self.tree is not None else self.text.encode("utf-8", "replace")
        return whole[:MAX_SOURCE_BYTES]
