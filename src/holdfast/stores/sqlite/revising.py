"""New rules for a job that is there: items move between the queue and what is shut out, slice by slice.

Who judges is not the store's to know. It keeps what the rules were, how far the moving came, and exact counts: each
slice is one transaction, and a crash falls between two of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from holdfast.domain.item import Found
from holdfast.domain.lease import Lease
from holdfast.ports.jobs import Move, Revision, Slice, Standing
from holdfast.stores.sqlite import slices
from holdfast.stores.sqlite.change import Change, count, tally
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.findings import discover
from holdfast.stores.sqlite.rows import json_rows
from holdfast.stores.sqlite.statements import statements

SQL = statements("jobs")
CHANGING = "bounds"


def begin(db: apsw.Connection, job_id: int, revision: Revision) -> None:
    """Nobody may claim the job from here on. In the transaction that stores the new rules."""
    slices.begin(db, job_id, CHANGING, {"at": 0} | to_plan(revision))


def to_plan(revision: Revision) -> dict[str, Any]:
    """A revision as it is noted."""
    return {
        "spec": dict(revision.spec),
        "max_depth": revision.max_depth,
        "readmitted": sorted(revision.readmitted),
        "relinks": revision.relinks,
        "begins": revision.begins,
    }


def of_plan(plan: Mapping[str, Any]) -> Revision:
    """The revision that was noted."""
    return Revision(
        plan["spec"], plan["max_depth"], frozenset(plan["readmitted"]), plan["relinks"], plan["begins"]
    )


def under_way(db: apsw.Connection, job_id: int) -> tuple[Revision, int] | None:
    """What was begun, and after which item it goes on."""
    plan = slices.planned(db, job_id, CHANGING)
    if plan is None:
        return None
    return of_plan(plan), plan["at"]


def upcoming(db: apsw.Connection, job_id: int, hosts: int, each: int) -> list[list[Standing]]:
    """What the first hosts with anything queued have next."""
    queued = fetch(db, SQL["hosts_with_work"], {"job_id": job_id, "limit": hosts})
    return [
        [Standing(*row) for row in fetch(db, SQL["next_of_host"], {"host_id": host_id, "limit": each})]
        for (host_id,) in queued
    ]


def standings(db: apsw.Connection, job_id: int, after: int) -> Slice:
    """The next slice of what rules may move, and of what is done."""
    until = after + slices.SLICE
    found = fetch(db, SQL["standings"], {"job_id": job_id, "after": after, "until": until})
    ((last,),) = fetch(db, SQL["last_item"])
    items = [Standing(*row) for row in found]
    return Slice(after, until, items, until >= last)


def step(
    db: apsw.Connection, job_id: int, slice_: Slice, moves: Sequence[Move], seeds: Sequence[Found]
) -> None:
    """Move a slice, and note that; nothing where somebody else did."""
    with immediate(db):
        plan = slices.planned(db, job_id, CHANGING)
        if plan is None or plan["at"] != slice_.after:
            return
        _move(db, job_id, moves)
        if plan["relinks"]:
            of_slice = {"job_id": job_id, "after": slice_.after, "until": slice_.until}
            db.execute(SQL["relinked"], of_slice)
        if not slice_.last:
            slices.note(db, job_id, CHANGING, plan | {"at": slice_.until})
            return
        _seed(db, job_id, seeds)
        db.execute(SQL["changing"], {"job_id": job_id, "changing": None})


def _move(db: apsw.Connection, job_id: int, moves: Sequence[Move]) -> None:
    if not moves:
        return
    ((number,),) = fetch(db, SQL["commit_no"], {"job_id": job_id})
    asked = json_rows((move.item.id, move.item.status, move.item.reason, move.reason) for move in moves)
    # As they stand now: nobody works on the job, but who is to be counted is not taken on trust.
    found = fetch(db, SQL["movers"], {"moves": asked})
    db.execute(SQL["moved"], {"moves": json_rows((row[0], row[5]) for row in found), "number": number})
    for reason in {row[5] for row in found}:
        sources = [row[1:5] for row in found if row[5] == reason]
        slices.moved(db, sources, ("pending", "") if reason is None else ("skipped", reason))
    if any(row[6] for row in found):
        db.execute(SQL["reopened"], {"job_id": job_id})


def _seed(db: apsw.Connection, job_id: int, seeds: Sequence[Found]) -> None:
    """First items that were not there, by the very steps of a commit."""
    if not seeds:
        return
    ((chunk_id, run, deepest, number),) = fetch(db, SQL["first_chunk"], {"job_id": job_id})
    lease = Lease(job_id, chunk_id, run, epoch=0, seq=0, worker_id="")
    change = Change(number, deepest)
    discover(db, lease, list({seed.fingerprint: seed for seed in seeds}.values()), change)
    tally(db, chunk_id, change)
    count(db, chunk_id, change)
