"""A site as files that a browser opens from the disk: bytes as they came, but for addresses that are files as well."""

from collections.abc import Sequence
from html import escape
from typing import Final

from holdfast.crawl.references import Markup, markup, stylesheet
from holdfast.domain.url import join
from holdfast.output.tree import TreeFile
from holdfast.pipelines.site.filenames import TOP, FileName, file_name
from holdfast.pipelines.site.places import Facts, Lookup, Neighbours, Places, targets
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.ledger import RecordRow
from holdfast.ports.segments import Reading

_CSS: Final = "text/css"


class Mirror:
    """Implements output.tree.Tree: a file for each page, and index.html that leads to the start pages."""

    form = "mirror"
    kind = "page"

    def __init__(self, spec: SiteSpec, lookup: Lookup) -> None:
        self._spec = spec
        self._places = Places(lookup, _name)

    async def frame(self) -> Sequence[TreeFile]:
        """The page at the top."""
        paths = await self._places.of(self._spec.start_urls)
        links = Neighbours(TOP[0], "about:blank", paths)
        starts = [(links.place(url) or url, url) for url in self._spec.start_urls]
        return [TreeFile(TOP[0], _top(starts).encode())]

    async def files(self, record: RecordRow, reading: Reading | None) -> Sequence[TreeFile]:
        """The page itself; an empty file where its stored body is damaged, so that no link to it breaks."""
        url, facts = record.item.url, Facts.of(record.kind, record.data)
        own = await self._places.own(record)
        if own is None:
            return []
        if reading is None:
            return [TreeFile(own, b"")]
        data = reading.body
        charset = record.data["charset"] or None
        if facts.html:
            data = await self._linked(own, url, markup(data, charset))
        elif facts.content_type.lower().startswith(_CSS):
            data = await self._linked(own, url, stylesheet(data, charset))
        return [TreeFile(own, data)]

    async def _linked(self, own: str, url: str, page: Markup) -> bytes:
        base = (join(url, page.base_address) if page.base_address else None) or url
        paths = await self._places.of(targets(base, (one.address for one in page.references)))
        links = Neighbours(own, base, paths, rebased=page.base is not None and base != url)
        return page.with_places(links.place)


def _name(url: str, facts: Facts) -> FileName:
    return file_name(url, facts.content_type, html=facts.html)


def _top(starts: list[tuple[str, str]]) -> str:
    at_once = (
        f'<meta http-equiv="refresh" content="0; url={escape(starts[0][0])}">\n' if len(starts) == 1 else ""
    )
    items = "".join(f'<li><a href="{escape(path)}">{escape(url)}</a></li>\n' for path, url in starts)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n{at_once}<title>A mirror</title>\n'
        f"<p>The crawl began at:</p>\n<ul>\n{items}</ul>\n</html>\n"
    )
