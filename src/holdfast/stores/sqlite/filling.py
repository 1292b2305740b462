"""A new run is made of one that is there: a rescan of its pages, or what stood at one of its commits (rollback, fork).

Begun in one transaction, which also says so; filled in slices by whoever comes; the last transaction makes it the job's
present run. Until then the job is as it was, but for being unclaimable. The run that it is made of is only read.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from holdfast.domain.errors import JobHeld, UsageError
from holdfast.domain.item import Found, ItemStatus
from holdfast.domain.job import Job
from holdfast.domain.runs import Run, RunKind
from holdfast.domain.states import Action, Status, after
from holdfast.ports.jobs import Past
from holdfast.stores.sqlite import revising, slices, steering
from holdfast.stores.sqlite.change import Change, count, event, tally
from holdfast.stores.sqlite.connection import fetch, immediate
from holdfast.stores.sqlite.statements import statements

SQL = statements("runs")
JOBS = statements("jobs")

STEPS = {
    RunKind.RESCAN: ("drop", "items", "parents"),
    RunKind.ROLLBACK: ("items", "commits", "laid aside", "parents"),
    RunKind.FORK: ("items", "commits", "laid aside", "parents"),
}

Plan = dict[str, Any]


# -- the beginnings


def begin_rescan(
    db: apsw.Connection,
    job_id: int,
    seeds: Sequence[Found],
    whole: Mapping[str, int],
    *,
    keep: int,
    phase: str,
    now: float,
) -> None:
    """Ask for the pages of the present run again. Runs that are too old to be kept are found by nobody from here on."""
    with immediate(db):
        job = steering.read_job(db, job_id)
        after(job.status, Action.RESCAN)
        slices.refuse_changing(db, job_id)
        run = job.run + 1
        too_old = {"job_id": job_id, "run": run, "last": run - keep}
        db.execute(SQL["return_lent"], too_old)
        chunk_id = steering.seed(db, job_id, run, seeds, job.commit_no)
        lent = {"job_id": job_id, "run": run, "chunk_id": chunk_id}
        names = [name for (name,) in fetch(db, SQL["names"], {"job_id": job_id, "run": job.run})]
        db.executemany(SQL["lend"], [lent | {"name": name, "whole": whole.get(name, 0)} for name in names])
        plan = _plan(db, RunKind.RESCAN, job, job.run, now) | {
            "chunk": chunk_id,
            "commit": None,
            "rescan_of": job.run,
            "phase": phase,
            "drop": run - keep,
            "files": [name for (name,) in fetch(db, SQL["names_of_runs"], too_old)],
        }
        slices.begin(db, job_id, RunKind.RESCAN, plan)
        db.execute(SQL["forget_runs"], too_old)


def begin_rollback(db: apsw.Connection, job_id: int, past: Past, *, phase: str, now: float) -> None:
    """The job as it stood then."""
    with immediate(db):
        job = steering.read_job(db, job_id)
        after(job.status, Action.ROLL_BACK)
        slices.refuse_changing(db, job_id)
        plan = _plan(db, RunKind.ROLLBACK, job, past.run, now) | {"phase": phase}
        slices.begin(db, job_id, RunKind.ROLLBACK, plan | _copied(db, job_id, job.run + 1, plan, past))


def begin_fork(
    db: apsw.Connection,
    base_id: int,
    past: Past,
    *,
    public_id: str,
    named: tuple[str, str | None],
    phase: str,
    now: float,
) -> int:
    """Another job as this one stood then; `named` is its identity and its name."""
    identity, name = named
    with immediate(db):
        base = steering.read_job(db, base_id)
        slices.refuse_changing(db, base_id)
        if base.status is Status.IN_PROGRESS:
            raise JobHeld(f"job {base.short_id} is being worked on; pause it, then fork it")
        if name is not None and fetch(db, JOBS["by_identity"], {"identity": identity}):
            raise UsageError(f"there is a job called {name} already; fork it under another --name")
        commit = {"job_id": base_id, "run": past.run, "number": past.commit}
        ((_, at),) = fetch(db, SQL["commit_of_run"], commit)
        reason = f"forked from {base.short_id} at checkpoint {past.commit}"
        row: Plan = {"public_id": public_id, "identity": identity, "name": name, "reason": reason}
        row |= {"phase": phase, "commit": past.commit, "now": now, "at": at, "base_job": base_id}
        ((job_id,),) = fetch(db, SQL["fork"], row)
        run = Run(1, RunKind.FORK, past.commit, base.public_id, past.run, past.commit)
        steering.begin_run(db, job_id, run)
        plan = _plan(db, RunKind.FORK, base, past.run, now) | {"phase": phase}
        plan |= _copied(db, job_id, 1, plan, past)
        names = fetch(db, SQL["names"], {"job_id": job_id, "run": 1})
        slices.begin(db, job_id, RunKind.FORK, plan | {"files": [name for (name,) in names]})
        event(db, job_id, now, "paused", reason)
        return int(job_id)


def _plan(db: apsw.Connection, kind: RunKind, base: Job, base_run: int, now: float) -> Plan:
    """What each step has to know."""
    ((last,),) = fetch(db, JOBS["last_item"])
    return {
        "base_job": base.id,
        "base_public": base.public_id,
        "base_run": base_run,
        "run": 1 if kind is RunKind.FORK else base.run + 1,
        "was": base.status,
        "now": now,
        "first": last,
        "last": last,
        "step": STEPS[kind][0],
        "at": 0,
    }


def _copied(db: apsw.Connection, job_id: int, run: int, plan: Plan, past: Past) -> Plan:
    """The chunk and the files of a run that is another one as of a commit."""
    of_run = {"job_id": job_id, "run": run, "commit": past.commit}
    of_run |= {"base_job": plan["base_job"], "base_run": plan["base_run"]}
    ((chunk_id,),) = fetch(db, SQL["chunk_as_of"], of_run)
    # Those lent come first in both runs.
    db.execute(SQL["segments_lent_on"], of_run | {"chunk_id": chunk_id})
    db.execute(SQL["segments_as_of"], of_run | {"chunk_id": chunk_id})
    again = fetch(db, SQL["rescan_of"], {"job_id": job_id, "run": plan["base_run"]}) if run > 1 else []
    return {
        "chunk": chunk_id,
        "commit": past.commit,
        "rescan_of": again[0][0] if again else None,
        "revision": None if past.revision is None else revising.to_plan(past.revision),
    }


def run_with(db: apsw.Connection, job_id: int, commit: int | None) -> Job:
    """The job as of the latest run that has that commit; None: as it stands."""
    job = steering.read_job(db, job_id)
    number = job.commit_no if commit is None else commit
    ((run,),) = fetch(db, SQL["run_with_commit"], {"job_id": job.id, "number": number})
    if run is None:
        raise UsageError(
            f"job {job.short_id} has no checkpoint {number}; "
            f"`holdfast checkpoints {job.short_id}` lists those of a run"
        )
    return steering.read_job(db, job_id, run)


# -- the slices


def files(db: apsw.Connection, job_id: int) -> tuple[str, str, list[str]] | None:
    """What has to be done with files before the change goes on: (change, whose files, their names)."""
    kind = slices.change_of(db, job_id)
    plan = slices.planned(db, job_id, kind) if kind in {RunKind.RESCAN, RunKind.FORK} else None
    return None if plan is None or kind is None else (kind, plan["base_public"], plan["files"])


def step(db: apsw.Connection, job_id: int) -> bool:
    """One slice; False when the new run is the present one, or no such change is under way."""
    kind = slices.change_of(db, job_id)
    if kind == RunKind.RESCAN and _drop(db, job_id):
        return True
    with immediate(db):
        kind = slices.change_of(db, job_id)
        plan = slices.planned(db, job_id, kind) if kind in STEPS else None
        if kind is None or plan is None:
            return False
        names = STEPS[RunKind(kind)]
        if not _SLICE_OF[plan["step"]](db, job_id, plan):
            following = names[names.index(plan["step"]) + 1 :]
            if not following:
                _end(db, job_id, RunKind(kind), plan)
                return False
            plan |= {"step": following[0], "at": plan["first"] if following[0] == "parents" else 0}
        slices.note(db, job_id, kind, plan)
        return True


def _drop(db: apsw.Connection, job_id: int) -> bool:
    """Delete a slice of the runs that are kept no longer. Outside of a transaction: foreign keys rest meanwhile."""
    plan = slices.planned(db, job_id, RunKind.RESCAN)
    return plan is not None and plan["step"] == "drop" and slices.drop_runs(db, job_id, plan["drop"])


def _dropped(_db: apsw.Connection, _job_id: int, _plan: Plan) -> bool:
    return False


def _items(db: apsw.Connection, job_id: int, plan: Plan) -> bool:
    """A slice of the base's items, and what was recorded of them."""
    job = steering.read_job(db, job_id)
    afresh = plan["commit"] is None
    until = min(plan["at"] + slices.SLICE, plan["last"])
    of_slice = _bindings(job_id, plan) | {"after": plan["at"], "until": until}
    db.execute(SQL["hosts_of_slice"], of_slice | {"afresh": afresh})
    change = Change(job.commit_no)
    if afresh:
        limits = {"max_depth": job.limits.max_depth, "number": job.commit_no}
        _came(change, fetch(db, SQL["seeds_of_slice"], of_slice | limits))
        unkept = 0
    else:
        pages = _came(change, fetch(db, SQL["items_as_of"], of_slice))
        unkept = 0
        for item_id, size, number in fetch(db, SQL["records_as_of"], of_slice):
            change.bytes += size
            unkept += number
            if item_id in pages:
                change.bytes_by_host[pages[item_id]] += size
    tally(db, plan["chunk"], change)
    count(db, plan["chunk"], change, external=unkept)
    plan["at"] = until
    return bool(until < plan["last"])


