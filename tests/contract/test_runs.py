"""New runs: a job crawled again, taken back to a commit, or made into another one; and crashes between slices."""

from dataclasses import replace

import pytest
from tests.contract.stores import Working, after_slices, fork, roll_back
from tests.kit.builders import done, found, handled, new_job, page
from tests.kit.clock import NOON
from tests.kit.revisions import revised

from holdfast.domain.checkpoint import CheckpointReason
from holdfast.domain.commit import Ending
from holdfast.domain.errors import JobHeld, UnknownJob, UsageError, WrongState
from holdfast.domain.item import Done, Failed, Redirected, RetryAt, Skipped
from holdfast.domain.job import Limits
from holdfast.domain.runs import Change, RunKind
from holdfast.domain.states import Action, Status
from holdfast.ports.jobs import Past
from holdfast.stores.sqlite import slices

FINISH = {"reason": CheckpointReason.FINISH, "ending": Ending(Action.COMPLETE)}


async def crawled(store) -> Working:
    """Commits 1 to 5: a with its links, b and c done, d redirected, e failed; completed."""
    work = await store.working("a", new=new_job(limits=Limits(max_depth=3)))
    a = await work.item("a")
    links = [found(name, 1, parent=a.id) for name in ("b", "c", "two/d", "two/e")]
    await work.commit(handled(a, Done((page(a.url, b"start", unkept=2),), tuple(links), 2)))
    b = await work.item("b")
    deeper = found("deeper", 4, skip="depth")
    await work.commit(handled(b, Done((page(b.url, b"b", unkept=3),), (deeper,), 3)))
    await work.commit(done(await work.item("c"), body=b"c"))
    d, e = await work.item("two/d"), await work.item("two/e")
    await work.commit(
        handled(d, Redirected((found("c", 1),), "http_301", (page(d.url, b""),))),
        handled(e, Failed("http_404", (page(e.url, b"none"),))),
    )
    await work.commit(**FINISH)
    return work


def begun(store, job_id, kind):
    """What begins a change of that kind, and carries it on."""

    async def change() -> int:
        if kind == "rescan":
            whole = {each.name: each.committed for each in await store.ledger.segments(job_id)}
            await store.jobs.rescan(job_id, [found("a")], whole, keep=3, phase="queued", now=NOON)
        elif kind == "rollback":
            await roll_back(store, job_id, 2)
            return job_id
        else:
            return await fork(store, job_id, 2)
        await store.jobs.finish_change(job_id)
        return job_id

    return change


async def urls(store, job_id, status, run=None) -> list[str]:
    data = await store.jobs.checkpoint_data(job_id, run=run)
    return sorted({"done": data.pages_visited, "pending": data.pages_queued}[status])


def named(*names: str) -> list[str]:
    return sorted(found(name).url for name in names)


# -- rescan


@pytest.mark.parametrize("size", [1, 2, 10_000])
async def test_a_rescan_asks_for_the_start_and_for_the_pages_of_the_last_run(store, monkeypatch, size):
    monkeypatch.setattr(slices, "SLICE", size)
    job = await (await crawled(store)).job()
    before = await store.ledger.records(job.id, after=0, limit=99)
    await begun(store, job.id, "rescan")()
    job = await store.ledger.job(job.id)
    assert (job.status, job.run, job.rescan_of, job.counters.done) == (Status.PENDING, 2, 1, 0)
    assert await urls(store, job.id, "pending") == named("a", "b", "c", "two/d")
    assert await store.ledger.discrepancies(job.id) == []
    # The finished run is as it was.
    assert await store.ledger.records(job.id, after=0, limit=99, run=1) == before
    assert await store.ledger.discrepancies(job.id, run=1) == []
    assert (await store.jobs.of_run(job.id, 1)).status is Status.COMPLETED


async def test_an_item_of_a_rescan_comes_with_what_the_last_run_has_of_it(store):
    work = await crawled(store)
    await begun(store, work.lease.job_id, "rescan")()
    again = Working(store, (await store.claim(await work.job())).lease)
    items = await store.ledger.earlier(again.lease, await again.take())
    known = {item.url: item.earlier for item in items}
    assert {url for url, earlier in known.items() if earlier} == set(named("a", "b", "c"))
    earlier = known[found("b").url]
    assert (earlier.kind, earlier.data["size"]) == ("page", 1)
    assert (earlier.exchange.location.segment, earlier.exchange.location.offset) == (work.segment, 100)
    assert (earlier.exchange.url, earlier.exchange.digest) == (
        found("b").url,
        page("x", b"b").exchange.digest,
    )


