"""Repair of torn tails: before a claim works, what a crash or a power cut took from the segments is found and undone.

Only what was not synced is read back, by the CRC of each commit's bytes: a length doesn't show zeroed blocks.
"""

import asyncio
import logging

from holdfast.domain.job import Job
from holdfast.domain.lease import Lease
from holdfast.engine.tools import Tools
from holdfast.ports.ledger import SegmentState

log = logging.getLogger(__name__)


async def repair(tools: Tools, job: Job, lease: Lease) -> int:
    """Give what is missing back to the queue; the number of items that are pending again.

    A crash in here leaves the tail torn, and the next claim finds it again.
    """
    reopened = 0
    for segment in await tools.ledger.segments(job.id):
        good = await good_length(tools, job, segment)
        if good >= segment.committed:
            continue
        count = await tools.ledger.tear(lease, segment.name, good)
        log.warning("segment %s is torn at %d of %d bytes: %d items go back to the queue",
                    segment.name, good, segment.committed, count)  # fmt: skip
        reopened += count
    return reopened


async def good_length(tools: Tools, job: Job, segment: SegmentState) -> int:
    """How far the file is what was committed: beyond what was synced, the checksum of each commit's bytes tells."""
    size = await asyncio.to_thread(tools.segments.size, job, segment.name)
    if segment.synced >= segment.committed <= size:
        return segment.committed
    good = min(segment.synced, size)
    for span in await tools.ledger.spans(job.id, segment.name, good):
        if span.crc is None:
            continue
        crc = await asyncio.to_thread(tools.segments.crc, job, segment.name, span.start, span.end)
        if crc != span.crc:
            return min(span.start, segment.committed)
        good = span.end
    return good
