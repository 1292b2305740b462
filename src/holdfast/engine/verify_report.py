"""What a verification has come to so far: figures, and disagreements in a bounded number."""

from collections import Counter
from collections.abc import Callable

from holdfast.ports.ledger import Discrepancy

KEPT_OF_A_KIND = 100
"""So many of each kind are kept, so that ten thousand of one don't hide the only one of another."""


class Progress:
    """Counts up to a total for whoever watches."""

    def __init__(self, total: int, tell: Callable[[int, int], None] | None) -> None:
        self._total = total
        self._tell = tell
        self._done = 0

    def more(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        if self._tell is not None:
            self._tell(min(self._done, self._total), self._total)

    def end(self) -> None:
        """Nothing more will come."""
        self.more(max(0, self._total - self._done))


class Report:
    """Collects; the passes add to it in turn."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.pages = 0
        self.records = 0
        self.links = 0
        self.bytes = 0
        self.laid_aside = 0
        self.kept: list[Discrepancy] = []
        self._of_kind: Counter[str] = Counter()

    def add(self, *found: Discrepancy) -> None:
        """Disagreements, counted each and kept while there are few of their kind."""
        for one in found:
            self._of_kind[one.kind] += 1
            if self._of_kind[one.kind] <= KEPT_OF_A_KIND:
                self.kept.append(one)

    @property
    def total(self) -> int:
        """How many there were."""
        return self._of_kind.total()