def _came(change: Change, items: Iterable[tuple[int, int, str, str, int]]) -> dict[int, int]:
    """Count new items; gives the hosts of those that are pages."""
    pages = {}
    for item_id, host_id, status, reason, depth in items:
        change.moves(host_id, None, (status, reason))
        change.deepest = max(change.deepest, depth)
        if status == ItemStatus.DONE:
            pages[item_id] = host_id
    return pages


def _commits(db: apsw.Connection, job_id: int, plan: Plan) -> bool:
    of_slice = _bindings(job_id, plan) | {"after": plan["at"], "slice": slices.SLICE}
    numbers = [number for (number,) in fetch(db, SQL["commits_as_of"], of_slice)]
    plan["at"] = max(numbers, default=plan["at"])
    return len(numbers) == slices.SLICE


def _laid_aside(db: apsw.Connection, job_id: int, plan: Plan) -> bool:
    """After the items: what was given up while those were copied is not missed."""
    segment, start = plan.get("aside") or (0, -1)
    of_slice = _bindings(job_id, plan) | {"segment": segment, "after": start, "slice": slices.SLICE}
    found = fetch(db, SQL["laid_aside_as_of"], of_slice)
    db.executemany(SQL["lay_aside"], [{"segment_id": own, "start": offset} for _, offset, own in found])
    plan["aside"] = found[-1][:2] if found else None
    return len(found) == slices.SLICE


