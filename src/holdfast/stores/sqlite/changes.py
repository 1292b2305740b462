"""Changes that were begun and are carried on, slice by slice, by whoever comes: one step of whichever is under way."""

import apsw

from holdfast.stores.sqlite import filling, retrying, slices
from holdfast.stores.sqlite.connection import immediate
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")


def step(db: apsw.Connection, job_id: int) -> bool:
    """One slice of the change under way; whether there may be more.

    False as well where it takes more than the store has: a restart its first items, new rules somebody who judges by
    them (see `revising`). Who has that goes on with it.
    """
    match slices.change_of(db, job_id):
        case "remove":
            if slices.empty(db, job_id):
                return True
            with immediate(db):
                db.execute(SQL["not_even_one"], {"job_id": job_id})
                db.execute(SQL["remove_job"], {"job_id": job_id})
            return False
        case "retry":
            return retrying.step(db, job_id)[1]
        case "rescan" | "rollback" | "fork":
            return filling.step(db, job_id)
        case _:
            return False
