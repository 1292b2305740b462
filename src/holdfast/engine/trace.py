"""What the ledger and the segments know of one address: how it was found, where it leads, what is stored of it.

Only reads, and asks for nothing that a worker holds: a crawl goes on meanwhile.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.domain.errors import StorageFailed
from holdfast.domain.item import Item, Record
from holdfast.domain.job import Job
from holdfast.engine.rejudge import read_body
from holdfast.engine.tools import Tools
from holdfast.ports.ledger import RecordRow, Whereabouts
from holdfast.ports.segments import DamagedRecord, Reading

MAX_LINE = 10_000
"""Longer lines of pages than that, each found on the one before, are cut."""
MAX_READ = 100
"""The bodies of so many pages of a line are read again, from its end on."""
MAX_HOPS = 100

Written = Callable[[Item, Record, Reading | None, str], str | None]
"""How a stored exchange of that item names an address."""


@dataclass(frozen=True, slots=True)
class Step:
    """An item of the line by which an address was found."""

    at: Whereabouts
    written: str | None
    """How the step before it names it; None where nobody does, or its body can't be read."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What is known of an address."""

    line: tuple[Step, ...]
    """From a start item to the address itself; empty where it is unknown."""
    cut: bool
    """The line is longer than that at its beginning."""
    record: RecordRow | None
    onward: tuple[tuple[Whereabouts, RecordRow | None], ...]
    """Where its redirects lead, one after the other."""

    @property
    def own(self) -> Whereabouts | None:
        """The address itself."""
        return self.line[-1].at if self.line else None


async def trace(
    tools: Tools, job: Job, url: str, written: Written, fingerprint: Callable[[str], bytes]
) -> Trace:
    """Look an address up, by its canonical form."""
    found = await tools.ledger.lineage(job.id, fingerprint(url), limit=MAX_LINE)
    if not found:
        return Trace((), cut=False, record=None, onward=())
    steps = []
    for index, at in enumerate(found):
        above = found[index + 1] if index + 1 < len(found) else None
        named = None
        if above is not None and index < MAX_READ:
            named = await _named(tools, job, above.item, at.item.url, written)
        steps.append(Step(at, named))
    record = await tools.ledger.record(job.id, found[0].item.id)
    return Trace(
        line=tuple(reversed(steps)),
        cut=found[-1].item.parent_id is not None,
        record=record,
        onward=await _onward(tools, job, record, fingerprint),
    )


async def _named(tools: Tools, job: Job, parent: Item, url: str, written: Written) -> str | None:
    row = await tools.ledger.record(job.id, parent.id)
    if row is None:
        return None
    try:
        reading = await asyncio.to_thread(read_body, tools, job, row)
    except (DamagedRecord, StorageFailed):
        return None
    return written(parent, Record(row.kind, row.data), reading, url)


async def _onward(
    tools: Tools, job: Job, record: RecordRow | None, fingerprint: Callable[[str], bytes]
) -> tuple[tuple[Whereabouts, RecordRow | None], ...]:
    """From target to target, to the end of the chain or to where it closes."""
    chain: list[tuple[Whereabouts, RecordRow | None]] = []
    seen: set[int] = set() if record is None else {record.item.id}
    while record is not None and (target := record.data.get("location")) and len(chain) < MAX_HOPS:
        found = await tools.ledger.lineage(job.id, fingerprint(target), limit=1)
        if not found:
            break
        record = await tools.ledger.record(job.id, found[0].item.id)
        chain.append((found[0], record))
        if found[0].item.id in seen:
            break
        seen.add(found[0].item.id)
    return tuple(chain)
