"""Changes of millions of rows, in slices of 10,000 that a crash can fall between.

While `jobs.changing` is set nobody may claim the job; whoever runs the command again goes on from there.
"""

from collections.abc import Sequence
from typing import Any

import apsw

from holdfast.domain.job import Limits
from holdfast.stores.sqlite import rows
from holdfast.stores.sqlite.change import Change, count, tally
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.rows import json_rows
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")
SLICE = 10_000
DEPTH = "depth"
"""Why what lies beyond the depth limit is skipped; a change of that limit moves it."""
_EMPTIED = (
    "slice_records",
    "slice_commits",
    "slice_items",
    "slice_hosts",
    "slice_tallies",
    "slice_laid_aside",
    "slice_segments",
    "slice_chunks",
    "slice_events",
)


def change_of(db: apsw.Connection, job_id: int) -> str | None:
    """The change that is under way, or None."""
    found = fetch(db, SQL["which_change"], {"job_id": job_id})
    return found[0][0] if found else None


def unfinished(db: apsw.Connection) -> dict[int, str]:
    """Jobs that a crash left in the middle of a change, each with that change."""
    return dict(fetch(db, SQL["interrupted"]))


def step(db: apsw.Connection, job_id: int, after: int) -> int | None:
    """One slice of the change under way, from `after` on (0 at first); gives where the next one begins.

    None when it is through, when there is none, or when it is a restart: that needs its first items again, and only
    who gives them goes on with it.
    """
    match change_of(db, job_id):
        case "remove":
            if empty(db, job_id):
                return 0
            with immediate(db):
                db.execute(SQL["remove_job"], {"job_id": job_id})
            return None
        case "bounds":
            return _rebound(db, job_id, after)
        case _:
            return None


def empty(db: apsw.Connection, job_id: int) -> bool:
    """Delete one slice of the job's rows, children first; False when none are left.

    Foreign keys rest meanwhile: for each item that goes SQLite would look through the records of all other jobs.
    """
    db.execute("PRAGMA foreign_keys = OFF")
    try:
        for name in _EMPTIED:
            with immediate(db):
                db.execute(SQL[name], {"job_id": job_id, "slice": SLICE})
                if db.changes():
                    return True
        return False
    finally:
        db.execute("PRAGMA foreign_keys = ON")


def _rebound(db: apsw.Connection, job_id: int, after: int) -> int | None:
    """Move what a slice of the items has on the wrong side of the bounds as they are now.

    Nothing remembers how far it came: after a crash what was moved is only looked at again.
    """
    with immediate(db):
        ((bounds, number, public_id),) = fetch(db, SQL["bounds"], {"job_id": job_id})
        with rows.reading(public_id, "bounds"):
            max_depth = rows.group(Limits, rows.mapping(bounds), "limits").max_depth
        until = after + SLICE
        found = fetch(
            db, SQL["misplaced"], {"job_id": job_id, "max_depth": max_depth, "after": after, "until": until}
        )
        for was, update, target in (
            ("pending", "shut_out", ("skipped", DEPTH)),
            ("skipped", "reopen", ("pending", "")),
        ):
            movers = [row for row in found if row[3] == was]
            if movers:
                ids = json_rows(item_id for item_id, *_ in movers)
                db.execute(SQL[update], {"ids": ids, "number": number})
                moved(db, [tuple(row[1:]) for row in movers], target)
        if any(status == "skipped" and reason != DEPTH for *_, status, reason in found):
            db.execute(SQL["reopened"], {"job_id": job_id})
        ((last,),) = fetch(db, SQL["last_item"])
        if until < last:
            return until
        db.execute(SQL["changing"], {"job_id": job_id, "changing": None})
        return None


def sizes(db: apsw.Connection, job_id: int, ids: str) -> int:
    """Bytes that these items' records count for."""
    ((total,),) = fetch(db, SQL["sizes"], {"job_id": job_id, "ids": ids})
    return int(total)


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
