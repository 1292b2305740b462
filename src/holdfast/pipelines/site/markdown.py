"""A site as Markdown: the main part of each page under a front matter, links between the files relative."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from selectolax.lexbor import LexborNode

from holdfast.crawl.article import article
from holdfast.crawl.document import Kind
from holdfast.crawl.markdown import fenced, markdown
from holdfast.crawl.readers import text
from holdfast.domain.url import join
from holdfast.output.tree import TreeFile
from holdfast.pipelines.site.filenames import HTML, TOP, FileName, file_name
from holdfast.pipelines.site.places import Facts, Lookup, Neighbours, Places, targets
from holdfast.pipelines.site.rows import iso
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.ledger import RecordRow
from holdfast.ports.segments import Reading

_ENDING: Final = ".md"
_PLAIN: Final = "text/plain"
"""What is text already; of other types that are, no main part could be told from the rest."""
_FRONT: Final = (
    "url",
    "title",
    "description",
    "lang",
    "fetched_at",
    "sha256",
    "depth",
    "parent",
    "canonical",
)
# JSON's strings are YAML's, but for a few characters that YAML wants escaped.
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


class MarkdownFiles:
    """Implements output.tree.Tree: a file for each page that is HTML or text, and index.md that lists them."""

    form = "markdown"
    kind = "page"

    def __init__(self, spec: SiteSpec, lookup: Lookup) -> None:
        self._starts = spec.start_urls
        self._places = Places(lookup, _name)

    async def frame(self) -> Sequence[TreeFile]:
        """The head of the list of all files."""
        starts = ", ".join(f"<{url}>" for url in self._starts)
        return [TreeFile(TOP[1], f"# Pages of {starts}\n\n".encode())]

    async def files(self, record: RecordRow, reading: Reading | None) -> Sequence[TreeFile]:
        """The page's file, and its line in the list; nothing for images and the like."""
        url, data = record.item.url, record.data
        own = await self._places.own(record)
        if own is None:
            return []
        written = _front(record) + (await self._text(own, url, reading.body, data) if reading else "")
        line = f"- [{_label(data['title'] or url)}]({Neighbours(TOP[1], url, {url: own}).place(url)})\n"
        page = TreeFile(own, written.encode("utf-8", "replace"))
        return [page, TreeFile(TOP[1], line.encode("utf-8", "replace"), append=True)]

    async def _text(self, own: str, url: str, body: bytes, data: Mapping[str, Any]) -> str:
        facts = Facts.of("page", data)
        if not facts.html:
            plain = text(body, facts.content_type, data["charset"])
            return plain if facts.content == Kind.MARKDOWN or not plain else fenced(plain)
        root = article(body, data["charset"] or None)
        if root is None:
            return ""
        base = (join(url, said) if (said := _base(root)) else None) or url
        links = Neighbours(
            own, base, await self._places.of(targets(base, _written(root))), rebased=base != url
        )
        return markdown(root, lambda href: _placed(links, href))


def _name(url: str, facts: Facts) -> FileName | None:
    if facts.content not in {Kind.HTML, Kind.MARKDOWN, Kind.PDF} and facts.essence != _PLAIN:
        return None
    name = file_name(url, facts.content_type, html=facts.html)
    return replace(name, path=_as_markdown(name.path), apart=name.apart and _as_markdown(name.apart))


def _as_markdown(path: str) -> str:
    return path.removesuffix(HTML) + _ENDING


def _front(record: RecordRow) -> str:
    """What is known of the page, as YAML of one line each: its values are JSON."""
    data = record.data
    values = {
        **{key: data.get(key) for key in ("title", "description", "lang", "sha256", "canonical")},
        "url": record.item.url,
        "fetched_at": iso(data["fetched_at"]),
        "depth": record.item.depth,
        "parent": record.parent_url,
    }
    lines = "".join(f"{key}: {_yaml(values[key])}\n" for key in _FRONT)
    return f"---\n{lines}---\n\n"


def _yaml(value: object) -> str:
    plain = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda char: f"\\u{ord(char.group()):04x}", plain)


def _label(text: str) -> str:
    return re.sub(r"([\\\[\]`*_<])", r"\\\1", text)


def _base(root: LexborNode) -> str:
    base = root.parser.css_first("base[href]")
    return (base.attrs.get("href") or "").strip() if base is not None else ""


def _written(root: LexborNode) -> list[str]:
    """Every address in the part that is written down."""
    named = [node.attrs.get("href") for node in root.css("a[href]")]
    named += [node.attrs.get("src") or node.attrs.get("data-src") for node in root.css("img")]
    return [one.strip() for one in named if one]


def _placed(links: Neighbours, href: str) -> str | None:
    """A link into the page itself, or to no address, is text: Markdown has no such place."""
    if href.startswith("#") or href.lower().startswith(("javascript:", "data:")):
        return None
    return links.place(href) or href
