"""Jobs: submitted once, found by what people type."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from tests.kit.builders import done, found, new_job
from tests.kit.clock import NOON

from holdfast.domain.checkpoint import CheckpointPolicy
from holdfast.domain.errors import AmbiguousJob, UnknownJob
from holdfast.domain.job import Limits, Pace
from holdfast.domain.states import Status


async def test_a_submitted_job_is_pending_with_all_it_was_asked_for(store):
    new = new_job(
        name="news",
        limits=Limits(max_pages=7, max_depth=3, max_bytes=1_000, time_limit_s=60.0),
        pace=Pace(concurrency=3, per_host=1, delay_s=0.5),
        checkpoints=CheckpointPolicy(items=4, seconds=9.0),
        spec={"scope": "host", "start_urls": ["http://site/a"]},
    )
    job = await store.submit("a", "b", new=new)
    again = await store.jobs.find(job.public_id)
    assert again == job
    assert (job.status, job.phase, job.run, job.commit_no) == (Status.PENDING, "queued", 1, 0)
    assert (job.name, job.kind, job.created_at, job.started_at) == ("news", "test", NOON, None)
    assert (job.limits, job.pace, job.checkpoints, job.spec) == (
        new.limits,
        new.pace,
        new.checkpoints,
        new.spec,
    )
    assert (job.counters.found, job.counters.queued) == (2, 2)


async def test_start_items_that_are_named_twice_are_one_item(store):
    job = await store.submit("a", "a", "b")
    assert job.counters.found == 2
    assert await store.ledger.discrepancies(job.id) == []


async def test_the_same_command_gives_the_same_job(store):
    first = await store.submit(new=new_job("one"), nth=1)
    assert await store.submit(new=new_job("one"), nth=2) == first
    assert await store.jobs.by_identity("one") == first
    assert await store.jobs.by_identity("two") is None


async def test_fresh_makes_a_new_job_which_the_command_then_means(store):
    first = await store.submit(new=new_job("one"), nth=1)
    second = await store.jobs.submit_fresh(
        new_job("one"),
        [found("a")],
        public_id="01920000-0000-7000-8000-000000000002",
        phase="queued",
        now=NOON,
    )
    assert second.id != first.id
    assert await store.jobs.by_identity("one") == second
    assert [job.id for job in await store.jobs.all()] == [second.id, first.id]


async def test_many_submits_of_one_command_at_once_make_one_job(home):
    stores = [home.open() for _ in range(4)]
    jobs = await asyncio.gather(*(store.submit(nth=n) for n, store in enumerate(stores, start=1)))
    assert len({job.id for job in jobs}) == 1
    assert len(await stores[0].jobs.all()) == 1


async def test_a_job_is_found_by_id_by_its_beginning_and_by_its_end(store):
    job = await store.submit(nth=0xABCDEF)
    await store.submit(new=new_job("other"), nth=0x123456)
    assert (await store.jobs.find(job.public_id)).id == job.id
    assert (await store.jobs.find(job.short_id)).id == job.id
    assert (await store.jobs.find("abcdef")).id == job.id
    assert (await store.jobs.find("ABCDEF")).id == job.id


async def test_a_prefix_of_two_jobs_is_ambiguous_and_names_both(store):
    one = await store.submit(new=new_job("one"), nth=1)
    two = await store.submit(new=new_job("two"), nth=2)
    with pytest.raises(AmbiguousJob) as error:
        await store.jobs.find("01920000")
    assert one.public_id in str(error.value)
    assert two.public_id in str(error.value)


async def test_a_name_finds_the_latest_job_of_that_name(store):
    await store.submit(new=new_job("one", name="news"), nth=1)
    two = await store.submit(new=new_job("two", name="news"), nth=2)
    assert (await store.jobs.find("news")).id == two.id


async def test_nothing_finds_the_latest_job(store):
    await store.submit(new=new_job("one"), nth=1)
    two = await store.submit(new=new_job("two"), nth=2)
    assert (await store.jobs.find(None)).id == two.id


@pytest.mark.parametrize("reference", [None, "nonsense", "%", "_", "'; DROP TABLE jobs; --"])
async def test_what_is_not_there_is_an_unknown_job(store, reference):
    with pytest.raises(UnknownJob):
        await store.jobs.find(reference)


@pytest.mark.parametrize("reference", ["%", "_", "0192%", "*", "?"])
async def test_a_reference_is_taken_literally(store, reference):
    await store.submit()
    with pytest.raises(UnknownJob):
        await store.jobs.find(reference)


async def test_asking_for_a_job_that_is_gone_is_an_unknown_job(store):
    job = await store.submit()
    await store.jobs.remove(job.id)
    with pytest.raises(UnknownJob):
        await store.ledger.job(job.id)
    with pytest.raises(UnknownJob):
        await store.ledger.claim(job.id, "here/1/aa", now=NOON)
    with pytest.raises(UnknownJob):
        await store.jobs.pause(job.id, now=NOON, dead=await store.jobs.holder(job.id))


async def test_a_job_survives_its_process(home):
    job = await home.open().submit("a", "b")
    await home.opened[0].close()
    assert await home.open().jobs.find(None) == job


async def test_the_holder_is_who_claimed(store):
    work = await store.working("a")
    holder = await store.jobs.holder(work.lease.job_id)
    assert (holder.worker_id, holder.epoch, holder.chunk_id) == ("here/1/aa", 1, work.lease.chunk_id)
    assert (holder.public_id, holder.claims_since_progress) == ((await work.job()).public_id, 1)
    assert await store.ledger.heartbeats() == [holder]
    await store.jobs.cancel(work.lease.job_id, now=NOON)
    assert await store.jobs.holder(work.lease.job_id) is None


async def test_events_tell_the_story_newest_first(store):
    work = await store.working("a")
    await store.jobs.pause(work.lease.job_id, now=NOON + 5)
    events = await store.jobs.events(work.lease.job_id, 10)
    assert [event.kind for event in events] == ["pause asked for", "claimed", "submitted"]
    assert events[0].at == NOON + 5
    assert [event.id for event in events] == sorted((event.id for event in events), reverse=True)
    assert len(await store.jobs.events(work.lease.job_id, 1)) == 1


async def test_hosts_and_statuses_are_reported(store):
    work = await store.working("a", "other/a", "other/b")
    first, second = done(await work.item("other/a")), done(await work.item("a"))
    await work.commit(
        *(replace(one, outcome=replace(one.outcome, reason="http_200")) for one in (first, second))
    )
    hosts = await store.jobs.hosts(work.lease.job_id, 10)
    assert [(host.name, host.queued, host.settled) for host in hosts] == [
        ("http://other", 1, 1),
        ("http://site", 0, 1),
    ]
    assert len(await store.jobs.hosts(work.lease.job_id, 1)) == 1
    assert await store.jobs.statuses(work.lease.job_id) == {200: 2}


CLAIMER = """
import asyncio, sys
from pathlib import Path
from tests.contract.stores import OPENERS

async def main(kind, where, job_id):
    store = OPENERS[kind](Path(where))
    await store.jobs.all()
    print("ready", flush=True)
    sys.stdin.readline()
    claim = await store.ledger.claim(int(job_id), "process", now=0.0)
    print("none" if claim is None else claim.lease.epoch, flush=True)
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.integration
async def test_of_two_processes_that_claim_one_gets_it(home):
    store = home.open()
    job = await store.submit()
    command = [sys.executable, "-c", CLAIMER, home.kind, str(home.where), str(job.id)]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
        for _ in range(2)
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = sorted(json.dumps(child.communicate(timeout=30)[0].strip()) for child in children)
    assert answers == ['"1"', '"none"']
