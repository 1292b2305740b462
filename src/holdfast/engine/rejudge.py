"""Judges the links of a stored page again: the page was found nearer than it was fetched, or the scope has grown."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.domain.item import Item, Outcome, Record, Rejudged
from holdfast.domain.job import Job
from holdfast.engine.tools import Tools
from holdfast.ports.ledger import RecordRow
from holdfast.ports.segments import Reading, as_rendered, standing_for


async def rejudge(tools: Tools, job: Job, cursor: Callable[[], Mapping[str, Any]], item: Item) -> Outcome:
    """What the stored evidence leads to, one step from where the item stands now. Nothing is fetched.

    The cursor is asked for last: a scope that grew before the outcome is given must count in it.
    """
    row = await tools.ledger.record(job.id, item.id)
    if row is None:
        return Rejudged()
    reading = await asyncio.to_thread(read_body, tools, job, row)
    record = Record(row.kind, row.data)
    return Rejudged(tuple(tools.pipeline_of(job.kind, job.spec).relink(job, cursor(), item, record, reading)))


def read_body(tools: Tools, job: Job, row: RecordRow) -> Reading | None:
    """What is stored of a record; the body of a revisit is the one that it points to.

    That of a page which was shown by a browser is what its scripts made of it.
    """
    if row.location is None:
        return None
    reading = tools.segments.read(job, row.location)
    if row.revisit_of is not None:
        reading = standing_for(reading, tools.segments.read(job, row.revisit_of))
    if row.rendering is not None:
        reading = as_rendered(reading, tools.segments.read(job, row.rendering.body))
    return reading
