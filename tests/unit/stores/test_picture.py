"""The full picture of a job, read in slices while a worker goes on."""

import asyncio

from tests.contract.stores import Home
from tests.kit.builders import done, found

from holdfast.stores.sqlite.jobs import SqliteJobs


def test_the_full_picture_has_each_address_once_though_a_commit_comes_between(tmp_path, monkeypatch):
    async def story() -> None:
        store = Home("sqlite", tmp_path, []).open()
        monkeypatch.setattr("holdfast.stores.sqlite.slices.SLICE", 2)
        work = await store.working("a", "b", "c")
        a, b, c = await work.take()
        await work.commit(done(a, found("d", 1), found("out/x", 1, skip="external")))
        jobs = store.jobs
        assert isinstance(jobs, SqliteJobs)
        asked = jobs._rows

        async def rows(name, bindings):
            answer = await asked(name, bindings)
            if bindings.get("after") == 0:
                await work.commit(done(b), done(c, found("e", 1)))
            return answer

        monkeypatch.setattr(jobs, "_rows", rows)
        data = await jobs.checkpoint_data(work.lease.job_id)
        assert data.pages_visited == [a.url, c.url], "c as it was when it was come to"
        assert data.pages_queued == [b.url, found("d").url], "b as it was before, and nothing found since"
        assert data.external_links_found == [found("out/x").url]
        await store.close()

    asyncio.run(story())
