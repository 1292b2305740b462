"""New rules for a job that is there: what they do to its queue, told first and then done.

Both go through the job's items slice by slice and ask the pipeline's own judge, once by the rules as they were and once
by those that are asked for. Telling writes nothing. Doing begins with one transaction that stores the rules and keeps
everybody from claiming the job; whoever comes after a crash goes on from the slice that it fell on.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Final

from holdfast.domain.errors import SpecChanged
from holdfast.domain.item import Found, ItemStatus
from holdfast.domain.job import Job, Limits, NewJob
from holdfast.engine.budget import HOST_BUDGET
from holdfast.engine.tools import Tools
from holdfast.ports.jobs import Move, Revision, Slice, Standing
from holdfast.ports.pipeline import Revised, Verdict

_LOOKED_AT: Final = 1_000
"""So many items of a host are looked at for those that stay."""


@dataclass(slots=True)
class Preview:
    """What new rules do to a job's queue."""

    leave: Counter[str] = field(default_factory=Counter)
    """Queued items that are shut out, by the reason."""
    back: Counter[str] = field(default_factory=Counter)
    """Items that were shut out and are queued, by the reason for which they were."""
    begun: list[str] = field(default_factory=list)
    """Start addresses that the job does not know yet."""
    outside: int = 0
    """Done already, and out by the new rules: they stay as they are."""
    uncounted: int = 0
    """Links that were only counted, whose addresses nobody knows: some of them may come back."""

    @property
    def moves(self) -> bool:
        """Whether anything of the queue changes, or may."""
        return bool(self.leave) or self.lets_in

    @property
    def lets_in(self) -> bool:
        """Whether anything comes to the queue, or may."""
        return bool(self.back or self.begun or self.uncounted)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Two sets of rules, and for which reasons items are judged anew whatever the first set said of them."""

    was: Verdict
    now: Verdict
    judged: frozenset[str]
    readmitted: frozenset[str]

    def move(self, item: Standing) -> Move | None:
        """Where the item goes; None where it stays.

        Only a verdict that is another one moves anything: what stands in the queue against the rules of an address (a
        redirect's target) was let in by what names it.
        """
        if item.status == ItemStatus.SKIPPED and item.reason in self.readmitted:
            now = self.now(item.url, item.depth, item.kind)
            return None if now == item.reason else Move(item, now)
        if item.status == ItemStatus.SKIPPED and (item.handled or item.reason not in self.judged):
            return None
        now = self.now(item.url, item.depth, item.kind)
        if now is None and item.status == ItemStatus.PENDING:
            return None
        was = self.was(item.url, item.depth, item.kind)
        if now == was or (was is None and item.status == ItemStatus.SKIPPED):
            return None
        return None if now == item.reason and item.status == ItemStatus.SKIPPED else Move(item, now)

    def leaves_out(self, item: Standing) -> bool:
        """Whether what is done already would be shut out now, and was not."""
        return (
            self.now(item.url, item.depth, item.kind) is not None
            and self.was(item.url, item.depth, item.kind) is None
        )


def taken_over(tools: Tools, job: Job, new: NewJob) -> tuple[NewJob, Revision | None]:
    """The command with what the job keeps of its own; and the change of its rules, if there is any.

    SpecChanged for what makes it another job.
    """
    changed = sorted(key for key in new.fixed if _part(job.spec, key) != _part(new.spec, key))
    if changed:
        names = " and ".join(key.rpartition(".")[2].replace("_", " ") for key in changed)
        raise SpecChanged(
            f"this is not how job {job.short_id} was started: the {names} would change. "
            "Repeat the command as it was, or start a new job with --fresh."
        )
    revised = tools.pipeline_of(job.kind, new.spec).revised(job.spec, new.spec)
    return replace(new, spec=revised.spec), _revision(job, new.limits, revised)


def revision_since(tools: Tools, was: Job, now: Job) -> Revision | None:
    """How the rules of a job have changed since it stood as it was; None where they haven't."""
    return _revision(was, now.limits, tools.pipeline_of(now.kind, now.spec).revised(was.spec, now.spec))


def _revision(job: Job, limits: Limits, revised: Revised) -> Revision | None:
    readmitted = revised.readmitted
    if higher(job.limits.host_pages, limits.host_pages) or higher(job.limits.host_bytes, limits.host_bytes):
        readmitted |= {HOST_BUDGET}
    deeper = job.limits.max_depth != limits.max_depth
    if not (deeper or readmitted or revised.judged or revised.relinks or revised.begins):
        return None
    return Revision(job.spec, job.limits.max_depth, readmitted, revised.relinks, revised.begins)


def higher(old: int | None, new: int | None) -> bool:
    """Whether a limit was raised, or taken away."""
    return old is not None and (new is None or new > old)


async def preview(tools: Tools, job: Job, new: NewJob, revision: Revision) -> Preview:
    """What the command does to the job's queue. Reads slice by slice, and writes nothing."""
    rules = await _rules(tools, job, new.spec, new.limits, revision)
    told = Preview(uncounted=job.counters.external if revision.relinks else 0)
    if revision.begins:
        told.begun = [seed.url for seed in await _unknown(tools, job, new)]
    after, last = 0, False
    while not last:
        slice_ = await tools.jobs.standings(job.id, after=after)
        _tell(told, rules, slice_)
        after, last = slice_.until, slice_.last
    return told


def _tell(told: Preview, rules: _Rules, slice_: Slice) -> None:
    for item in slice_.items:
        if item.status == ItemStatus.DONE:
            told.outside += rules.leaves_out(item)
            continue
        move = rules.move(item)
        if move is None:
            continue
        if move.reason is None:
            told.back[item.reason or ""] += 1
        elif item.status == ItemStatus.PENDING:
            told.leave[move.reason] += 1


async def upcoming(
    tools: Tools, job: Job, new: NewJob, revision: Revision | None, *, limit: int
) -> list[str]:
    """What would be asked for first, in that order, as far as it is queued already: hosts take turns."""
    lanes = await tools.jobs.upcoming(job.id, hosts=limit, each=_LOOKED_AT)
    if revision is not None:
        rules = await _rules(tools, job, new.spec, new.limits, revision)
        lanes = [[item for item in lane if rules.move(item) is None] for lane in lanes]
    turns = zip_longest(*(lane[:limit] for lane in lanes))
    return [item.url for turn in turns for item in turn if item is not None][:limit]


async def _unknown(tools: Tools, job: Job, new: NewJob) -> list[Found]:
    seeds = tools.pipeline_of(job.kind, new.spec).seeds(new.spec, new.limits)
    known = await tools.ledger.known(job.id, [seed.fingerprint for seed in seeds])
    return [seed for seed in seeds if seed.skip is None and seed.fingerprint not in known]


async def carry_on(tools: Tools, job_id: int) -> None:
    """Bring a change of rules that was begun to its end, whoever began it. Does nothing where there is none."""
    found = await tools.jobs.revision(job_id)
    if found is None:
        return
    revision, after = found
    job = await tools.ledger.job(job_id)
    rules = await _rules(tools, job, job.spec, job.limits, revision)
    seeds = tools.pipeline_of(job.kind, job.spec).seeds(job.spec, job.limits) if revision.begins else []
    while found is not None:
        slice_ = await tools.jobs.standings(job_id, after=after)
        moves = [
            move
            for item in slice_.items
            if item.status != ItemStatus.DONE and (move := rules.move(item)) is not None
        ]
        await tools.jobs.revise(job_id, slice_, moves, seeds)
        # Somebody else may have carried it on meanwhile.
        found = await tools.jobs.revision(job_id)
        after = slice_.until if found is None else found[1]


async def _rules(
    tools: Tools, job: Job, spec: Mapping[str, Any], limits: Limits, revision: Revision
) -> _Rules:
    cursor = await tools.ledger.cursor(job.id)
    pipeline = tools.pipeline_of(job.kind, spec)
    verdict, before = pipeline.verdict, replace(limits, max_depth=revision.max_depth)
    return _Rules(
        was=verdict(revision.spec, before, cursor),
        now=verdict(spec, limits, cursor),
        judged=pipeline.judged,
        readmitted=revision.readmitted,
    )


def _part(spec: object, path: str) -> object:
    """A part of a spec by its name; one within another by both, with a dot between."""
    for name in path.split("."):
        spec = spec.get(name) if isinstance(spec, Mapping) else None
    return sorted(spec) if isinstance(spec, list) else spec
