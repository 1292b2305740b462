"""Families of addresses: what a claim has seen of them, and which it is done with. Asked when it is an item's turn.

A family that gave nothing new for long is noted down with the page that made it so, and stays closed: no kill opens it
again. All else here is memory that may be lost: then a few addresses more are fetched, and none is given up for it.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from holdfast.domain.url import fingerprint
from holdfast.pipelines.site.traps import Trap

FAR = 10
"""Whatever has no end reaches so deep: only from this depth on is a family watched."""
IN_A_ROW = 50
"""After so many pages without anything new a family is closed."""
MANY_KEYS = 3
KEY_SETS = 32
"""Sets of so many parameters or more that one path may have."""
MAX_CLOSED = 1000
_MAX_FAMILIES = 200
_MAX_CONTENTS = 4096
_MAX_ORDERS = 50_000
_MAX_PATHS = 2000


def family(url: str) -> str:
    """What addresses of one family have in common: numbers are alike, and the order of parameters doesn't count."""
    path, mark, query = _NUMBER.sub("#", url[url.find("/", 8) :]).partition("?")
    return url[: url.find("/", 8)] + path + mark + "&".join(sorted(query.split("&")))


def content(url: str, text: str, hrefs: Iterable[str], body: bytes) -> bytes:
    """What a page says, shows and leads to, but for the numbers of its own address and those next to them.

    Pictures are taken as they stand: in a comic they are all that changes from page to page.
    """
    near = {int(run) + step for run in _NUMBER.findall(url[url.find("/", 8) :]) for step in (-1, 0, 1)}

    def folded(run: re.Match[str]) -> str:
        return "#" if int(run.group()) in near else run.group()

    said = _NUMBER.sub(folded, "\n".join((text, *hrefs)))
    shown = b"".join(_PICTURE.findall(body))
    return blake2b(said.encode("utf-8", "replace") + b"\0" + shown, digest_size=16).digest()


_PICTURE = re.compile(rb"<(?:img|picture|source|video|audio|object|embed)\b[^>]*", re.IGNORECASE)
# Longer ones are no page numbers, and Python refuses to read numbers of thousands of digits.
_NUMBER = re.compile(r"(?<!\d)\d{1,18}(?!\d)")


@dataclass(slots=True)
class _Watched:
    contents: set[bytes] = field(default_factory=set)
    barren: int = 0
    """Pages in a row that gave nothing new."""


class Families:
    """The families of a claim."""

    def __init__(self, closed: Iterable[str], *, avoid: bool) -> None:
        """`closed`: those that were noted down. `avoid` False lets everything pass."""
        self._avoid = avoid
        self._closed = set(closed) if avoid else set()
        self._watched: OrderedDict[str, _Watched] = OrderedDict()
        self._orders: OrderedDict[bytes, str] = OrderedDict()
        self._key_sets: OrderedDict[str, set[tuple[str, ...]]] = OrderedDict()

    def refuse(self, url: str) -> Trap | None:
        """Whether its family is closed, or it is but another order or choice of parameters; it counts from here on."""
        if not self._avoid:
            return None
        if self._closed and family(url) in self._closed:
            return Trap.BARREN
        if "&" not in url:
            return None
        path, _, query = url.partition("?")
        pairs = sorted(query.split("&"), key=_key)
        first = self._orders.setdefault(fingerprint(f"{path}?{'&'.join(pairs)}"), url)
        if first != url:
            return Trap.ORDER
        _bound(self._orders, _MAX_ORDERS)
        return self._of_many(path, tuple(map(_key, pairs)))

    def _of_many(self, path: str, keys: tuple[str, ...]) -> Trap | None:
        if len(keys) < MANY_KEYS:
            return None
        known = self._key_sets.setdefault(path, set())
        _bound(self._key_sets, _MAX_PATHS)
        if keys in known or len(known) < KEY_SETS:
            known.add(keys)
            return None
        return Trap.FACETS

    def forget(self, url: str) -> None:
        """It gave no page: another order of its parameters may still."""
        if "&" in url:
            path, _, query = url.partition("?")
            key = fingerprint(f"{path}?{'&'.join(sorted(query.split('&'), key=_key))}")
            if self._orders.get(key) == url:
                del self._orders[key]

    def read(self, url: str, depth: int, onward: Iterable[str], said: Callable[[], bytes]) -> str | None:
        """A page was read. `onward` is where it leads that was not known before, `said` gives its `content`.

        The name of its family where that is closed from here on: to be noted down with the page.
        """
        if not self._avoid or depth < FAR:
            return None
        name = family(url)
        watched = self._watched.get(name)
        if watched is None:
            if name not in set(map(family, onward)):
                return None
            watched = self._watched[name] = _Watched()
            _bound(self._watched, _MAX_FAMILIES)
        self._watched.move_to_end(name)
        known = said()
        if known not in watched.contents:
            watched.barren = 0
            if len(watched.contents) < _MAX_CONTENTS:
                watched.contents.add(known)
            return None
        watched.barren += 1
        if watched.barren < IN_A_ROW or len(self._closed) >= MAX_CLOSED or name in self._closed:
            return None
        self._closed.add(name)
        del self._watched[name]
        return name


def _key(pair: str) -> str:
    return pair.partition("=")[0]


def _bound(memory: OrderedDict[Any, Any], most: int) -> None:
    while len(memory) > most:
        memory.popitem(last=False)
