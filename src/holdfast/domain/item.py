"""Items, what handling one gave, and how a new finding meets what the ledger knows already."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

import orjson

COUNTED = "external"
"""The one reason for which findings beyond a number are counted instead of kept."""


class ItemStatus(StrEnum):
    """Where an item stands. Taken is not a status: what was taken and not committed is still pending."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    REDIRECTED = "redirected"
    CONSULTED = "consulted"
    """Read only for the addresses in it: no page, no row."""


@dataclass(frozen=True, slots=True)
class Found:
    """An address that somebody named: a start URL, a link, a redirect's target.

    `skip` is None when the job admits it, else the reason why not; it becomes an item all the same,
    so that nothing discovered is forgotten.
    """

    url: str
    fingerprint: bytes
    host: str
    """Whom to ask: the key of politeness, for the web an origin."""
    depth: int
    kind: str = "page"
    parent_id: int | None = None
    skip: str | None = None
    lastmod: str | None = None
    """When it changed last, as whoever named it says: a W3C date, as written."""
    stage: int = 0
    """In which phase of the job it is handled at the earliest, by number."""


@dataclass(frozen=True, slots=True)
class Record:
    """A result row. `exchange` is the raw evidence, opaque to the engine, that the segments store."""

    kind: str
    data: Mapping[str, Any]
    exchange: Any = None


def digest_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of rows in their order, whatever the order of their columns."""
    whole = sha256()
    for row in rows:
        whole.update(orjson.dumps(row, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE))
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class Item:
    """An item as the ledger hands it out to be handled."""

    id: int
    url: str
    host_id: int
    host: str
    depth: int
    kind: str = "page"
    parent_id: int | None = None
    attempts: int = 0
    """How often it was tried before, committed retries only."""
    rejudge: bool = False
    """Done already, then found at a lesser depth, or the scope grew: its stored links are to be judged again."""
    host_answered: bool = False
    """Its host gave an answer before, to this item or another one of the job."""
    lastmod: str | None = None
    """When it changed last, as the last of those that named it with a date said."""
    host_pages: int = 0
    """Pages that the job had of its host when this was handed out."""
    host_bytes: int = 0
    """Of their bodies."""
    earlier: Record | None = None
    """In a run that asks again for the pages of an earlier one: what that has of it, as far as it can still be used."""


@dataclass(frozen=True, slots=True)
class Done:
    """The item gave what it should."""

    records: tuple[Record, ...] = ()
    found: tuple[Found, ...] = ()
    unkept: int = 0
    """Findings that were rejected and not kept as items, only counted."""
    reason: str | None = None
    """What kind of success, if there are several; tallied like the reasons of failures."""
    cursor: Mapping[str, Any] | None = None
    """The pipeline's notes from this outcome on; None: as before. They are committed with it, or lost with it."""


@dataclass(frozen=True, slots=True)
class Redirected:
    """The address stands for another one, which is an item of its own."""

    found: tuple[Found, ...]
    reason: str
    records: tuple[Record, ...] = ()
    widens: bool = False
    """More belongs to the job from now on: what was settled before is to have its links judged again."""
    cursor: Mapping[str, Any] | None = None
    """The pipeline's notes from this outcome on; None: as before. They are committed with it, or lost with it."""


@dataclass(frozen=True, slots=True)
class Consulted:
    """It is no page: it was read for the addresses in it (a sitemap, a feed)."""

    records: tuple[Record, ...]
    found: tuple[Found, ...] = ()
    unkept: int = 0
    """As in Done."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """It won't work, however often we try."""

    reason: str
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """We may not or need not."""

    reason: str


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Not now. `due_at` is wall-clock time; `host_due_at` holds back the whole host (Retry-After)."""

    due_at: float
    reason: str
    host_due_at: float | None = None
    tried: bool = True
    """The item itself was tried, which counts; False where something else has to be had before."""


@dataclass(frozen=True, slots=True)
class Rejudged:
    """The stored body (or redirect) was read again, and this is what it leads to, one deeper than the item now is."""

    found: tuple[Found, ...] = ()


Outcome = Done | Redirected | Consulted | Failed | Skipped | RetryAt | Rejudged


@dataclass(frozen=True, slots=True)
class Handled:
    """An item with its outcome: one entry of a batch."""

    item: Item
    outcome: Outcome


READ = frozenset({ItemStatus.DONE, ItemStatus.REDIRECTED, ItemStatus.CONSULTED})
"""What stands there by its stored response, which can be read again for where it leads."""


class Meeting(StrEnum):
    """What becomes of a finding whose address the ledger knows already."""

    DEEPER = "known at this depth or a lesser one: nothing changes"
    REVIVED = "was skipped and is admitted now: pending"
    NEARER = "pending, or settled without a body: the lesser depth is kept"
    REJUDGED = "done already: its links are judged again"


def meet(known_status: ItemStatus, known_depth: int, found: Found, *, handled: bool) -> Meeting:
    """Decide how a new finding changes a known item. Both stores and the tests' model obey this.

    `handled`: the item was skipped when it was its turn (robots.txt), which no finding changes, rather than when it
    was found (scope, depth).
    """
    if known_status is ItemStatus.SKIPPED and found.skip is None and not handled:
        return Meeting.REVIVED
    if found.depth >= known_depth:
        return Meeting.DEEPER
    if known_status in READ and found.skip is None:
        return Meeting.REJUDGED
    return Meeting.NEARER
