"""Failed items are tried again: back to pending, in slices, each counted in the transaction that moves it."""

import apsw

from holdfast.domain.failures import Which
from holdfast.domain.states import Action, after
from holdfast.stores.sqlite import slices, steering
from holdfast.stores.sqlite.change import event
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")


def begin(db: apsw.Connection, job_id: int, which: Which, now: float) -> None:
    """Nobody can claim the job from here on, until the last slice is through."""
    with immediate(db):
        job = steering.read_job(db, job_id)
        after(job.status, Action.RETRY)
        plan = {"where": which.conditions, "at": 0, "count": 0, "was": job.status, "now": now}
        slices.begin(db, job_id, "retry", plan)


def step(db: apsw.Connection, job_id: int) -> tuple[int, bool]:
    """One slice: how many items were put back so far, and whether there is more to do.

    With the last one the job is pending, if anything was put back.
    """
    with immediate(db):
        plan = slices.planned(db, job_id, "retry")
        if plan is None:
            return 0, False
        job = steering.read_job(db, job_id)
        until = plan["at"] + slices.SLICE
        bounds = {
            "job_id": job_id,
            "after": plan["at"],
            "until": until,
            "max_depth": job.limits.max_depth,
        }
        which = Which(tuple(plan["where"]))
        failed = fetch(db, SQL["failed_between"], bounds)
        meant = [row[:5] for row in failed if which.fits(row[5], row[4] or "")]
        if meant:
            slices.put_back(db, job_id, meant)
        plan |= {"at": until, "count": plan["count"] + len(meant)}
        ((last,),) = fetch(db, SQL["last_item"])
        if until < last:
            slices.note(db, job_id, "retry", plan)
            return plan["count"], True
        db.execute(SQL["changing"], {"job_id": job_id, "changing": None})
        # Who cancelled it meanwhile has had the last word.
        if plan["count"] and job.status == plan["was"]:
            db.execute(SQL["chunks_pending"], {"job_id": job_id})
            status = after(job.status, Action.RETRY)
            stands = {"job_id": job_id, "status": status, "reason": None, "now": plan["now"]}
            db.execute(SQL["set_status"], stands | {"finished": False})
            event(db, job_id, plan["now"], "resumed", f"{plan['count']} failed items are tried again")
        return plan["count"], False
