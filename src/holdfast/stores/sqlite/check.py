"""What the ledger can tell about itself: counters against rows, sequence numbers against commits, keys against keys."""

import apsw

from holdfast.ports.ledger import Discrepancy
from holdfast.stores.sqlite.connection import fetch
from holdfast.stores.sqlite.statements import statements

SQL = statements("check")


def read(db: apsw.Connection, job_id: int) -> list[Discrepancy]:
    """Every disagreement, named; an empty list where all agree."""
    found = [Discrepancy("ledger", "sqlite", str(row[0])) for row in fetch(db, SQL["quick_check"]) if row[0] != "ok"]
    for statement in SQL:
        if statement == "quick_check":
            continue
        kind = statement.partition("__")[0].replace("_", " ")
        found += [Discrepancy(kind, str(row[0]), str(row[1])) for row in fetch(db, SQL[statement], {"job_id": job_id})]
    return found
