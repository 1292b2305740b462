"""Exact limits: a slot is reserved before an item is handled, and given back if it gave no page."""

from holdfast.domain.checkpoint import Counters
from holdfast.domain.item import Done, Outcome
from holdfast.domain.job import Limits

PAGE_LIMIT = "page limit"
BYTE_LIMIT = "byte limit"
HOST_BUDGET = "host_budget"
"""Why an item is skipped whose host has given as much as it may."""


class Budget:
    """What a job may still do. Counts what is committed, what is handled and what is in flight alike."""

    def __init__(self, limits: Limits, counters: Counters) -> None:
        self._max_pages = limits.max_pages
        self._max_bytes = limits.max_bytes
        self._pages = counters.done
        self._bytes = counters.bytes
        self._reserved = 0
        self._full = False

    def reserve(self) -> bool:
        """A slot for one more item, if there is one."""
        if self._max_pages is not None and self._pages + self._reserved >= self._max_pages:
            return False
        self._reserved += 1
        return True

    def settle(self, outcome: Outcome | None) -> bool:
        """Turn the slot into a page, or give it back. False: the outcome must not be kept.

        After one that didn't fit none is kept: a handler counts what it found as reported from then on, so a later
        outcome may leave out what only the dropped one had found.
        """
        self._reserved -= 1
        if outcome is None:
            return True
        size = weight(outcome)
        if self._full or (self._max_bytes is not None and self._bytes + size > self._max_bytes):
            self._full = True
            return False
        self._bytes += size
        if isinstance(outcome, Done):
            self._pages += 1
        return True

    def spent(self) -> str | None:
        """Which limit is reached; None while an item in flight may still give its slot back."""
        if self._full or (self._max_bytes is not None and self._bytes >= self._max_bytes):
            return BYTE_LIMIT
        if self._max_pages is not None and self._pages >= self._max_pages:
            return PAGE_LIMIT
        return None


def weight(outcome: Outcome) -> int:
    """The bytes of the bodies that an outcome keeps."""
    return sum(int(record.data.get("size", 0)) for record in getattr(outcome, "records", ()))


def gained(outcome: Outcome) -> tuple[int, int]:
    """What an outcome counts for against its host's budget: a page and its bytes, or nothing."""
    return (1, weight(outcome)) if isinstance(outcome, Done) else (0, 0)
