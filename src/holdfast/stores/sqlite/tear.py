"""Repair of a torn tail, in one transaction: a crash in it leaves the tail to be found torn again."""

import apsw

from holdfast.domain.errors import LeaseLost
from holdfast.domain.lease import Lease
from holdfast.ports.faults import FaultPoint, reached
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.rows import json_rows
from holdfast.stores.sqlite.statements import statements

SQL = statements("tear")


def write(db: apsw.Connection, lease: Lease, segment: str, good: int) -> int:
    """Undo what pointed past `good`; gives the number of items that are pending again."""
    with immediate(db):
        if not fetch(db, SQL["still_ours"], {"chunk_id": lease.chunk_id, "epoch": lease.epoch}):
            raise LeaseLost("the lease is lost: another worker took over while this one repaired a segment")
        found = fetch(db, SQL["segment_id"], {"job_id": lease.job_id, "run": lease.run, "name": segment})
        if not found:
            return 0
        segment_id, chunk_id, _ = found[0]
        where = {"segment_id": segment_id, "good": good}
        ids = [item_id for (item_id,) in fetch(db, SQL["torn"], where)]
        of_run = {"job_id": lease.job_id, "run": lease.run}
        db.execute(SQL["lay_aside"], of_run | {"ids": json_rows(ids)})
        db.execute(SQL["drop_records"], of_run | {"ids": json_rows(ids)})
        db.execute(SQL["reopen"], {"ids": json_rows(ids)})
        if ids:
            db.execute(SQL["unstream"], {"job_id": lease.job_id})
        reached(FaultPoint.MID_REPAIR, segment)
        db.execute(SQL["shorten"], where)
        db.execute(SQL["shorten_spans"], where)
        of_chunk = of_run | {"chunk_id": chunk_id}
        db.execute(SQL["recount_tallies_drop"], {"chunk_id": chunk_id})
        for statement in ("recount_tallies", "recount_hosts", "recount_chunk"):
            db.execute(SQL[statement], of_chunk)
        return len(ids)
