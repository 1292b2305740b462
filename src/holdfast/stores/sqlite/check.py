"""What the ledger can tell about itself: counters against rows, numbers against commits, keys."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import apsw

from holdfast.domain.url import fingerprint, fingerprint_as
from holdfast.ports.ledger import Discrepancy
from holdfast.stores.sqlite.connection import fetch
from holdfast.stores.sqlite.statements import statements

SQL = statements("check")
MOST = 1_000
"""So many disagreements of one sort are named; a ledger in ruins must not fill the memory."""
PAGE = 10_000


def read(db: apsw.Connection, job_id: int, run: int | None) -> list[Discrepancy]:
    """Every disagreement, named; an empty list where all agree."""
    if run is None:
        ((run,),) = fetch(db, SQL["present_run"], {"job_id": job_id})
    of_run = {"job_id": job_id, "run": run}
    found = [*_bounded(_integrity(db)), *_bounded(_keys(db))]
    for name in SQL:
        kind, double, _ = name.partition("__")
        if double:
            found += _bounded(_disagreements(db, kind, SQL[name], of_run))
    return found + _bounded(_addresses(db, of_run))


def _bounded(found: Iterator[Discrepancy]) -> list[Discrepancy]:
    named = list(islice(found, MOST))
    if len(named) == MOST:
        named.append(Discrepancy(named[-1].kind, "more", f"the first {MOST} of this sort are named"))
    return named


def _integrity(db: apsw.Connection) -> Iterator[Discrepancy]:
    for (what,) in fetch(db, SQL["integrity"]):
        if what != "ok":
            yield Discrepancy("ledger", "sqlite", str(what))


def _keys(db: apsw.Connection) -> Iterator[Discrepancy]:
    for table, row, parent, _ in db.execute(SQL["foreign_keys"]):
        subject = f"a row of {table}" if row is None else f"row {row} of {table}"
        yield Discrepancy("key", subject, f"belongs to a row of {parent} that is missing")


def _disagreements(
    db: apsw.Connection, kind: str, sql: str, bindings: Mapping[str, Any]
) -> Iterator[Discrepancy]:
    try:
        for subject, detail in db.execute(sql, bindings):
            yield Discrepancy(kind, str(subject), str(detail))
    except apsw.SQLError as error:
        # A value that no CHECK would have let in, such as broken JSON; the others are still looked at.
        yield Discrepancy("ledger", kind, f"can't be checked: {error}")


def _addresses(db: apsw.Connection, of_run: Mapping[str, int]) -> Iterator[Discrepancy]:
    after = 0
    while page := fetch(db, SQL["addresses"], {**of_run, "after": after, "limit": PAGE}):
        for _, url, kind, stored in page:
            if stored not in {fingerprint(url), fingerprint_as(kind, url)}:
                yield Discrepancy("item", url, "goes by a fingerprint that is another address's")
        after = page[-1][0]
