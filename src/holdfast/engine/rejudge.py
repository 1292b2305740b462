"""Judges the links of a stored page again, because the page was found nearer than it was fetched."""

import asyncio
from collections.abc import Mapping
from typing import Any

from holdfast.domain.item import Item, Outcome, Record, Rejudged
from holdfast.domain.job import Job
from holdfast.engine.tools import Tools
from holdfast.ports.ledger import RecordRow
from holdfast.ports.segments import Reading


async def rejudge(tools: Tools, job: Job, cursor: Mapping[str, Any], item: Item) -> Outcome:
    """What the stored evidence leads to, one step from where the item stands now. Nothing is fetched."""
    row = await tools.ledger.record(job.id, item.id)
    if row is None:
        return Rejudged()
    reading = await asyncio.to_thread(read_body, tools, job, row)
    record = Record(row.kind, row.data)
    return Rejudged(tuple(tools.pipeline.relink(job, cursor, item, record, reading)))


def read_body(tools: Tools, job: Job, row: RecordRow) -> Reading | None:
    """The stored body of a record: its own, or the one that its revisit points to."""
    location = row.revisit_of or row.location
    return None if location is None else tools.segments.read(job, location)