async def test_a_body_that_is_not_whole_is_not_pointed_to(store):
    work = await crawled(store)
    job_id = work.lease.job_id
    await store.jobs.rescan(job_id, [found("a")], {work.segment: 150}, keep=3, phase="q", now=NOON)
    await store.jobs.finish_change(job_id)
    again = Working(store, (await store.claim(await work.job())).lease)
    items = await store.ledger.earlier(again.lease, await again.take())
    assert [item.url for item in items if item.earlier] == [found("a").url]


async def test_what_a_rescan_has_lies_in_files_of_its_own_or_is_lent(store):
    work = await crawled(store)
    await begun(store, work.lease.job_id, "rescan")()
    again = Working(store, (await store.claim(await work.job())).lease)
    items = await store.ledger.earlier(again.lease, await again.take())
    a = next(item for item in items if item.url == found("a").url)
    record = page(a.url, b"start")
    kept = replace(record, exchange=replace(record.exchange, original=a.earlier.exchange))
    batch = again.batch(handled(a, Done((kept,))))
    assert batch.appended is not None
    stored = replace(batch.appended.stored[0], revisit_of=a.earlier.exchange.location)
    batch = replace(batch, appended=replace(batch.appended, stored=(stored,)))
    await store.ledger.commit(again.lease, batch)
    (row,) = await store.ledger.records(a.id and work.lease.job_id, after=0, limit=9)
    assert row.revisit_of.segment == work.segment
    assert {each.name: each.lent for each in await store.ledger.segments(work.lease.job_id)} == {
        work.segment: True,
        again.segment: False,
    }
    assert await store.ledger.discrepancies(work.lease.job_id) == []


async def test_only_what_is_completed_is_crawled_again(store):
    work = await store.working("a")
    await work.commit(done(await work.item("a")))
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))
    with pytest.raises(WrongState):
        await begun(store, work.lease.job_id, "rescan")()
    assert await store.jobs.unfinished() == {}


async def test_runs_that_are_too_old_go_with_what_nobody_needs(store):
    work = await crawled(store)
    job_id = work.lease.job_id
    names = [work.segment]
    errand = None
    for _ in range(3):
        whole = {each.name: each.committed for each in await store.ledger.segments(job_id)}
        await store.jobs.rescan(job_id, [found("a")], whole, keep=2, phase="q", now=NOON)
        errand = await store.jobs.errand(job_id)
        await store.jobs.finish_change(job_id)
        again = Working(store, (await store.claim(await work.job())).lease)
        names.append(again.segment)
        await again.commit(done(await again.item("a"), body=b"new"))
        for item in await again.take():
            await again.commit(handled(item, Failed("http_410")))
        await again.commit(**FINISH)
        assert await store.ledger.discrepancies(job_id) == []
    assert [run.number for run in await store.jobs.runs(job_id)] == [3, 4]
    # Run 2 is gone, and with it its own file, and the first one's, that none of its rows needed.
    assert (errand.source, sorted(errand.names)) == (None, sorted(names[1:2]))
    with pytest.raises(UnknownJob):
        await store.jobs.of_run(job_id, 2)
    assert await store.ledger.records(job_id, after=0, limit=9, run=2) == []


async def test_each_page_is_told_what_became_of_it(store):
    work = await crawled(store)
    job_id = work.lease.job_id
    await begun(store, job_id, "rescan")()
    again = Working(store, (await store.claim(await work.job())).lease)

    def told(item, body, sha256):
        record = page(item.url, body, sha256=sha256)
        return handled(item, Done((record,), (found("new", 1),)))

    items = {item.url: item for item in await again.take()}
    a, b, c = (items[found(name).url] for name in ("a", "b", "c"))
    await again.commit(told(a, b"start!", "x"))
    await again.commit(handled(b, Failed("http_404")), handled(c, RetryAt(NOON + 9, "timeout")))
    await again.commit(done(await again.item("new")))
    rows = [one async for some in store.jobs.differences(job_id, 1, 2) for one in some]
    told_of = {one.url: (one.change, one.reason) for one in rows}
    assert told_of == {
        found("a").url: (Change.CHANGED, ""),
        found("b").url: (Change.GONE, "http_404"),
        found("c").url: (Change.UNKNOWN, "queued"),
        found("new").url: (Change.NEW, ""),
    }


# -- rollback and fork


