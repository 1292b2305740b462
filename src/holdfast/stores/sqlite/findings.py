"""What a transaction does with findings: new items, and known ones that are nearer now or no longer to be skipped."""

from dataclasses import replace

import apsw
import orjson

from holdfast.domain.item import Found, Handled, ItemStatus, Meeting, meet
from holdfast.domain.lease import Lease
from holdfast.stores.sqlite.change import PENDING, Change
from holdfast.stores.sqlite.connection import fetch
from holdfast.stores.sqlite.rows import json_rows
from holdfast.stores.sqlite.statements import statements

SQL = statements("commit")


def least(handled: tuple[Handled, ...]) -> list[Found]:
    """The findings of a batch, each address once: admitted if any of them is, at the least depth of all.

    As if each had met the one before it: where a checkpoint falls decides nothing.
    """
    least: dict[bytes, Found] = {}
    for entry in handled:
        for found in getattr(entry.outcome, "found", ()):
            rival = least.get(found.fingerprint)
            if rival is None:
                least[found.fingerprint] = found
                continue
            one, other = sorted((rival, found), key=lambda each: (each.skip is not None, each.depth))
            least[found.fingerprint] = replace(
                one, depth=min(one.depth, other.depth), lastmod=rival.lastmod or found.lastmod
            )
    return list(least.values())


def discover(db: apsw.Connection, lease: Lease, findings: list[Found], change: Change) -> None:
    """Write what the findings change; `findings` holds each address once."""
    if not findings:
        return
    sought = json_rows((found.fingerprint.hex(), found.depth, found.skip is None) for found in findings)
    ((answer,),) = fetch(
        db,
        SQL["unmet"],
        {"found": sought, "job_id": lease.job_id, "run": lease.run, "deepest": change.deepest},
    )
    new: list[Found] = []
    revived = []
    nearer = []
    for index, item_id, status, reason, depth, host_id, attempts in orjson.loads(answer):
        found = findings[index]
        if item_id is None:
            new.append(found)
            continue
        match meet(ItemStatus(status), depth, found, handled=attempts > 0):
            case Meeting.REVIVED:
                revived.append((item_id, min(depth, found.depth), found.parent_id))
                change.moves(host_id, (status, reason or ""), PENDING)
            case Meeting.NEARER:
                nearer.append((item_id, found.depth, 0))
            case Meeting.REJUDGED:
                nearer.append((item_id, found.depth, 1))
    dated = [(found.fingerprint.hex(), found.lastmod) for found in findings if found.lastmod is not None]
    if dated:
        db.execute(SQL["dated"], {"dates": json_rows(dated), "job_id": lease.job_id, "run": lease.run})
    insert(db, lease, new, change)
    if revived:
        db.execute(SQL["revived"], {"items": json_rows(revived)})
    if nearer:
        db.execute(SQL["nearer"], {"items": json_rows(nearer)})


def insert(db: apsw.Connection, lease: Lease, new: list[Found], change: Change) -> None:
    """Write new items, and give their hosts rows. Also how a job gets its first ones."""
    if not new:
        return
    names = json_rows(dict.fromkeys((found.host, found.stage) for found in new))
    host_ids = {
        (name, stage): host_id
        for host_id, name, stage in fetch(
            db, SQL["hosts_named"], {"chunk_id": lease.chunk_id, "names": names}
        )
    }
    rows = []
    for found in new:
        host_id = host_ids[found.host, found.stage]
        change.deepest = max(change.deepest, found.depth)
        rows.append(
            {
                "job_id": lease.job_id,
                "run": lease.run,
                "chunk_id": lease.chunk_id,
                "host_id": host_id,
                "kind": found.kind,
                "fingerprint": found.fingerprint,
                "url": found.url,
                "depth": found.depth,
                "parent_id": found.parent_id,
                "skip": found.skip,
                "lastmod": found.lastmod,
                "number": change.number,
            }
        )
        target = PENDING if found.skip is None else (ItemStatus.SKIPPED.value, found.skip)
        change.moves(host_id, None, target)
    db.executemany(SQL["discovered"], rows)
