"""Items are counted once each, by depth, status and reason, however many slices it takes."""

import pytest
from tests.kit.builders import done, found, handled, new_job

from holdfast.domain.item import Failed, Skipped
from holdfast.ports.jobs import Sort
from holdfast.stores.sqlite import slices


@pytest.fixture(params=[10_000, 2], ids=["in one slice", "in slices"], autouse=True)
def sliced(monkeypatch, request):
    monkeypatch.setattr(slices, "SLICE", request.param)


async def at_work(store):
    """Two start pages; one leads to five more, of which two failed, one was forbidden, and one is outside."""
    work = await store.working("a", "b")
    a = await work.item("a")
    links = [found(name, 1, parent=a.id) for name in ("c", "d", "e", "f")]
    await work.commit(done(a, *links, found("out/x", 1, parent=a.id, skip="external")))
    await work.commit(
        handled(await work.item("c"), Failed("http_404")),
        handled(await work.item("d"), Failed("http_404")),
        handled(await work.item("e"), Skipped("robots")),
    )
    return work


async def test_items_are_counted_by_depth_status_and_reason(store):
    work = await at_work(store)
    assert await store.jobs.sorts(work.lease.job_id, deepest=9) == [
        Sort(0, "done", "", 1, found("a").url),
        Sort(0, "pending", "", 1, found("b").url),
        Sort(1, "failed", "http_404", 2, found("c").url),
        Sort(1, "pending", "", 1, found("f").url),
        Sort(1, "skipped", "external", 1, found("out/x").url),
        Sort(1, "skipped", "robots", 1, found("e").url),
    ]


async def test_what_lies_deeper_counts_as_that_deep(store):
    work = await at_work(store)
    sorts = await store.jobs.sorts(work.lease.job_id, deepest=0)
    assert {sort.depth for sort in sorts} == {0}
    assert sum(sort.count for sort in sorts) == (await work.job()).counters.found


async def test_another_jobs_items_are_not_its(store):
    await at_work(store)
    other = await store.submit("z", new=new_job("other"), nth=7)
    assert await store.jobs.sorts(other.id, deepest=9) == [Sort(0, "pending", "", 1, found("z").url)]


async def test_what_failed_comes_with_the_page_it_was_found_on(store):
    work = await at_work(store)
    failures = [one async for some in store.jobs.failures(work.lease.job_id) for one in some]
    assert [(one.url, one.parent_url) for one in failures] == [
        (found("c").url, found("a").url),
        (found("d").url, found("a").url),
    ]