@pytest.mark.parametrize("size", [1, 2, 10_000])
@pytest.mark.parametrize("kind", ["rollback", "fork"])
async def test_what_stood_at_a_commit_stands_again(store, monkeypatch, kind, size):
    monkeypatch.setattr(slices, "SLICE", size)
    work = await crawled(store)
    job_id = await begun(store, work.lease.job_id, kind)()
    job = await store.ledger.job(job_id)
    counters = job.counters
    assert (job.status, counters.found, counters.done, counters.queued) == (Status.PAUSED, 6, 2, 3)
    assert (counters.failed, counters.redirected, counters.skipped, counters.bytes) == (0, 0, 1, 6)
    assert counters.external == 5, "what its pages left out, and no others"
    assert await urls(store, job_id, "done") == named("a", "b")
    assert await urls(store, job_id, "pending") == named("c", "two/d", "two/e")
    assert [each.committed for each in await store.ledger.segments(job_id)] == [200]
    assert [each.number for each in await store.ledger.commits(job_id, after=0, limit=9)] == [1, 2]
    assert await store.ledger.discrepancies(job_id) == []
    (row, _) = await store.ledger.records(job_id, after=0, limit=9)
    assert (row.parent_url, row.item.url) == (None, found("a").url)
    # And it goes on, with numbers that were never used.
    again = Working(store, (await store.claim(await store.jobs.resume(job_id, now=NOON))).lease)
    items = await again.take()
    assert {item.parent_id for item in items} == {row.item.id}
    committed = await again.commit(*(done(item) for item in items))
    assert committed.number == (6 if kind == "rollback" else 3)
    await again.commit(**FINISH)
    await again.honest()


async def test_a_fork_is_a_job_of_its_own_and_leaves_the_other_alone(store):
    work = await crawled(store)
    before = await work.job()
    fork_id = await begun(store, before.id, "fork")()
    assert await work.job() == before
    (run,) = await store.jobs.runs(fork_id)
    assert (run.kind, run.base_job, run.base_run, run.base_commit) == (
        RunKind.FORK,
        before.public_id,
        1,
        2,
    )
    await store.jobs.remove(before.id)
    assert await store.ledger.discrepancies(fork_id) == []
    assert await urls(store, fork_id, "done") == named("a", "b")


async def test_a_rollback_spoils_no_later_checkpoint(store):
    work = await crawled(store)
    job_id = work.lease.job_id
    await roll_back(store, job_id, 1)
    await roll_back(store, job_id, 5)
    job = await store.ledger.job(job_id)
    assert (job.run, job.status, job.counters.done, job.counters.queued) == (3, Status.PAUSED, 3, 0)
    assert [(run.base_run, run.base_commit) for run in await store.jobs.runs(job_id)] == [
        (None, None),
        (1, 1),
        (1, 5),
    ]
    for run in (1, 2, 3):
        assert await store.ledger.discrepancies(job_id, run=run) == []


async def test_the_notes_are_those_of_that_commit(store):
    work = await store.working("a", "b")
    await work.commit(done(await work.item("a")), cursor={"seeds": ["one"]})
    await work.commit(done(await work.item("b")), cursor={"seeds": ["one", "two"]})
    await work.commit(**FINISH)
    job_id = work.lease.job_id
    await roll_back(store, job_id, 1)
    assert await store.ledger.cursor(job_id) == {"seeds": ["one"]}
    assert await store.ledger.cursor(job_id, run=1) == {"seeds": ["one", "two"]}


async def test_bounds_as_they_are_now_hold_in_what_stood_before_them(store):
    work = await store.working("a", new=new_job(limits=Limits(max_depth=1)))
    await work.commit(done(await work.item("a"), found("b", 1), found("c", 2, skip="depth")))
    await work.commit(done(await work.item("b")))
    await work.commit(**FINISH)
    job_id = work.lease.job_id
    await roll_back(store, job_id, 1)
    job = await store.ledger.job(job_id)
    await revised(store, job, replace(job.limits, max_depth=2))
    # Commit 2 is the first run's, which ended under the lesser limit.
    await roll_back(store, job_id, 2)
    assert await store.jobs.unfinished() == {}
    assert await urls(store, job_id, "pending") == named("c")
    assert await store.ledger.discrepancies(job_id) == []


async def test_a_number_that_is_no_checkpoint_is_refused_with_nothing_changed(store):
    work = await crawled(store)
    before = await work.job()
    with pytest.raises(UsageError):
        await store.jobs.run_with(before.id, 9)
    assert await work.job() == before
    assert len(await store.jobs.all()) == 1
    assert await store.jobs.unfinished() == {}


async def test_nobody_rolls_back_or_forks_under_a_worker(store):
    work = await store.working("a", "b")
    await work.commit(done(await work.item("a")))
    job_id = work.lease.job_id
    with pytest.raises(WrongState):
        await roll_back(store, job_id, 1)
    with pytest.raises(JobHeld):
        await fork(store, job_id, 1)
    await work.commit(done(await work.item("b")))
    await work.honest()


async def test_two_jobs_of_one_name_are_not_made_by_forking(store):
    work = await crawled(store)
    await fork(store, work.lease.job_id, 2, ("name:docs", "docs"))
    with pytest.raises(UsageError):
        await fork(store, work.lease.job_id, 2, ("name:docs", "docs"))


