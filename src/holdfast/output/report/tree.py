"""The tree of a site's paths, with pages and bytes, in bounded memory."""

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from holdfast.output.report.figures import Section

MOST_NODES: Final = 20_000
"""Beyond so many the smallest are given up; what they counted stays with the directory above them."""
DEEPEST: Final = 6
_MAX_NAME: Final = 80


@dataclass(slots=True)
class _Node:
    pages: int = 0
    bytes: int = 0
    below: dict[str, "_Node"] = field(default_factory=dict)


class Tree:
    """Hosts, and the directories of their paths. What lies deeper than `DEEPEST` counts in the directory above."""

    def __init__(self, most: int = MOST_NODES) -> None:
        self._root = _Node()
        self._most = most
        self._nodes = 1

    def add(self, url: str, size: int) -> None:
        """One more page: it counts in its directory and in each one above."""
        start = url.find("//") + 2
        whole = url[start:].partition("?")[0]
        node = self._root
        node.pages += 1
        node.bytes += size
        for name in whole.split("/")[:-1][: DEEPEST + 1]:
            below = node.below.get(name)
            if below is None:
                below = node.below[name] = _Node()
                self._nodes += 1
            node = below
            node.pages += 1
            node.bytes += size
        if self._nodes > self._most:
            self._prune()

    def section(self, most: int, depth: int = 4) -> Section:
        """The tree with the `most` largest parts of each, `depth` levels deep. A site of one host begins with that."""
        name, node = "", self._root
        if len(node.below) == 1:
            ((name, node),) = node.below.items()
        return _section(name, name, node, most, depth)

    def _prune(self) -> None:
        """Give up the smallest leaves until half of the room is free."""
        while self._nodes > self._most // 2:
            leaves = list(_leaves(self._root))
            leaves.sort(key=lambda leaf: leaf[2].pages)
            enough = max(1, self._nodes - self._most // 2)
            for above, name, _ in leaves[:enough]:
                del above.below[name]
                self._nodes -= 1


def _leaves(root: _Node) -> list[tuple[_Node, str, _Node]]:
    found = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for name, below in node.below.items():
            if below.below:
                waiting.append(below)
            else:
                found.append((node, name, below))
    return found


def _section(name: str, path: str, node: _Node, most: int, depth: int) -> Section:
    parts = sorted(node.below.items(), key=lambda part: (-part[1].pages, part[0]))[:most] if depth else []
    children = tuple(
        _section(part, f"{path}/{part}" if path else part, below, most, depth - 1) for part, below in parts
    )
    shown = unquote(name, errors="replace")
    return Section(shown[:_MAX_NAME], path, node.pages, node.bytes, children)
