"""Changes of millions of rows, in slices of 10,000 that a crash can fall between.

While `jobs.changing` is set nobody may claim the job; whoever runs the command again goes on from there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from holdfast.domain.errors import UsageError
from holdfast.stores.sqlite import rows
from holdfast.stores.sqlite.change import Change, count, tally
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.rows import json_rows
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")
SLICE = 10_000
_EMPTIED = (
    "slice_records",
    "slice_commits",
    "slice_items",
    "slice_hosts",
    "slice_tallies",
    "slice_laid_aside",
    "slice_streams",
    "slice_segments",
    "slice_chunks",
)
_ANY_RUN = 2**62


def change_of(db: apsw.Connection, job_id: int) -> str | None:
    """The change that is under way, or None."""
    found = fetch(db, SQL["which_change"], {"job_id": job_id})
    return found[0][0] if found else None


def begin(db: apsw.Connection, job_id: int, changing: str, plan: Mapping[str, Any]) -> None:
    """Nobody may claim the job from here on. UsageError where a change of it is under way already."""
    refuse_changing(db, job_id)
    note(db, job_id, changing, plan)


def refuse_changing(db: apsw.Connection, job_id: int) -> None:
    """UsageError where a change of the job is under way."""
    if (other := change_of(db, job_id)) is not None:
        raise UsageError(
            f"another change of this job ({other}) was interrupted, or is under way; run that command again first"
        )


def note(db: apsw.Connection, job_id: int, changing: str, plan: Mapping[str, Any]) -> None:
    """How far a change has come, in the transaction that took it there."""
    db.execute(SQL["planned"], {"job_id": job_id, "changing": changing, "plan": rows.dumps(plan)})


def planned(db: apsw.Connection, job_id: int, changing: str) -> dict[str, Any] | None:
    """What was noted of that change; None where it is not, or no longer, under way."""
    if change_of(db, job_id) != changing:
        return None
    ((text,),) = fetch(db, SQL["plan"], {"job_id": job_id})
    return rows.mapping(text)


def unfinished(db: apsw.Connection) -> dict[int, str]:
    """Jobs that a crash left in the middle of a change, each with that change."""
    return dict(fetch(db, SQL["interrupted"]))


def empty(db: apsw.Connection, job_id: int) -> bool:
    """Delete one slice of what the job has, children first; False when nothing is left."""
    if drop_runs(db, job_id, _ANY_RUN):
        return True
    with immediate(db):
        db.execute(SQL["no_events"], {"job_id": job_id})
        db.execute(SQL["no_runs"], {"job_id": job_id})
    return False


def drop_runs(db: apsw.Connection, job_id: int, last: int) -> bool:
    """Delete one slice of the job's runs up to that one; False when none of their rows are left.

    Foreign keys rest meanwhile: for each item that goes SQLite would look through the records of all other jobs.
    """
    of_runs = {"job_id": job_id, "first": 0, "last": last, "slice": SLICE}
    db.execute("PRAGMA foreign_keys = OFF")
    try:
        for name in _EMPTIED:
            with immediate(db):
                db.execute(SQL[name], of_runs)
                if db.changes():
                    return True
        return False
    finally:
        db.execute("PRAGMA foreign_keys = ON")


def sizes(db: apsw.Connection, job_id: int, ids: str) -> int:
    """Bytes that these items' records count for."""
    ((total,),) = fetch(db, SQL["sizes"], {"job_id": job_id, "ids": ids})
    return int(total)


def put_back(db: apsw.Connection, job_id: int, found: Sequence[Any]) -> None:
    """Items as if they had never been tried: (id, chunk, host, status, reason) each. Their records are laid aside."""
    ids = json_rows(item_id for item_id, *_ in found)
    lost_bytes = sizes(db, job_id, ids)
    db.execute(SQL["lay_aside"], {"job_id": job_id, "ids": ids})
    db.execute(SQL["drop_failures"], {"job_id": job_id, "ids": ids})
    db.execute(SQL["reopen"], {"ids": ids})
    db.execute(SQL["reopened"], {"job_id": job_id})
    sources = [(chunk, host, status, reason or "") for _, chunk, host, status, reason in found]
    moved(db, sources, ("pending", ""), lost_bytes)


def moved(db: apsw.Connection, sources: Sequence[Any], target: tuple[str, str], lost_bytes: int = 0) -> None:
    """Count items that moved outside a commit: (chunk, host, status, reason) each."""
    changes: dict[int, Change] = {}
    for chunk_id, host_id, status, reason in sources:
        changes.setdefault(chunk_id, Change(0)).moves(host_id, (status, reason), target)
    for chunk_id, change in changes.items():
        change.bytes -= lost_bytes
        lost_bytes = 0
        tally(db, chunk_id, change)
        count(db, chunk_id, change)
