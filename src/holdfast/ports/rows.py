"""The seam to a file of rows that grows while a job runs: what it holds is noted by the commits themselves."""

from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.domain.commit import Streamed
from holdfast.domain.item import Handled


class RowStream(Protocol):
    """A job's rows, each once, in the order of the commits. What the file's disk refuses costs the crawl nothing."""

    @property
    def standing(self) -> Streamed | None:
        """What the next commit is to note; None where there is nothing to rely on."""

    async def catch_up(self, until: int, *, over: Callable[[], bool]) -> None:
        """Append the rows of all commits up to `until`, unless `over` says that nobody waits for that any more."""

    async def follow(self, until: int, handled: Sequence[Handled]) -> None:
        """Append the rows of a commit that stands: these outcomes."""
