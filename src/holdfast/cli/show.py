"""`holdfast show`."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.diff import changes_of, summary
from holdfast.cli.ls import standing
from holdfast.cli.opened import in_home
from holdfast.cli.outcome import as_json, command, json_line
from holdfast.cli.params import COUNT, common, job_argument
from holdfast.cli.runs import checkpoint_json, run_of
from holdfast.cli.words import clean, duration, number, plural, size
from holdfast.domain.checkpoint import Checkpoint
from holdfast.domain.job import Job
from holdfast.domain.runs import Change, Run, RunKind
from holdfast.domain.states import TRANSITIONS, Action
from holdfast.ports.jobs import Event, HostReport, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.bootstrap import Home

_SHOWN = 10
_LABEL = 12
_RETRIED = frozenset(status for status, actions in TRANSITIONS.items() if Action.RETRY in actions)


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is shown of a job."""

    job: Job
    standing: str
    runs: list[Job]
    """The job as each of its runs stands, the oldest first."""
    kinds: dict[int, Run]
    changes: "Mapping[Change, int] | None"
    """Of a rescan: what became of the pages of the run before."""
    held_by: str | None
    statuses: dict[int, int]
    tallies: list[Tally]
    hosts: list[HostReport]
    checkpoints: list[Checkpoint]
    events: list[Event]
    paused_at: float | None
    paused_s: float


@click.command()
@job_argument
@click.option("--json", is_flag=True, help="One JSON object on stdout.")
@click.option(
    "--checkpoint-data", is_flag=True, help="Instead: all visited, queued and external URLs, as JSON."
)
@click.option("--run", type=COUNT, metavar="N", help="As run N stands, instead of the last one.")
@click.option("--failed", is_flag=True, help="Instead: each page that failed, with its cause.")
@common
def show(job: str | None, run: int | None, json: bool, checkpoint_data: bool, failed: bool) -> None:
    """Show one job: counters, hosts, statuses, errors by cause, checkpoints."""

    async def work(home: "Home") -> None:
        found = await run_of(home, job, run)
        if checkpoint_data:
            data = await home.tools.jobs.checkpoint_data(found.id, run=found.run)
            click.echo(json_line(asdict(data)))
            return
        if failed:
            await _list_failures(home, found, json=json)
            return
        facts = await _facts(home, found)
        if json:
            click.echo(json_line(facts_json(facts)))
            return
        for line in lines(facts):
            click.echo(line)

    in_home(work)


async def _list_failures(home: "Home", job: Job, *, json: bool) -> None:
    async for page in home.tools.jobs.failures(job.id, run=job.run):
        for one in page:
            click.echo(
                json_line(asdict(one) | {"at": iso(one.at)})
                if json
                else f"{clean(one.reason)}  {clean(one.url, 2000)}"
            )


async def _facts(home: "Home", job: Job) -> Facts:
    jobs = home.tools.jobs
    present = await home.tools.ledger.job(job.id)
    holder = await jobs.holder(job.id) if job.run == present.run else None
    alive = holder is not None and home.tools.workers.lives(holder.worker_id) is not False
    pauses = await jobs.pauses(job.id)
    return Facts(
        job=job,
        standing=await standing(home, job),
        runs=[await jobs.of_run(job.id, run.number) for run in await jobs.runs(job.id)],
        kinds={run.number: run for run in await jobs.runs(job.id)},
        changes=await changes_of(home, job),
        held_by=holder.worker_id if holder is not None and alive else None,
        statuses=await jobs.statuses(job.id, run=job.run),
        tallies=await jobs.tallies(job.id, run=job.run),
        hosts=await jobs.hosts(job.id, _SHOWN, run=job.run),
        checkpoints=await jobs.checkpoints(job.id, _SHOWN, run=job.run),
        events=await jobs.events(job.id, _SHOWN),
        paused_at=pauses.since,
        paused_s=pauses.total_s(home.tools.clock.wall()),
    )


def facts_json(facts: Facts) -> dict[str, Any]:
    """What `lines` says, for programs."""
    job = facts.job
    return as_json(job) | {
        "kind": job.kind,
        "spec": dict(job.spec),
        "limits": asdict(job.limits),
        "pace": asdict(job.pace),
        "checkpoints_due": asdict(job.checkpoints),
        "durability": job.durability.value,
        "created_at": iso(job.created_at),
        "started_at": iso(job.started_at),
        "finished_at": iso(job.finished_at),
        "last_checkpoint_at": iso(job.last_checkpoint_at),
        "paused_at": iso(facts.paused_at),
        "paused_s": round(facts.paused_s, 3),
        "held_by": facts.held_by,
        "runs": [_run_json(run, facts.kinds[run.run]) for run in facts.runs],
        "changes": None if facts.changes is None else dict(facts.changes),
        "statuses": {str(status): count for status, count in facts.statuses.items()},
        "outcomes": [asdict(tally) for tally in facts.tallies],
        "hosts": [asdict(host) for host in facts.hosts],
        "checkpoints": [checkpoint_json(one) for one in facts.checkpoints],
        "events": [asdict(event) | {"at": iso(event.at)} for event in facts.events],
    }


def _run_json(job: Job, run: Run) -> dict[str, Any]:
    return asdict(run) | {
        "status": job.status.value,
        "pages": job.counters.done,
        "failed": job.counters.failed,
        "checkpoint": job.commit_no,
        "started_at": iso(job.started_at),
        "finished_at": iso(job.finished_at),
    }


