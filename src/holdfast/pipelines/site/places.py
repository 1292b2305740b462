"""Which addresses are files of an export, and where: asked of the ledger, a page's links at a time."""

import posixpath
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import quote

from holdfast.crawl.document import Kind
from holdfast.crawl.readers import essence_of
from holdfast.crawl.redirects import MAX_REDIRECTS
from holdfast.domain.url import Base, fingerprint
from holdfast.pipelines.site.filenames import FileName
from holdfast.ports.ledger import RecordRow

Lookup = Callable[[Sequence[bytes]], Awaitable[Mapping[bytes, tuple[str, Mapping[str, Any]]]]]
"""Kind and data of the records of addresses, by fingerprint."""
Naming = Callable[[str, "Facts"], FileName | None]
"""The name of a page's file; None if it is no part of the export."""

_REMEMBERED: Final = 50_000
_IN_PATH: Final = "/~@!$*+,;=:"
_IN_FRAGMENT: Final = "/~@!$*+,;=:?%&"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an address that has a record."""

    kind: str
    """Of the record: `page`, `redirect`, ..."""
    content_type: str
    sha256: str
    content: str
    """What the body was read as, by crawl.document.Kind; empty for what was not read."""
    location: str | None = None

    @classmethod
    def of(cls, kind: str, data: Mapping[str, Any]) -> Self:
        """As a record has it."""
        return cls(kind, data["content_type"], data["sha256"], data.get("kind", ""), data.get("location"))

    @property
    def html(self) -> bool:
        """A browser shows it as a page."""
        return self.content == Kind.HTML

    @property
    def essence(self) -> str:
        """Its MIME type alone."""
        return essence_of(self.content_type)


class Places:
    """Where pages lie in the folder. Remembers the last ones that were asked for."""

    def __init__(self, lookup: Lookup, naming: Naming) -> None:
        self._lookup = lookup
        self._naming = naming
        self._known: dict[str, Facts | None] = {}
        self._paths: dict[str, str | None] = {}

    async def of(self, urls: Collection[str]) -> dict[str, str]:
        """The paths of those of the canonical addresses that are files, or lead to one by redirects."""
        new = [url for url in urls if url not in self._paths]
        if new:
            await self._find(new)
        return {url: path for url in urls if (path := self._paths[url]) is not None}

    async def own(self, record: RecordRow) -> str | None:
        """The path that a page itself is written to; None if it has none, or if another page's file is its own, too."""
        url, facts = record.item.url, Facts.of(record.kind, record.data)
        name = self._naming(url, facts)
        if name is None:
            return None
        await self._learn([name.rival] if name.rival else [])
        return None if self._shares(name, facts) else self._settled(name, facts)

    async def _find(self, urls: list[str]) -> None:
        if len(self._paths) > _REMEMBERED:
            kept = set(urls)
            self._paths = {url: path for url, path in self._paths.items() if url in kept}
            self._known.clear()
        ends = await self._ends(urls)
        names = {end: self._naming(end, facts) for end, facts in ends.values()}
        await self._learn(name.rival for name in names.values() if name is not None and name.rival)
        for url in urls:
            if url not in ends:
                self._paths[url] = None
                continue
            end, facts = ends[url]
            name = names[end]
            self._paths[url] = None if name is None else self._settled(name, facts)

    async def _ends(self, urls: list[str]) -> dict[str, tuple[str, Facts]]:
        """The pages to which the addresses lead."""
        at = {url: url for url in urls}
        found: dict[str, tuple[str, Facts]] = {}
        for _ in range(MAX_REDIRECTS + 1):
            await self._learn(at.values())
            moved = {}
            for url, end in at.items():
                facts = self._known.get(end)
                if facts is not None and facts.kind == "page":
                    found[url] = (end, facts)
                elif facts is not None and facts.location:
                    moved[url] = facts.location
            if not moved:
                break
            at = moved
        return found

    async def _learn(self, urls: Iterable[str]) -> None:
        new = {fingerprint(url): url for url in urls if url not in self._known}
        if new:
            found = await self._lookup(list(new))
            for key, url in new.items():
                self._known[url] = Facts.of(*found[key]) if key in found else None

    def _settled(self, name: FileName, facts: Facts) -> str:
        return name.path if self._rival(name) is None or self._shares(name, facts) else name.apart

    def _shares(self, name: FileName, facts: Facts) -> bool:
        """The same contents, read from the same directory, are the same file."""
        rival = self._rival(name)
        return rival is not None and (rival.sha256, rival.content_type) == (facts.sha256, facts.content_type)

    def _rival(self, name: FileName) -> Facts | None:
        found = self._known.get(name.rival) if name.rival else None
        return found if found is not None and found.kind == "page" else None


class Neighbours:
    """The links of one file: from what its page has written to what has to stand in the file."""

    def __init__(self, own: str, base: str, paths: Mapping[str, str], *, rebased: bool = False) -> None:
        self._folder = posixpath.dirname(own)
        self._base = Base(base)
        self._paths = paths
        self._rebased = rebased

    def place(self, written: str) -> str | None:
        """A relative path to a file of the export, else the whole address; None where it may stay as it is."""
        if not written or (written.startswith("#") and not self._rebased):
            return None
        target = self._base.join(written)
        if target is None:
            return None
        _, hash_sign, fragment = written.partition("#")
        end = f"#{quote(fragment, safe=_IN_FRAGMENT)}" if hash_sign else ""
        path = self._paths.get(target)
        if path is None:
            absolute = written.lower().startswith(("http://", "https://"))
            return None if absolute else _quoted(target) + end
        return quote(posixpath.relpath(path, self._folder or "."), safe=_IN_PATH) + end


def targets(base: str, written: Iterable[str]) -> list[str]:
    """The canonical addresses that are meant, each once."""
    joined = Base(base)
    found = (joined.join(one) for one in written)
    return list(dict.fromkeys(one for one in found if one is not None))


def _quoted(url: str) -> str:
    """A canonical URL where quotes or brackets around it would end it."""
    return url.translate(_ENDS)


_ENDS: Final = str.maketrans({char: f"%{ord(char):02X}" for char in "'\"()<>` \\"})
