"""What a transaction adds up to: items that moved between statuses, and the counters that follow from that.

A commit, a new job and a change of bounds all count through here; nothing else writes a counter.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import apsw

from holdfast.domain.checkpoint import Counters
from holdfast.domain.item import ItemStatus
from holdfast.stores.sqlite.connection import fetch
from holdfast.stores.sqlite.statements import statements

SQL = statements("commit")
PENDING = (ItemStatus.PENDING.value, "")


@dataclass(slots=True)
class Change:
    """What the steps of one commit add up to; written by the last of them."""

    number: int
    deepest: int = 0
    tallies: Counter[tuple[str, str]] = field(default_factory=Counter)
    queued_by_host: Counter[int] = field(default_factory=Counter)
    settled_by_host: Counter[int] = field(default_factory=Counter)
    pages_by_host: Counter[int] = field(default_factory=Counter)
    bytes_by_host: Counter[int] = field(default_factory=Counter)
    hosts_with_new: set[int] = field(default_factory=set)
    hosts_that_answered: set[int] = field(default_factory=set)
    host_due: Mapping[int, float] = field(default_factory=dict)
    bytes: int = 0
    depth: int = 0

    def moves(self, host_id: int, source: tuple[str, str] | None, target: tuple[str, str]) -> None:
        """One item goes from a status to another; from None where it is new."""
        if source is not None:
            self.tallies[source] -= 1
        self.tallies[target] += 1
        self.pages_by_host[host_id] += int(target[0] == ItemStatus.DONE) - int(
            source is not None and source[0] == ItemStatus.DONE
        )
        came = int(target == PENDING) - int(source == PENDING)
        self.queued_by_host[host_id] += came
        self.settled_by_host[host_id] += int(source is None) - came
        if came > 0:
            self.hosts_with_new.add(host_id)

    def of(self, status: ItemStatus) -> int:
        """By how much the number of items in that status changes."""
        return sum(count for (name, _), count in self.tallies.items() if name == status)


def tally(db: apsw.Connection, chunk_id: int, change: Change) -> None:
    """Write what the moves add up to: what is known of each host, and items by status and reason."""
    hosts = dict.fromkeys((*change.queued_by_host, *sorted(change.hosts_that_answered), *change.host_due))
    db.executemany(
        SQL["host_changed"],
        [
            {
                "host_id": host_id,
                "queued": change.queued_by_host[host_id],
                "settled": change.settled_by_host[host_id],
                "pages": change.pages_by_host[host_id],
                "bytes": change.bytes_by_host[host_id],
                "answered": host_id in change.hosts_that_answered,
                "due_at": change.host_due.get(host_id),
            }
            for host_id in hosts
        ],
    )
    # A few rows at the most: a statement for each costs less than a table of them.
    for (status, reason), count in change.tallies.items():
        if count:
            row = {"chunk_id": chunk_id, "status": status, "reason": reason, "count": count}
            db.execute(SQL["tallied_less" if count < 0 else "tallied_more"], row)


def count(db: apsw.Connection, chunk_id: int, change: Change, external: int = 0) -> Counters:
    """Raise the chunk's counters by the change, and by rejected findings that were not kept as items."""
    ((*numbers, depth),) = fetch(
        db,
        SQL["counted"],
        {
            "chunk_id": chunk_id,
            "found": sum(change.tallies.values()),
            "queued": change.of(ItemStatus.PENDING),
            "done": change.of(ItemStatus.DONE),
            "failed": change.of(ItemStatus.FAILED),
            "skipped": change.of(ItemStatus.SKIPPED),
            "redirected": change.of(ItemStatus.REDIRECTED),
            "consulted": change.of(ItemStatus.CONSULTED),
            "bytes": change.bytes,
            "depth": change.depth,
            "deepest": change.deepest,
            "external": external,
        },
    )
    change.depth = depth
    return Counters(*numbers)


def count_time(db: apsw.Connection, job_id: int) -> None:
    """A claim is being taken away: the active time that no commit has counted is not lost."""
    db.execute(SQL["time_counted"], {"job_id": job_id})


def event(db: apsw.Connection, job_id: int, at: float, kind: str, detail: str) -> None:
    """Put an event into the outbox, in the transaction at hand."""
    db.execute(SQL["event"], {"job_id": job_id, "at": at, "kind": kind, "detail": detail})
