"""Holdfast from Python: the same jobs, the same promise, no process of its own."""

import asyncio
import dataclasses
import importlib
import inspect
import json

import click
import pytest
from tests.kit.server import generated, serving

import holdfast
from holdfast.cli.crawl import crawl as command
from holdfast.library.options import NOT_HERE, CrawlOptions

MANY = 400


async def _some_are_served(server):
    for _ in range(6000):
        if server.served >= MANY // 4:
            return
        await asyncio.sleep(0.01)
    pytest.fail("the crawl never got so far")


@pytest.fixture
def slow(tmp_path):
    """A site that gives somebody time to come in between."""
    with serving(generated(MANY), tmp_path / "slow.log") as server:
        server.delay_s = 0.02
        yield server


def test_a_crawl_gives_each_page_once_with_its_text_and_body(server, tmp_path):
    async def story():
        async with holdfast.open(tmp_path / "home") as hf:
            job = await hf.crawl(server.start)
            assert (job.status, job.status == "completed") == (holdfast.Status.COMPLETED, True)
            pages = [page async for page in job.pages()]
            assert sorted(page.url for page in pages) == sorted(server.urls)
            assert job.counters.done == len(pages)
            page = next(page for page in pages if page.url == server.start)
            assert (page.status, page.depth, page.parent) == (200, 0, None)
            assert page.title in page.body.decode()
            assert page.row["text"] == page.text
            assert page.size == len(page.body)
            assert ("Content-Type", "text/html; charset=utf-8") in page.headers
            assert (await job.verify()).holds
            exported = await job.export(tmp_path / "pages.jsonl")
            assert exported.count == len(pages)
            rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
            assert {row["url"]: row["text"] for row in rows} == {page.url: page.text for page in pages}

    asyncio.run(story())


def test_other_rules_raise_with_what_they_would_do_unless_they_are_agreed_to(server, tmp_path):
    async def story():
        async with holdfast.open(tmp_path / "home") as hf:
            job = await hf.crawl(server.start, max_pages=20)
            with pytest.raises(holdfast.SpecChanged, match=r"leave the queue \(excluded .* yes=True does it"):
                await hf.crawl(server.start, exclude="/p/[1-4]")
            assert (await job.refresh()).counters.done == 20
            job = await hf.crawl(server.start, exclude="/p/[1-4]", yes=True)
            assert job.status == "completed"
            assert job.counters.done > 20
            assert (await job.verify()).holds

    asyncio.run(story())


def test_the_same_call_and_the_command_mean_the_same_job(server, tmp_path, holdfast):
    async def story():
        async with _open(holdfast.home) as hf:
            limited = await hf.crawl(server.start, max_pages=5)
            assert (limited.counters.done, limited.reason) == (5, "page limit")
            served = server.served
            again = await hf.crawl(server.start, max_pages=5)
            assert (again.id, server.served) == (limited.id, served)
            more = await hf.crawl(server.start, max_pages="7")
            assert (more.id, more.counters.done) == (limited.id, 7)
            assert [job.id for job in await hf.jobs()] == [limited.id]
            return limited.id

    job = asyncio.run(story())
    ended = holdfast.crawl(server.start).ended()
    assert ended.code == 0
    assert ended.json["job"] == job
    assert ended.json["pages"] == len(server.urls)


def test_a_cancelled_task_commits_what_is_in_hand_and_the_same_call_carries_on(slow, tmp_path):
    async def story():
        async with holdfast.open(tmp_path / "home") as hf:
            crawling = asyncio.create_task(hf.crawl(slow.start))
            await _some_are_served(slow)
            crawling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await crawling
            job = await hf.job()
            assert job.status == "pending"
            assert 0 < job.counters.done < MANY
            slow.delay_s = 0.0
            job = await hf.crawl(slow.start)
            assert job.status == "completed"
            assert sorted([page.url async for page in job.pages()]) == sorted(slow.urls)
            assert (await job.verify()).holds

    asyncio.run(story())
    assert slow.fetched_again() == 0


def test_crawls_side_by_side_in_one_home(server, slow, tmp_path):
    async def story():
        async with holdfast.open(tmp_path / "home") as hf:
            slow.delay_s = 0.0
            jobs = await asyncio.gather(hf.crawl(server.start), hf.crawl(slow.start))
            assert [job.counters.done for job in jobs] == [len(server.urls), len(slow.urls)]
            for job in jobs:
                assert (await job.verify()).holds

    asyncio.run(story())


def test_a_job_is_paused_resumed_cancelled_and_removed(slow, tmp_path):
    async def story():
        async with holdfast.open(tmp_path / "home") as hf:
            job = await hf.submit(slow.start, name="mine")
            running = asyncio.create_task(job.run())
            await _some_are_served(slow)
            other = await hf.job("mine")
            with pytest.raises(holdfast.JobHeld):
                await other.remove()
            await other.pause()
            assert (await running).status == "paused"
            with pytest.raises(holdfast.WrongState):
                await other.pause()
            slow.delay_s = 0.0
            job = await (await other.resume()).run()
            assert (job.status, job.counters.done) == ("completed", len(slow.urls))
            with pytest.raises(holdfast.WrongState):
                await job.cancel()
            await job.remove()
            with pytest.raises(holdfast.UnknownJob):
                await hf.job("mine")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_pages": 0}, "crawl.., max_pages"),
        ({"max_page": 5}, "did you mean max_pages"),
        ({"time_limit": "soon"}, "time_limit"),
        ({"scope": "galaxy"}, "scope"),
        ({"include": ["("]}, "regular expression"),
        ({"output": "x.jsonl"}, "output"),
        ({"ignore_robots": "yes"}, "ignore_robots"),
    ],
)
def test_what_can_not_be_meant_is_said_and_nothing_is_begun(tmp_path, options, complaint):
    async def story():
        async with holdfast.open(tmp_path / "home") as hf:
            with pytest.raises(holdfast.UsageError, match=complaint):
                await hf.crawl("http://127.0.0.1:1/", **options)
            assert await hf.jobs() == []

    asyncio.run(story())


def test_a_home_that_is_not_there_can_be_refused(tmp_path):
    async def story():
        async with holdfast.open(tmp_path / "nowhere", create=False):
            pass

    with pytest.raises(holdfast.HomeError, match="nowhere"):
        asyncio.run(story())


def test_the_keywords_are_the_options_of_the_command():
    names = {parameter.name for parameter in command.params if isinstance(parameter, click.Option)}
    assert set(CrawlOptions.__annotations__) <= names - NOT_HERE - {"home", "verbose"}


def test_every_name_is_there_and_says_what_it_is():
    for name in holdfast.__all__:
        thing = getattr(holdfast, name)
        assert inspect.getdoc(thing), name
    with pytest.raises(AttributeError, match="nonsense"):
        holdfast.nonsense  # noqa: B018 - asking is the test
    assert not dataclasses.is_dataclass(holdfast.Job)
    assert importlib.import_module("holdfast.library").open is holdfast.open


_open = holdfast.open
