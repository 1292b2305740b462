"""Figures of a ledger that was written by hand: what is counted where, and that a run that vanishes is noticed."""

import asyncio
from dataclasses import replace

import pytest
from tests.contract.stores import OPENERS
from tests.kit.builders import done, found, handled, page
from tests.kit.clock import ManualClock

from holdfast.domain.errors import JobHeld
from holdfast.domain.item import Consulted, Failed
from holdfast.output.report.figures import Depth, Holder, Seen
from holdfast.output.report.gather import Asked, Sources, gather
from holdfast.ports.segments import DamagedRecord

ASKED = Asked(read_links=True, words=(), version="9")


class Bodies:
    """Segments in which every exchange is its address."""

    def read(self, job, location):
        if location.length < 0:
            raise DamagedRecord("gone")
        return location


class Links:
    """A pipeline to which each address leads where a table says."""

    def __init__(self, leads):
        self.leads = leads

    def relink(self, job, cursor, item, record, reading):
        return [found(name) for name in self.leads.get(item.url, ())]


class Nobody:
    """No worker lives."""

    def lives(self, worker_id):
        return False


def see(row):
    return Seen(row.item.url, row.kind, row.data["status"], "", "text/html", row.data["size"], 1.0, 1)


@pytest.fixture
def store(tmp_path):
    opened = OPENERS["sqlite"](tmp_path / "home")
    yield opened
    asyncio.run(opened.close())


def sources(store, leads=()):
    return Sources(store.jobs, store.ledger, Bodies(), Links(dict(leads)), Nobody(), ManualClock(), see)


async def crawled(store):
    """A page and a sitemap; both name an address that failed."""
    work = await store.working("a", "map")
    a, sitemap = await work.item("a"), await work.item("map")
    await work.commit(done(a, found("gone", 1, parent=a.id)))
    consulted = replace(page(sitemap.url, b"map"), kind="sitemap")
    await work.commit(handled(sitemap, Consulted((consulted,), (found("b", 1, parent=sitemap.id),))))
    await work.commit(handled(await work.item("gone"), Failed("http_404")))
    return await work.job()


def test_what_is_only_consulted_is_no_page_but_may_hold_a_broken_link(store):
    async def story():
        job = await crawled(store)
        leads = {found("a").url: ("gone", "b"), found("map").url: ("gone",)}
        return await gather(sources(store, leads), job, ASKED, lambda *_: None)

    figures = asyncio.run(story())
    assert figures.counters.consulted == 1
    assert figures.depths == (Depth(0, done=1, consulted=1), Depth(1, failed=1, pending=1))
    assert sum(share.count for share in figures.content_types) == 1
    (broken,) = figures.broken
    assert broken.holders == (Holder(found("a").url), Holder(found("map").url))


def test_a_job_that_is_restarted_meanwhile_gives_no_figures(store, monkeypatch):
    cursor = store.ledger.cursor

    async def story():
        job = await crawled(store)
        await store.jobs.cancel(job.id, now=1.0)

        async def restarted(job_id):
            await store.jobs.restart(job_id, [found("a")], phase="queued", now=2.0)
            return await cursor(job_id)

        monkeypatch.setattr(store.ledger, "cursor", restarted)
        await gather(sources(store), job, ASKED, lambda *_: None)

    with pytest.raises(JobHeld, match="restarted or removed while it was read"):
        asyncio.run(story())