def lines(facts: Facts) -> "Iterator[str]":
    """The job for people. Sections without anything to say are left out."""
    job, counters = facts.job, facts.job.counters
    yield _line("job", f"{job.public_id}{f' ({clean(job.name)})' if job.name else ''}")
    yield _line("status", facts.standing)
    if facts.held_by is not None:
        machine, pid, _ = facts.held_by.split("/", 2)
        yield _line("held by", f"process {pid} on {machine}")
    for url in list(job.spec.get("start_urls", ()))[:_SHOWN]:
        yield _line("start", clean(url))
    yield _line(
        "pages", f"{number(counters.done)} done, {number(counters.queued)} queued, {size(counters.bytes)}"
    )
    yield _line(
        "others",
        f"{number(counters.failed)} failed, {number(counters.skipped)} skipped, "
        f"{number(counters.redirected)} redirected, {number(counters.consulted)} consulted",
    )
    yield _line("limits", limits(job))
    yield _line("pace", pace(job))
    paused = f", {duration(facts.paused_s)} paused" if facts.paused_s else ""
    yield _line("time", f"{duration(job.active_s)} active{paused}, created {stamp(job.created_at)}")
    if facts.changes is not None:
        yield _line("changes", f"{summary(facts.changes)}, since run {job.rescan_of}")
    if len(facts.runs) > 1:
        yield from _section("runs", [_run(one, facts.kinds[one.run], job) for one in facts.runs])
    yield from _section(
        "answers", [(number(count), f"HTTP {code}") for code, count in facts.statuses.items()]
    )
    for status, title in (
        ("failed", "failures by cause"),
        ("skipped", "skipped"),
        ("redirected", "redirects"),
        ("consulted", "consulted"),
    ):
        found = [tally for tally in facts.tallies if tally.status == status and tally.reason]
        yield from _section(title, [(number(tally.count), clean(tally.reason)) for tally in found])
        if status == "failed" and found and job.status in _RETRIED:
            yield f"  Try them again with: {command('retry', job.short_id, '--where', f'reason={found[0].reason}')}"
    yield from _section("hosts", [_host(host) for host in facts.hosts])
    yield from _section("checkpoints, the newest first", [_checkpoint(one) for one in facts.checkpoints])
    yield from _section("events, the newest first", [_event(event) for event in facts.events])


def _line(label: str, value: str) -> str:
    return f"{label:<{_LABEL}}{value}"


def _section(title: str, rows: list[tuple[str, str]]) -> "Iterator[str]":
    if rows:
        yield ""
        yield title
        width = max(len(left) for left, _ in rows)
        yield from (f"  {left:>{width}}  {right}" for left, right in rows)


def limits(job: Job) -> str:
    """`100 pages, depth 3`."""
    limits = job.limits
    parts = []
    if limits.max_pages is not None:
        parts.append(plural(limits.max_pages, "page"))
    if limits.max_depth is not None:
        parts.append(f"depth {limits.max_depth}")
    if limits.max_bytes is not None:
        parts.append(size(limits.max_bytes))
    if limits.host_pages is not None:
        parts.append(f"{plural(limits.host_pages, 'page')} per host")
    if limits.host_bytes is not None:
        parts.append(f"{size(limits.host_bytes)} per host")
    if limits.time_limit_s is not None:
        parts.append(duration(limits.time_limit_s))
    return ", ".join(parts) or "none"


def pace(job: Job) -> str:
    """`16 at a time, 2 per host, 1 s between two`."""
    pace = job.pace
    parts = [f"{pace.concurrency} at a time", f"{pace.per_host} per host", f"{pace.delay_s:g} s between two"]
    if pace.target is not None:
        parts.append(f"{pace.target:g} on average where a host is slow")
    if pace.max_rate is not None:
        parts.append(f"{pace.max_rate:g} a second in all")
    return ", ".join(parts)


def _host(host: HostReport) -> tuple[str, str]:
    return number(
        host.settled
    ), f"{clean(host.name)}{f' ({number(host.queued)} queued)' if host.queued else ''}"


def _run(one: Job, run: Run, shown: Job) -> tuple[str, str]:
    made = {
        RunKind.RESCAN: f"rescan of run {run.rescan_of}",
        RunKind.ROLLBACK: f"run {run.base_run} as it was at checkpoint {run.base_commit}",
        RunKind.FORK: f"job {(run.base_job or '')[-8:]} as it was at checkpoint {run.base_commit}",
    }.get(run.kind, run.kind.value)
    when = "" if one.finished_at is None else f", {stamp(one.finished_at)}"
    here = " (shown here)" if one.run == shown.run else ""
    return number(one.run), f"{made}, {one.status}, {plural(one.counters.done, 'page')}{when}{here}"


def _checkpoint(checkpoint: Checkpoint) -> tuple[str, str]:
    counters = checkpoint.counters
    what = f"{stamp(checkpoint.at)}  {checkpoint.reason.value:<8}  {plural(checkpoint.items, 'item')}"
    return number(
        checkpoint.number
    ), f"{what}, {number(counters.done)} done, {number(counters.queued)} queued"


def _event(event: Event) -> tuple[str, str]:
    return stamp(event.at), f"{event.kind}{f': {clean(event.detail)}' if event.detail else ''}"


def stamp(at: float) -> str:
    """Local time, to the second."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def iso(at: float | None) -> str | None:
    """UTC, for programs."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
