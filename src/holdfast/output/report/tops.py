"""What is left of a stream of any length: the largest few, counts by label, classes of a histogram. All bounded."""

from bisect import bisect_right
from collections.abc import Sequence
from heapq import heappush, heapreplace
from typing import Generic, TypeVar

from holdfast.output.report.figures import Histogram, Share

T = TypeVar("T")


class Largest(Generic[T]):
    """The few with the greatest weight; of equals, those that came first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, int, T]] = []
        self._came = 0

    def admits(self, weight: float) -> bool:
        """Whether `add` would keep something of that weight: asked before it is made."""
        return len(self._heap) < self._most or weight > self._heap[0][0]

    def add(self, weight: float, one: T) -> None:
        """Keep it if it is among the largest."""
        self._came += 1
        entry = (weight, -self._came, one)
        if len(self._heap) < self._most:
            heappush(self._heap, entry)
        elif weight > self._heap[0][0]:
            heapreplace(self._heap, entry)

    def ordered(self) -> tuple[T, ...]:
        """The largest first."""
        return tuple(one for *_, one in sorted(self._heap, key=lambda entry: entry[:2], reverse=True))


class Tallied:
    """Counts and bytes by label. Labels beyond a number are counted together as `others`."""

    def __init__(self, most: int, others: str = "others") -> None:
        self._most = most
        self._others = others
        self._counts: dict[str, list[int]] = {}

    def add(self, label: str, size: int = 0) -> None:
        """One more of that label."""
        found = self._counts.get(label)
        if found is None:
            if len(self._counts) >= self._most:
                label = self._others
            found = self._counts.setdefault(label, [0, 0])
        found[0] += 1
        found[1] += size

    def shares(self, most: int) -> tuple[Share, ...]:
        """The most frequent first; what is beyond `most` is summed up in the last."""
        ordered = sorted(
            self._counts.items(), key=lambda entry: (entry[0] == self._others, -entry[1][0], entry[0])
        )
        kept, rest = ordered[:most], ordered[most:]
        shares = [Share(label, count, size) for label, (count, size) in kept]
        if rest:
            shares.append(
                Share(self._others, sum(n for _, (n, _) in rest), sum(size for _, (_, size) in rest))
            )
        return tuple(shares)


class Classes:
    """A histogram with given edges."""

    def __init__(self, edges: Sequence[float]) -> None:
        self._edges = tuple(edges)
        self._counts = [0] * len(self._edges)
        self._highest: float | None = None

    def add(self, value: float) -> None:
        """One more; what lies below the first edge counts in the first class."""
        self._counts[max(0, bisect_right(self._edges, value) - 1)] += 1
        if self._highest is None or value > self._highest:
            self._highest = value

    def histogram(self) -> Histogram:
        """As it is now."""
        return Histogram(self._edges, tuple(self._counts), self._median(), self._highest)

    def _median(self) -> float | None:
        total = sum(self._counts)
        if self._highest is None:
            return None
        below = 0
        for place, count in enumerate(self._counts):
            if 2 * (below + count) >= total:
                last = place + 1 == len(self._edges)
                upper = self._highest if last else min(self._highest, self._edges[place + 1])
                # As if those of a class were spread evenly over it.
                return self._edges[place] + (upper - self._edges[place]) * (total / 2 - below) / count
            below += count
        return self._highest