async def test_what_was_tried_again_since_is_open_in_what_stood_before(store):
    work = await crawled(store)
    job_id = work.lease.job_id
    from holdfast.domain.failures import Which

    await store.jobs.retry(job_id, Which(), now=NOON)
    await roll_back(store, job_id, 4)
    assert await urls(store, job_id, "pending") == named("two/e")
    assert await store.ledger.laid_aside(job_id, work.segment) == {400}
    assert await store.ledger.discrepancies(job_id) == []


async def test_what_robots_forbade_since_is_open_again(store):
    work = await store.working("a", "b")
    await work.commit(done(await work.item("a")))
    await work.commit(handled(await work.item("b"), Skipped("robots")))
    await work.commit(**FINISH)
    job_id = work.lease.job_id
    await roll_back(store, job_id, 1)
    assert await urls(store, job_id, "pending") == named("b")
    assert await store.ledger.discrepancies(job_id) == []


# -- crashes


@pytest.mark.parametrize("count", [0, 1, 3, 6, 9])
@pytest.mark.parametrize("kind", ["rescan", "rollback", "fork"])
async def test_a_new_run_that_a_crash_broke_off_is_finished_as_if_nothing_had_been(
    home, monkeypatch, kind, count
):
    # given what it comes to without a crash
    store = home.open()
    whole = replace(home, where=home.where.with_name("other")).open()
    whole_id = await begun(whole, (await crawled(whole)).lease.job_id, kind)()
    job = await (await crawled(store)).job()

    # when a crash comes between two slices
    await after_slices(store, monkeypatch, count, begun(store, job.id, kind))
    store = home.open()
    ((changing_id, change),) = (await store.jobs.unfinished()).items()
    assert change == kind
    assert (changing_id == job.id) is (kind != "fork")

    # then nobody may claim it or change it, the job is what it was, and whoever comes carries it on
    assert await store.ledger.discrepancies(job.id) == []
    for refused in (
        store.ledger.claim(changing_id, "here/2/bb", now=NOON),
        store.jobs.roll_back(changing_id, Past(1, 1), phase="q", now=NOON),
        store.jobs.fork(changing_id, Past(1, 1), public_id="g", named=("g", None), phase="q", now=NOON),
    ):
        with pytest.raises(UsageError):
            await refused
    if kind == "fork":
        with pytest.raises(JobHeld):
            await store.jobs.forget(job.id)
    await store.jobs.finish_change(changing_id)
    assert await store.jobs.unfinished() == {}

    def bare(rows):
        return [(row.item.url, row.location, row.revisit_of, row.parent_url, row.data) for row in rows]

    for read, expected in ((store, whole),):
        assert bare(await read.ledger.records(changing_id, after=0, limit=99)) == bare(
            await expected.ledger.records(whole_id, after=0, limit=99)
        )
    finished, aimed_at = await store.ledger.job(changing_id), await whole.ledger.job(whole_id)
    assert (finished.counters, finished.status, finished.run) == (
        aimed_at.counters,
        aimed_at.status,
        aimed_at.run,
    )
    for run in await store.jobs.runs(changing_id):
        assert await store.ledger.discrepancies(changing_id, run=run.number) == []
    assert await store.ledger.discrepancies(job.id) == []


async def test_who_cancels_amid_a_rollback_has_the_last_word(home, monkeypatch):
    store = home.open()
    work = await store.working("a", "b")
    await work.commit(done(await work.item("a")))
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))
    job_id = work.lease.job_id

    async def back():
        await roll_back(store, job_id, 1)

    await after_slices(store, monkeypatch, 2, back)
    store = home.open()
    await store.jobs.cancel(job_id, now=NOON)
    await store.jobs.finish_change(job_id)
    job = await store.ledger.job(job_id)
    assert (job.status, job.run) == (Status.CANCELLED, 2)
    assert await store.ledger.discrepancies(job_id) == []


@pytest.mark.parametrize("kind", ["rescan", "rollback"])
async def test_a_restart_forgets_runs_whole_and_half(home, monkeypatch, kind):
    store = home.open()
    job = await (await crawled(store)).job()
    await begun(store, job.id, kind)()
    work = Working(store, (await store.claim(await _pending(store, job.id))).lease)
    await work.commit(*(done(item) for item in await work.take()))
    await work.commit(**FINISH)
    await after_slices(store, monkeypatch, 4, begun(store, job.id, "rollback"))
    store = home.open()
    fresh = await store.jobs.restart(job.id, [found("s")], phase="queued", now=NOON)
    assert await store.jobs.unfinished() == {}
    assert [(run.number, run.kind) for run in await store.jobs.runs(job.id)] == [(fresh.run, RunKind.RESTART)]
    assert (await store.jobs.checkpoint_data(job.id)).pages_queued == [found("s").url]
    assert await store.ledger.discrepancies(job.id) == []


async def _pending(store, job_id):
    job = await store.ledger.job(job_id)
    return await store.jobs.resume(job_id, now=NOON) if job.status is Status.PAUSED else job