def _parents(db: apsw.Connection, job_id: int, plan: Plan) -> bool:
    """Who found whom, once all are there."""
    ((last,),) = fetch(db, JOBS["last_item"])
    until = min(plan["at"] + slices.SLICE, last)
    db.execute(SQL["parents_of_slice"], _bindings(job_id, plan) | {"after": plan["at"], "until": until})
    plan["at"] = until
    return bool(until < last)


_SLICE_OF = {
    "drop": _dropped,
    "items": _items,
    "commits": _commits,
    "laid aside": _laid_aside,
    "parents": _parents,
}


def _bindings(job_id: int, plan: Plan) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "run": plan["run"],
        "chunk_id": plan["chunk"],
        "base_job": plan["base_job"],
        "base_run": plan["base_run"],
        "commit": plan["commit"],
    }


# -- the end


def _end(db: apsw.Connection, job_id: int, kind: RunKind, plan: Plan) -> None:
    """The new run is the present one, and the one before it is written no more."""
    db.execute(JOBS["changing"], {"job_id": job_id, "changing": None})
    if kind is not RunKind.FORK:
        _make_present(db, steering.read_job(db, job_id), kind, plan)
    if plan.get("revision") is not None:
        revising.begin(db, job_id, revising.of_plan(plan["revision"]))


def _make_present(db: apsw.Connection, job: Job, kind: RunKind, plan: Plan) -> None:
    """The job stands as the new run does, and says of the one before it how that ended."""
    job_id = job.id
    action = Action.RESCAN if kind is RunKind.RESCAN else Action.ROLL_BACK
    # Who cancelled it meanwhile has had the last word.
    status = after(Status(plan["was"]), action) if job.status == plan["was"] else job.status
    run = Run(plan["run"], kind, job.commit_no, rescan_of=plan["rescan_of"])
    stands = {"job_id": job_id, "run": run.number, "status": status, "phase": plan["phase"]}
    db.execute(SQL["freeze"], {"job_id": job_id})
    if kind is RunKind.RESCAN:
        steering.begin_run(db, job_id, run)
        db.execute(SQL["rescanned"], stands)
        event(db, job_id, plan["now"], "rescan", f"run {run.number}, of run {run.rescan_of}")
        return
    made = Run(run.number, kind, job.commit_no, None, plan["base_run"], plan["commit"], run.rescan_of)
    steering.begin_run(db, job_id, made)
    commit = {"job_id": job_id, "run": plan["base_run"], "number": plan["commit"]}
    ((_, at),) = fetch(db, SQL["commit_of_run"], commit)
    reason = f"rolled back to checkpoint {plan['commit']}" if status is Status.PAUSED else job.reason
    db.execute(SQL["rolled_back"], stands | {"reason": reason, "at": at})
    kind_of_event = "paused" if status is Status.PAUSED else "rolled back"
    event(
        db,
        job_id,
        plan["now"],
        kind_of_event,
        f"rolled back to checkpoint {plan['commit']}: run {run.number}",
    )


# -- what became of pages from one run to another


def compared(db: apsw.Connection, job_id: int, old: int, new: int, bounds: tuple[int, int]) -> list[Any]:
    """A slice of both runs' pages, by item id: (URL, change, reason, item of the old run, item of the new one)."""
    for run in (old, new):
        steering.read_job(db, job_id, run)
    of_slice = {"job_id": job_id, "old": old, "new": new, "after": bounds[0], "until": bounds[1]}
    return fetch(db, SQL["compared"], of_slice) + fetch(db, SQL["departed"], of_slice)
