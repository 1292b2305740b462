"""Files of rows that grow with the commits: what is noted of them, and which rows are whose."""

from dataclasses import replace

import pytest
from tests.contract.stores import Working
from tests.kit.builders import done, found, handled, page
from tests.kit.clock import NOON

from holdfast.domain.checkpoint import CheckpointReason
from holdfast.domain.commit import Ending, Streamed
from holdfast.domain.errors import LeaseLost
from holdfast.domain.item import Failed
from holdfast.domain.states import Action

ROWS = Streamed("/out/rows.jsonl", 1, 100, 0xCAFE, 3)


def names(records):
    return [record.item.url.rpartition("/")[2] for record in records]


async def test_the_rows_of_commits_come_in_their_order_and_each_once(store):
    work = await store.working("a", "b", "c", "d")
    a, b, c, d = await work.take()
    await work.commit(done(c), done(a))
    await work.commit(handled(d, Failed("http_404", (replace(page(d.url), kind="error"),))))
    await work.commit(done(b, found("x", 1)))
    job_id, ledger = work.lease.job_id, store.ledger
    assert names(await ledger.written(job_id, after=0, until=3, kind="page")) == ["c", "a", "b"]
    assert names(await ledger.written(job_id, after=0, until=1, kind="page")) == ["c", "a"]
    assert names(await ledger.written(job_id, after=1, until=3, kind="page")) == ["b"]
    assert await ledger.written(job_id, after=3, until=9, kind="page") == []
    assert await ledger.written(job_id, after=0, until=3, kind="page") == [
        next(row for row in await ledger.records(job_id, after=0, limit=9) if row.item.url == found(name).url)
        for name in "cab"
    ]


async def test_a_commit_notes_how_far_a_file_had_come_before_it(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    assert await store.ledger.streamed(work.lease.job_id, ROWS.path) is None
    await work.commit(done(a), streamed=ROWS)
    assert await store.ledger.streamed(work.lease.job_id, ROWS.path) == ROWS
    assert await store.ledger.streamed(work.lease.job_id, "/another") is None
    # one that says nothing of it leaves it as it was; the next one moves it on
    await work.commit()
    assert await store.ledger.streamed(work.lease.job_id, ROWS.path) == ROWS
    later = replace(ROWS, commit_no=2, bytes=200)
    await work.commit(done(b), streamed=later)
    assert await store.ledger.streamed(work.lease.job_id, ROWS.path) == later


async def test_a_commit_that_is_refused_notes_nothing(store):
    work = await store.working("a")
    await store.jobs.cancel(work.lease.job_id, now=NOON)
    with pytest.raises(LeaseLost):
        await work.commit(streamed=ROWS)
    assert await store.ledger.streamed(work.lease.job_id, ROWS.path) is None


async def test_without_a_claim_it_is_noted_beside_and_with_one_it_is_not(store):
    work = await store.working("a")
    job = await work.job()
    await store.ledger.note_streamed(job.id, job.run, ROWS)
    assert await store.ledger.streamed(job.id, ROWS.path) is None
    await work.commit(reason=CheckpointReason.PAUSE, ending=Ending(Action.PAUSE, "user"))
    await store.ledger.note_streamed(job.id, job.run, ROWS)
    assert await store.ledger.streamed(job.id, ROWS.path) == ROWS
    await store.ledger.note_streamed(job.id, job.run + 1, replace(ROWS, bytes=7))
    assert await store.ledger.streamed(job.id, ROWS.path) == ROWS


async def test_what_a_repair_took_back_makes_the_file_unknown(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a))
    await work.commit(done(b), streamed=ROWS)
    heartbeat = await store.jobs.holder(work.lease.job_id)
    await store.ledger.recover(heartbeat, why="died", stalled=False, rules=None, now=NOON)
    again = Working(store, (await store.claim(await work.job())).lease)
    # bytes that no row stands on change nothing
    assert await store.ledger.tear(again.lease, work.segment, 200) == 0
    assert await store.ledger.streamed(work.lease.job_id, ROWS.path) == ROWS
    assert await store.ledger.tear(again.lease, work.segment, 100) == 1
    assert await store.ledger.streamed(work.lease.job_id, ROWS.path) is None
    assert names(await store.ledger.written(work.lease.job_id, after=0, until=9, kind="page")) == ["a"]


async def test_another_run_knows_no_file_of_the_one_before(store):
    work = await store.working("a")
    await work.commit(done(await work.item("a")), streamed=ROWS)
    job = await store.jobs.cancel(work.lease.job_id, now=NOON)
    await store.jobs.restart(job.id, [found("a")], phase="queued", now=NOON)
    assert await store.ledger.streamed(job.id, ROWS.path) is None
    assert await store.ledger.written(job.id, after=0, until=9, kind="page") == []


async def test_a_job_that_goes_takes_its_notes_along(store):
    work = await store.working("a")
    await work.commit(done(await work.item("a")), streamed=ROWS)
    await store.jobs.cancel(work.lease.job_id, now=NOON)
    await store.jobs.remove(work.lease.job_id)
    assert await store.ledger.streamed(work.lease.job_id, ROWS.path) is None
