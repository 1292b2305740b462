"""Changes that were begun and are carried on, slice by slice, by whoever comes: one step of whichever is under way."""

import apsw

from holdfast.domain.job import Limits
from holdfast.stores.sqlite import filling, retrying, rows, slices
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.rows import json_rows
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")
DEPTH = "depth"
"""Why what lies beyond the depth limit is skipped; a change of that limit moves it."""


def step(db: apsw.Connection, job_id: int, after: int) -> int | None:
    """One slice of the change under way, from `after` on (0 at first); gives where the next one begins.

    None when it is through, when there is none, or when it is a restart: that needs its first items again, and only
    who gives them goes on with it.
    """
    match slices.change_of(db, job_id):
        case "remove":
            if slices.empty(db, job_id):
                return 0
            with immediate(db):
                db.execute(SQL["not_even_one"], {"job_id": job_id})
                db.execute(SQL["remove_job"], {"job_id": job_id})
            return None
        case "bounds":
            return _rebound(db, job_id, after)
        case "retry":
            return 0 if retrying.step(db, job_id)[1] else None
        case "rescan" | "rollback" | "fork":
            return 0 if filling.step(db, job_id) else None
        case _:
            return None


def _rebound(db: apsw.Connection, job_id: int, after: int) -> int | None:
    """Move what a slice of the items has on the wrong side of the bounds as they are now.

    Nothing remembers how far it came: after a crash what was moved is only looked at again.
    """
    with immediate(db):
        ((bounds, number, public_id),) = fetch(db, SQL["bounds"], {"job_id": job_id})
        with rows.reading(public_id, "bounds"):
            max_depth = rows.group(Limits, rows.mapping(bounds), "limits").max_depth
        until = after + slices.SLICE
        found = fetch(
            db, SQL["misplaced"], {"job_id": job_id, "max_depth": max_depth, "after": after, "until": until}
        )
        for deep, update, target in (
            (True, "shut_out", ("skipped", DEPTH)),
            (False, "reopen", ("pending", "")),
        ):
            movers = [row for row in found if row[5] == deep]
            if movers:
                ids = json_rows(item_id for item_id, *_ in movers)
                db.execute(SQL[update], {"ids": ids, "number": number})
                slices.moved(db, [tuple(row[1:5]) for row in movers], target)
        if any(status == "skipped" and reason != DEPTH for *_, status, reason, _ in found):
            db.execute(SQL["reopened"], {"job_id": job_id})
        ((last,),) = fetch(db, SQL["last_item"])
        if until < last:
            return until
        db.execute(SQL["changing"], {"job_id": job_id, "changing": None})
        return None
