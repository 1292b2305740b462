"""The one transaction: outcomes, findings, records, counters and places, all of them or none."""

from dataclasses import replace

import pytest
from tests.contract.stores import Working
from tests.kit.builders import batch, done, exchange, found, handled, page
from tests.kit.clock import NOON

from holdfast.domain.checkpoint import CheckpointReason, Counters
from holdfast.domain.commit import Appended, Location, Stored
from holdfast.domain.errors import StorageFailed
from holdfast.domain.item import (
    Consulted,
    Done,
    Failed,
    Handled,
    Record,
    Redirected,
    Rejudged,
    RetryAt,
    Skipped,
)
from holdfast.ports.ledger import Rendering
from holdfast.ports.segments import Original


async def counters(work: Working) -> dict[str, int]:
    """Those that aren't zero."""
    c = (await work.job()).counters
    return {name: getattr(c, name) for name in Counters.__slots__ if getattr(c, name)}


async def pending(work: Working) -> dict[str, int]:
    """Depth by the last part of the address."""
    return {item.url.rpartition("/")[2]: item.depth for item in await work.take()}


# -- outcomes


async def test_each_outcome_takes_its_item_where_it_belongs(store):
    work = await store.working("a", "b", "c", "d", "e", "f")
    a, b, c, d, e, f = await work.take()
    committed = await work.commit(
        done(a, body=b"12345"),
        handled(b, Redirected((found("b2", 0),), "redirect", (page(b.url, b"12"),))),
        handled(c, Failed("http 404", (page(c.url, b"123"),))),
        handled(d, Skipped("robots")),
        handled(e, RetryAt(NOON + 60, "timeout")),
        handled(f, Consulted((page(f.url, b"1234"),), (found("b2", 0),), reason="http_200")),
    )
    assert await counters(work) == {
        "found": 7,
        "queued": 2,
        "done": 1,
        "redirected": 1,
        "failed": 1,
        "skipped": 1,
        "consulted": 1,
        "bytes": 14,
    }
    assert committed.counters == (await work.job()).counters
    assert {(t.status, t.reason): t.count for t in await store.jobs.tallies(work.lease.job_id)} == {
        ("done", ""): 1,
        ("redirected", "redirect"): 1,
        ("failed", "http 404"): 1,
        ("consulted", "http_200"): 1,
        ("skipped", "robots"): 1,
        ("pending", ""): 2,
    }
    assert await pending(work) == {"b2": 0}
    await work.honest()


async def test_a_commit_counts_as_a_checkpoint_with_all_that_it_says(store):
    work = await store.working("a", "b")
    first = await work.commit(done(await work.item("a"), found("x", 1)), at=NOON + 1)
    x = await work.item("x")
    second = await work.commit(
        done(x), reason=CheckpointReason.TIME, at=NOON + 7, active_s=6.0, phase="crawl"
    )
    assert (first.number, second.number, first.seq, second.seq) == (1, 2, 1, 2)
    newest, oldest = await store.jobs.checkpoints(work.lease.job_id, 10)
    assert (newest.number, newest.seq, newest.epoch, newest.chunk_id) == (2, 2, 1, work.lease.chunk_id)
    assert (newest.reason, newest.at, newest.items, newest.depth) == (CheckpointReason.TIME, NOON + 7, 1, 1)
    assert newest.counters == second.counters
    assert (newest.segment, newest.offset) == (work.segment, 200)
    assert oldest.counters == first.counters
    job = await work.job()
    assert (job.commit_no, job.last_checkpoint_at, job.active_s, job.phase) == (2, NOON + 7, 6.0, "crawl")
    assert await store.ledger.commits(job.id, after=0, limit=1) == [oldest]
    assert await store.ledger.commits(job.id, after=1, limit=9) == [newest]


async def test_counters_are_the_same_after_the_process_is_gone(home):
    work = await home.open().working("a", "b")
    await work.commit(done(await work.item("a"), found("x", 1), found("y", 1, skip="external")))
    before = await work.job()
    await home.opened[0].close()
    assert await home.open().ledger.job(before.id) == before


async def test_an_item_that_is_settled_twice_is_refused_wholly(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a))
    before = await counters(work)
    with pytest.raises(StorageFailed):
        await work.commit(done(b, found("x", 1)), handled(a, Failed("again")))
    assert await counters(work) == before
    assert await pending(work) == {"b": 0}
    await work.commit(done(b))
    await work.honest()


async def test_an_item_that_stands_twice_in_a_batch_is_refused_wholly(store):
    work = await store.working("a")
    (a,) = await work.take()
    with pytest.raises(StorageFailed):
        await work.commit(done(a), handled(a, Failed("also")))
    assert await pending(work) == {"a": 0}
    await work.honest()


async def test_what_is_counted_only_is_counted(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, unkept=3), done(b, unkept=4))
    assert (await counters(work))["external"] == 7


# -- findings


async def test_a_new_finding_is_an_item_and_a_rejected_one_too(store):
    work = await store.working("a")
    (a,) = await work.take()
    committed = await work.commit(
        done(a, found("x", 1, parent=a.id), found("out/y", 1, parent=a.id, skip="external"))
    )
    assert await counters(work) == {"found": 3, "done": 1, "queued": 1, "skipped": 1, "bytes": 5}
    assert [(host.name, host.queued) for host in committed.hosts] == [("http://site", 1)]
    (x,) = await work.take()
    assert (x.url, x.depth, x.parent_id, x.host) == (found("x").url, 1, a.id, "http://site")
    known = await store.ledger.known(
        work.lease.job_id, [found(p).fingerprint for p in ("a", "x", "out/y", "never")]
    )
    reasons = {"a": None, "x": None, "out/y": "external"}
    assert known == {found(p).fingerprint: reason for p, reason in reasons.items()}
    await work.honest()


async def test_an_address_found_twice_in_a_batch_is_one_item_at_the_lesser_depth(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 3), found("x", 2)), done(b, found("x", 4)))
    assert await pending(work) == {"x": 2}
    await work.honest()


async def test_an_address_both_rejected_and_admitted_in_a_batch_is_admitted_at_the_lesser_depth(store):
    """As it would be in two batches, in either order: where a checkpoint falls decides nothing."""
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(
        done(a, found("x", 1, skip="nofollow"), found("y", 3)),
        done(b, found("x", 3), found("y", 1, skip="nofollow")),
    )
    assert await pending(work) == {"x": 1, "y": 1}
    await work.honest()


async def test_the_batchs_own_addresses_are_not_found_again(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("a", 1), found("b", 1)), done(b, found("a", 1)))
    assert await counters(work) == {"found": 2, "done": 2, "bytes": 10}
    await work.honest()


@pytest.mark.parametrize("depth", [2, 5])
async def test_a_finding_no_nearer_changes_nothing(store, depth):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 2)))
    await work.commit(done(b, found("x", depth)))
    assert await pending(work) == {"x": 2}
    assert (await counters(work))["found"] == 3


async def test_a_nearer_finding_of_a_waiting_item_moves_it_up(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 5)))
    await work.commit(done(b, found("x", 1)))
    assert await pending(work) == {"x": 1}
    assert await store.ledger.take_rejudged(work.lease, limit=9, taken=[]) == []
    await work.honest()


async def test_a_nearer_finding_of_a_retried_item_keeps_its_due_time(store):
    work = await store.working("a", "b", "c")
    a, b, _c = await work.take()
    await work.commit(done(a, found("x", 5)))
    await work.commit(handled(await work.item("x"), RetryAt(NOON + 60, "timeout")))
    await work.commit(done(b, found("x", 1)))
    due = await store.ledger.take_due(work.lease, now=NOON + 60, latest=NOON + 999, limit=9, taken=[])
    assert [(item.url, item.depth, item.attempts) for item in due] == [(found("x").url, 1, 1)]
    assert await pending(work) == {"c": 0}
    await work.honest()


async def test_a_skipped_item_is_revived_by_a_finding_that_is_admitted(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 4, parent=a.id, skip="depth")))
    committed = await work.commit(done(b, found("x", 2, parent=b.id)))
    (x,) = await work.take()
    assert (x.url, x.depth, x.parent_id) == (found("x").url, 2, b.id)
    assert [(host.name, host.queued) for host in committed.hosts] == [("http://site", 1)]
    assert await counters(work) == {"found": 3, "done": 2, "queued": 1, "bytes": 10}
    await work.honest()


async def test_a_skipped_item_is_revived_at_its_lesser_depth(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 1, skip="nofollow")))
    await work.commit(done(b, found("x", 3)))
    assert await pending(work) == {"x": 1}


async def test_what_the_handler_itself_skipped_is_not_tried_for_ever(store):
    """robots.txt forbade it: another link to it doesn't change that."""
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(handled(a, Skipped("robots")))
    await work.commit(done(b, found("a", 0)))
    assert await pending(work) == {}
    await work.honest()


@pytest.mark.parametrize("kind", ["done", "redirected", "consulted"])
async def test_a_nearer_finding_of_a_settled_item_has_its_links_judged_again(store, kind):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 5)))
    x = await work.item("x")
    records = (page(x.url),)
    outcome = {
        "done": Done(records),
        "redirected": Redirected((found("y", 5),), "redirect", records),
        "consulted": Consulted(records),
    }[kind]
    await work.commit(handled(x, outcome))
    await work.commit(done(b, found("x", 1)))
    (again,) = await store.ledger.take_rejudged(work.lease, limit=9, taken=[])
    assert (again.id, again.depth, again.rejudge) == (x.id, 1, True)
    assert await store.ledger.take_rejudged(work.lease, limit=9, taken=[x.id]) == []
    row = await store.ledger.record(work.lease.job_id, x.id)
    assert row.data["url"] == x.url
    await work.commit(handled(again, Rejudged((found("z", 2),))))
    assert await store.ledger.take_rejudged(work.lease, limit=9, taken=[]) == []
    assert (await pending(work))["z"] == 2
    await work.honest()


@pytest.mark.parametrize("outcome", [Failed("http 404"), Skipped("robots")])
async def test_what_has_no_body_is_not_judged_again(store, outcome):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 5)))
    await work.commit(handled(await work.item("x"), outcome))
    await work.commit(done(b, found("x", 1)))
    assert await store.ledger.take_rejudged(work.lease, limit=9, taken=[]) == []
    await work.honest()


async def test_an_item_that_came_nearer_while_it_was_in_hand_is_judged_again(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 5)))
    x = await work.item("x")
    await work.commit(done(b, found("x", 1)))
    await work.commit(done(x, found("y", 6, skip="depth")))
    (again,) = await store.ledger.take_rejudged(work.lease, limit=9, taken=[])
    assert (again.id, again.depth) == (x.id, 1)
    await work.commit(handled(again, Rejudged((found("y", 2),))))
    assert await pending(work) == {"y": 2}
    await work.honest()


async def test_an_item_that_came_nearer_in_the_very_batch_that_settles_it_is_judged_again(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a, found("x", 5)))
    x = await work.item("x")
    await work.commit(done(x, found("y", 6, skip="depth")), done(b, found("x", 1)))
    assert [item.depth for item in await store.ledger.take_rejudged(work.lease, limit=9, taken=[])] == [1]
    await work.honest()


async def test_a_scope_that_grew_has_everything_judged_again_that_was_settled_by_its_links(store):
    work = await store.working("a", "b", "c", "d", "moves")
    a, b, c, d, moves = await work.take()
    await work.commit(done(a, found("r", 1), found("out/x", 1, skip="external")))
    r = await work.item("r")
    to_x = Redirected((found("out/x", 1, skip="external"),), "redirect", (page(r.url),))
    await work.commit(handled(r, to_x), handled(c, Failed("http 404", (page(c.url),))))
    to_www = Redirected((found("out/", 0),), "redirect", (page(moves.url),), widens=True)
    await work.commit(done(b), handled(moves, to_www))
    await work.commit(done(d))
    again = await store.ledger.take_rejudged(work.lease, limit=9, taken=[])
    assert [item.url for item in again] == [a.url, b.url, r.url], (
        "not what came later, nor what leads to a start URL"
    )
    await work.commit(handled(again[0], Rejudged((found("out/x", 1),))))
    assert (await pending(work))["x"] == 1
    assert [item.url for item in await store.ledger.take_rejudged(work.lease, limit=9, taken=[])] == [
        b.url,
        r.url,
    ]
    await work.honest()


async def test_a_scope_that_grew_has_what_was_consulted_judged_again_too(store):
    work = await store.working("map", "moves")
    sitemap, moves = await work.take()
    await work.commit(
        handled(sitemap, Consulted((page(sitemap.url),), (found("out/x", 1, skip="external"),)))
    )
    await work.commit(handled(moves, Redirected((), "redirect", (page(moves.url),), widens=True)))
    (again,) = await store.ledger.take_rejudged(work.lease, limit=9, taken=[])
    assert again.url == sitemap.url
    await work.honest()


async def test_an_item_keeps_when_it_changed_last_as_the_last_date_said(store):
    work = await store.working("a", "b", "c")
    a, b, c = await work.take()
    dated = [replace(found("x", 1), lastmod="2024-05-01"), replace(found("y", 1), lastmod="2024-05-02")]
    await work.commit(done(a, *dated, found("z", 1)))
    await work.commit(done(b, replace(found("y", 1), lastmod="2025-01-01T10:00:00Z"), found("x", 1)))
    await work.commit(done(c, replace(found("z", 1), lastmod="2023"), found("z", 1)))
    kept = {item.url.rpartition("/")[2]: item.lastmod for item in await work.take()}
    assert kept == {"x": "2024-05-01", "y": "2025-01-01T10:00:00Z", "z": "2023"}
    x = await work.item("x")
    await work.commit(done(x))
    row = await store.ledger.record(work.lease.job_id, x.id)
    assert row.item.lastmod == "2024-05-01"
    await work.honest()


async def test_two_scopes_that_grew_one_after_the_other_are_each_judged_by(store):
    work = await store.working("a", "one", "two")
    a, one, two = await work.take()
    await work.commit(done(a), handled(one, Redirected((), "redirect", (page(one.url),), widens=True)))
    (again,) = await store.ledger.take_rejudged(work.lease, limit=9, taken=[])
    await work.commit(
        handled(again, Rejudged()), handled(two, Redirected((), "redirect", (page(two.url),), widens=True))
    )
    assert [item.url for item in await store.ledger.take_rejudged(work.lease, limit=9, taken=[])] == [a.url]
    await work.honest()


async def test_what_is_outside_is_read_page_by_page_and_nothing_else_is(store):
    work = await store.working("a")
    (a,) = await work.take()
    links = [found(f"out/{n}", 1, skip="external") for n in range(5)]
    await work.commit(done(a, *links, found("b", 1), found("c", 9, skip="depth")))
    first = await store.ledger.outside(work.lease.job_id, after=0, limit=3)
    second = await store.ledger.outside(work.lease.job_id, after=first[-1][0], limit=3)
    assert [url for _, url in first + second] == [link.url for link in links]


# -- taking


async def test_what_is_taken_is_still_pending(home):
    work = await home.open().working("a", "b")
    assert await work.take() == await work.take()
    other = home.open()
    heartbeat = await other.jobs.holder(work.lease.job_id)
    await other.ledger.recover(heartbeat, why="died", stalled=False, rules=None, now=NOON)
    again = Working(other, (await other.claim(await other.jobs.find(None))).lease)
    assert await pending(again) == {"a": 0, "b": 0}


async def test_the_shallowest_and_oldest_come_first(store):
    work = await store.working("a")
    (a,) = await work.take()
    await work.commit(done(a, found("d", 4), found("c", 2), found("b", 2), found("e", 1)))
    items = await work.take()
    order = [(item.depth, item.id) for item in items]
    assert [depth for depth, _ in order] == [1, 2, 2, 4]
    assert order == sorted(order)
    host = items[0].host_id
    first = await store.ledger.take(work.lease, host, limit=1, taken=[])
    rest = await store.ledger.take(work.lease, host, limit=9, taken=[first[0].id])
    assert first + rest == items


async def test_hosts_are_read_in_pages(store):
    work = await store.working("h1/a", "h2/a", "h3/a", "h3/b")
    hosts = await store.ledger.queued_hosts(work.lease, after=0, limit=2)
    hosts += await store.ledger.queued_hosts(work.lease, after=hosts[-1].id, limit=2)
    assert sorted((host.name, host.queued) for host in hosts) == [
        ("http://h1", 1),
        ("http://h2", 1),
        ("http://h3", 2),
    ]


async def test_a_host_whose_items_all_wait_for_their_time_is_not_among_them(store):
    work = await store.working("h1/a", "h2/a")
    await work.commit(handled(await work.item("h1/a"), RetryAt(NOON + 60, "timeout")))
    hosts = await store.ledger.queued_hosts(work.lease, after=0, limit=9)
    assert [host.name for host in hosts] == ["http://h2"]


async def test_what_belongs_to_a_later_phase_waits_for_it(store):
    work = await store.working("h1/a", "h1/b")
    a, b = await work.take()
    later = found("h1/late", 1, parent=a.id, stage=1)
    committed = await work.commit(
        done(a, later, found("h1/c", 1, parent=a.id)), done(b, found("h2/late", 1, stage=2))
    )
    assert sorted((host.name, host.stage, host.queued) for host in committed.hosts) == [
        ("http://h1", 0, 1),
        ("http://h1", 1, 1),
        ("http://h2", 2, 1),
    ]
    taken = []
    for work.stage in range(3):
        taken.append(sorted(item.url for item in await work.take()))
    assert taken == [
        ["http://h1/c"],
        ["http://h1/c", "http://h1/late"],
        ["http://h1/c", "http://h1/late", "http://h2/late"],
    ]
    await work.honest()


async def test_so_does_what_waits_for_a_time(store):
    work = await store.working("a")
    (a,) = await work.take()
    await work.commit(done(a, found("late", 1, parent=a.id, stage=1)))
    assert await work.take() == []
    work.stage = 1
    (late,) = await work.take()
    await work.commit(handled(late, RetryAt(NOON + 60, "timeout")))
    # Somebody takes the job back to its first phase.
    due, times = store.ledger.take_due, {"now": NOON + 60, "latest": NOON + 999}
    assert await store.ledger.next_due(work.lease, now=NOON, stage=0) is None
    assert await due(work.lease, **times, limit=9, taken=[], stage=0) == []
    assert await store.ledger.next_due(work.lease, now=NOON, stage=1) == NOON + 60
    assert [item.id for item in await due(work.lease, **times, limit=9, taken=[], stage=1)] == [late.id]


async def test_records_without_evidence_of_their_own_come_with_their_items(store):
    work = await store.working("a", "b")
    for path in ("b", "a"):
        item = await work.item(path)
        rows = (page(item.url), Record("record", {"row": {"n": 1}}), Record("record", {"row": {"n": 2}}))
        await work.commit(handled(item, Done(rows)))
    read = await store.ledger.written(work.lease.job_id, after=0, until=9, kind="record")
    assert [(row.item.url[-1], row.ordinal, row.location) for row in read] == [
        ("b", 1, None),
        ("b", 2, None),
        ("a", 1, None),
        ("a", 2, None),
    ]
    assert len(await store.ledger.written(work.lease.job_id, after=0, until=9, kind="page")) == 2
    await work.honest()


async def test_a_hosts_due_time_is_kept(home):
    work = await home.open().working("a", "b")
    a = await work.item("a")
    await work.commit(done(a), host_due={a.host_id: NOON + 30})
    (host,) = await home.open().ledger.queued_hosts(work.lease, after=0, limit=9)
    assert host.due_at == NOON + 30


async def test_what_waits_is_not_taken_before_its_time(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(handled(a, RetryAt(NOON + 60, "timeout")), handled(b, RetryAt(NOON + 30, "timeout")))
    due = store.ledger.take_due
    assert await work.take() == []
    assert await store.ledger.next_due(work.lease, now=NOON) == NOON + 30
    assert await due(work.lease, now=NOON + 29, latest=NOON + 999, limit=9, taken=[]) == []
    assert [i.id for i in await due(work.lease, now=NOON + 30, latest=NOON + 999, limit=9, taken=[])] == [
        b.id
    ]
    assert [i.id for i in await due(work.lease, now=NOON + 60, latest=NOON + 999, limit=9, taken=[])] == [
        b.id,
        a.id,
    ]
    assert [i.id for i in await due(work.lease, now=NOON + 60, latest=NOON + 999, limit=1, taken=[b.id])] == [
        a.id
    ]
    assert await store.ledger.next_due(work.lease, now=NOON + 30) == NOON + 60
    assert await store.ledger.next_due(work.lease, now=NOON + 60) is None


async def test_a_host_that_answered_once_is_known_for_it(home):
    work = await home.open().working("h1/a", "h1/b", "h1/c", "h2/a", "h2/b")
    answers = done(await work.item("h1/a"))
    silent = handled(await work.item("h2/a"), Failed("connect_refused"))
    await work.commit(answers, silent, handled(await work.item("h1/b"), RetryAt(NOON + 60, "timeout")))
    other = replace(work, store=home.open())
    due = await other.store.ledger.take_due(work.lease, now=NOON + 60, latest=NOON + 99, limit=9, taken=[])
    assert {item.url: item.host_answered for item in [*await other.take(), *due]} == {
        "http://h1/b": True,
        "http://h1/c": True,
        "http://h2/b": False,
    }


async def test_a_due_time_that_no_clock_would_give_has_come(store):
    """The clock stood an hour ahead when it was written, or a year."""
    work = await store.working("a")
    (a,) = await work.take()
    await work.commit(handled(a, RetryAt(NOON + 365 * 86400, "timeout")))
    due = await store.ledger.take_due(work.lease, now=NOON, latest=NOON + 6 * 3600, limit=9, taken=[])
    assert [item.id for item in due] == [a.id]


async def test_a_retried_item_can_be_settled_when_it_is_due(store):
    work = await store.working("a")
    (a,) = await work.take()
    await work.commit(handled(a, RetryAt(NOON + 1, "timeout")))
    (again,) = await store.ledger.take_due(work.lease, now=NOON + 1, latest=NOON + 9, limit=9, taken=[])
    await work.commit(done(again))
    assert await counters(work) == {"found": 1, "done": 1, "bytes": 5}
    assert await store.ledger.next_due(work.lease, now=0.0) is None
    await work.honest()


# -- segments


async def test_a_segment_goes_on_where_the_ledger_left_it(store):
    work = await store.working("a", "b", "c")
    a, b, c = await work.take()
    await work.commit(done(a))
    before = await counters(work)
    for wrong in (0, 50, 101, 10_000):
        with pytest.raises(StorageFailed):
            await store.ledger.commit(work.lease, batch(done(b), segment=work.segment, start=wrong))
    assert await counters(work) == before
    await work.commit(done(b), done(c))
    assert [(s.name, s.committed, s.synced) for s in await store.ledger.segments(work.lease.job_id)] == [
        (work.segment, 300, 0)
    ]
    spans = await store.ledger.spans(work.lease.job_id, work.segment, 0)
    assert [(s.number, s.start, s.end) for s in spans] == [(1, 0, 100), (2, 100, 300)]
    assert await store.ledger.spans(work.lease.job_id, work.segment, 100) == spans[1:]


async def test_nobody_writes_into_another_epochs_segment(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a))
    heartbeat = await store.jobs.holder(work.lease.job_id)
    await store.ledger.recover(heartbeat, why="died", stalled=False, rules=None, now=NOON)
    claim = await store.claim(await work.job())
    with pytest.raises(StorageFailed):
        await store.ledger.commit(claim.lease, batch(done(b), segment=work.segment, start=100))


async def test_what_is_synced_is_remembered_and_never_more_than_committed(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a))
    for upto, believed in ((60, 60), (40, 60), (1000, 60), (100, 100)):
        await store.ledger.synced(work.lease, work.segment, upto)
        (segment,) = await store.ledger.segments(work.lease.job_id)
        assert segment.synced == believed
    await work.commit(done(b))
    (segment,) = await store.ledger.segments(work.lease.job_id)
    assert (segment.committed, segment.synced) == (200, 100)


async def test_an_append_that_was_synced_counts_as_synced(store):
    work = await store.working("a")
    (a,) = await work.take()
    prepared = work.batch(done(a))
    await store.ledger.commit(work.lease, replace(prepared, appended=replace(prepared.appended, synced=True)))
    assert [s.synced for s in await store.ledger.segments(work.lease.job_id)] == [100]


async def test_a_committed_body_is_found_by_its_digest(store):
    work = await store.working("a", "b")
    a, _b = await work.take()
    entry = done(a, body=b"same")
    await work.commit(entry)
    digest = entry.outcome.records[0].exchange.digest
    originals = await store.ledger.originals(work.lease, [digest, b"\0" * 32])
    assert list(originals) == [digest]
    assert originals[digest].location == Location(work.segment, 0, 100)
    assert originals[digest].url == a.url


async def test_a_revisit_points_to_its_body_and_is_no_original_itself(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    entry = done(a, body=b"same")
    await work.commit(entry)
    twin = done(b, body=b"same")
    digest = twin.outcome.records[0].exchange.digest
    body = Location(work.segment, 0, 100)
    appended = Appended(
        work.segment, 100, 150, 7, (Stored(Location(work.segment, 100, 50), digest, revisit_of=body),)
    )
    await store.ledger.commit(work.lease, replace(work.batch(twin), appended=appended))
    row = await store.ledger.record(work.lease.job_id, b.id)
    assert (row.location, row.revisit_of, row.digest) == (Location(work.segment, 100, 50), body, digest)
    assert (await store.ledger.originals(work.lease, [digest]))[digest].location == body
    await work.honest()


# -- records


async def test_a_record_says_where_its_evidence_lies_and_who_found_it(store):
    work = await store.working("a")
    (a,) = await work.take()
    await work.commit(done(a, found("x", 1, parent=a.id)))
    x = await work.item("x")
    await work.commit(handled(x, Done((Record("page", {"size": 3, "title": "ü \u2028 '"}),))))
    first, second = await store.ledger.records(work.lease.job_id, after=0, limit=9)
    assert (first.item.id, first.status, first.parent_url, first.ordinal) == (a.id, "done", None, 0)
    assert first.location == Location(work.segment, 0, 100)
    assert (second.parent_url, second.location, second.digest) == (a.url, None, None)
    assert second.data == {"size": 3, "title": "ü \u2028 '"}
    assert await store.ledger.record(work.lease.job_id, 99_999) is None


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 100])
async def test_records_read_in_pages_are_all_of_them_once(store, limit):
    """However many an item has: a page never ends within one."""
    work = await store.working("a", "b", "c")
    for item, count in zip(await work.take(), (2, 1, 3), strict=True):
        rows = tuple(Record("part" if n else "page", {"n": n}) for n in range(count))
        await work.commit(handled(item, Done(rows)))
    read: list[tuple[int, int]] = []
    while True:
        after = read[-1][0] if read else 0
        rows = await store.ledger.records(work.lease.job_id, after=after, limit=limit)
        if not rows:
            break
        read += [(row.item.id, row.ordinal) for row in rows]
    assert [ordinal for _, ordinal in read] == [0, 1, 0, 0, 1, 2]
    assert len(set(read)) == 6
    parts = await store.ledger.records(work.lease.job_id, after=0, limit=9, kind="part")
    assert [row.ordinal for row in parts] == [1, 1, 2]


# -- torn tails


async def torn(store):
    """Three commits of a page each, the second one's body the target of a revisit in another segment."""
    work = await store.working("a", "b", "c", "d")
    a, b, c, d = await work.take()
    for item, body in ((a, b"one"), (b, b"two"), (c, b"three")):
        await work.commit(done(item, found(f"from-{item.id}", 1), body=body))
    heartbeat = await store.jobs.holder(work.lease.job_id)
    await store.ledger.recover(heartbeat, why="died", stalled=False, rules=None, now=NOON)
    again = Working(store, (await store.claim(await work.job())).lease)
    twin = done(d, body=b"two")
    place = Stored(
        Location(again.segment, 0, 50),
        twin.outcome.records[0].exchange.digest,
        revisit_of=Location(work.segment, 100, 100),
    )
    committed = await store.ledger.commit(
        again.lease, replace(again.batch(twin), appended=Appended(again.segment, 0, 50, 7, (place,)))
    )
    again.lease = replace(again.lease, seq=committed.seq)
    return work, again


async def test_items_whose_bytes_are_gone_are_pending_again_and_nothing_found_is_forgotten(store):
    work, again = await torn(store)
    before = (await work.job()).counters.found
    assert await store.ledger.tear(again.lease, work.segment, 100) == 3
    assert {"b", "c", "d"} <= set(await pending(again))
    assert "a" not in await pending(again)
    after = await counters(again)
    assert (after["found"], after["done"], after["bytes"]) == (before, 1, 3)
    assert [row.data["url"] for row in await store.ledger.records(work.lease.job_id, after=0, limit=9)] == [
        found("a").url
    ]
    await again.honest()
    segments = {s.name: (s.committed, s.synced) for s in await store.ledger.segments(work.lease.job_id)}
    assert segments[work.segment] == (100, 0)
    spans = await store.ledger.spans(work.lease.job_id, work.segment, 0)
    assert [(s.start, s.end) for s in spans if s.end > s.start] == [(0, 100)]
    assert all(checkpoint.offset <= 100 for checkpoint in await store.jobs.checkpoints(work.lease.job_id, 9))


async def test_a_tear_in_the_middle_of_a_record_takes_the_whole_record(store):
    work, again = await torn(store)
    assert await store.ledger.tear(again.lease, work.segment, 250) == 1
    assert "c" in await pending(again)
    await again.honest()


async def test_tearing_twice_is_harmless_and_so_is_tearing_nothing(store):
    work, again = await torn(store)
    assert await store.ledger.tear(again.lease, work.segment, 300) == 0
    assert await store.ledger.tear(again.lease, work.segment, 100) == 3
    assert await store.ledger.tear(again.lease, work.segment, 100) == 0
    assert await store.ledger.tear(again.lease, "no such segment", 0) == 0
    await again.honest()


async def test_a_torn_item_that_was_to_be_judged_again_is_fetched_again(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(handled(a, Done((Record("page", {"size": 1}),), (found("x", 5),))))
    await work.commit(done(await work.item("x")))
    await work.commit(handled(b, Done((Record("page", {"size": 1}),), (found("x", 1),))))
    assert await store.ledger.tear(work.lease, work.segment, 0) == 1
    assert await store.ledger.take_rejudged(work.lease, limit=9, taken=[]) == []
    assert await pending(work) == {"x": 1}
    await work.honest()


# -- what is asked about one address


async def test_an_address_leads_back_to_where_it_was_found(store):
    work = await store.working("a")
    a = await work.item("a")
    await work.commit(done(a, found("b", 1, parent=a.id), found("c", 1, parent=a.id, skip="elsewhere")))
    b = await work.item("b")
    await work.commit(done(b, found("d", 2, parent=b.id), found("c", 2, parent=b.id, skip="elsewhere")))
    d = await work.item("d")
    await work.commit(handled(d, RetryAt(NOON + 60, "timeout")))

    async def line(name: str, limit: int = 9):
        seen = await store.ledger.lineage(work.lease.job_id, found(name).fingerprint, limit=limit)
        return [
            (at.item.url.rpartition("/")[2], at.item.depth, at.status, at.reason, at.found_commit)
            for at in seen
        ]

    assert await line("a") == [("a", 0, "done", None, 0)]
    assert await line("d") == [
        ("d", 2, "pending", "timeout", 2), ("b", 1, "done", None, 1), ("a", 0, "done", None, 0)
    ]  # fmt: skip
    assert await line("d", 2) == (await line("d"))[:2]
    assert await line("c") == [("c", 1, "skipped", "elsewhere", 1), ("a", 0, "done", None, 0)]
    assert await line("nowhere") == []
    (at, *_) = await store.ledger.lineage(work.lease.job_id, found("d").fingerprint, limit=1)
    assert (at.item.attempts, at.item.parent_id, at.due_at, at.settled_commit) == (1, b.id, NOON + 60, None)


async def test_a_record_that_shares_a_body_names_whose_that_is(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    await work.commit(done(a))
    (original,) = await store.ledger.records(work.lease.job_id, after=0, limit=9)
    appended = Appended(
        original.location.segment,
        original.location.length,
        original.location.length + 50,
        crc=1,
        stored=(
            Stored(
                Location(original.location.segment, original.location.length, 50),
                original.digest,
                revisit_of=original.location,
            ),
        ),
    )
    await store.ledger.commit(work.lease, replace(batch(done(b)), appended=appended))
    first, second = await store.ledger.records(work.lease.job_id, after=0, limit=9)
    assert (first.same_as, second.same_as) == (None, a.url)


async def test_a_page_that_a_browser_showed_names_what_that_made_and_whose_it_shares(store):
    work = await store.working("a", "b", "c")
    a, b, c = await work.take()

    def shown(item):
        rendering = replace(exchange(item.url, b"<p>made"), rendering=True)
        made = Record("rendered", {"encoding": "rendered", "fetched_at": NOON}, rendering)
        return Handled(item, Done((page(item.url, b"<shell>"), made)))

    job_id = work.lease.job_id
    await work.commit(shown(a))
    (at, made) = await store.ledger.records(job_id, after=0, limit=9)
    assert (at.kind, at.rendering) == ("page", Rendering(made.location))
    assert (made.kind, made.rendering, at.body, at.shares) == ("rendered", None, made.location, None)
    assert await store.ledger.record(job_id, a.id) == at
    known = await store.ledger.originals(work.lease, [made.digest])
    assert known == {made.digest: Original(made.location, a.url, NOON, "rendered")}
    # The next one's response and rendering are the same as the first one's; its row shares the rendering.
    segment, end = made.location.segment, made.location.offset + made.location.length
    stored = tuple(
        Stored(Location(segment, end + 50 * n, 50), one.digest, revisit_of=one.location)
        for n, one in enumerate((at, made))
    )
    appended = Appended(segment, end, end + 100, crc=1, stored=stored)
    committed = await store.ledger.commit(work.lease, replace(batch(shown(b)), appended=appended))
    work.lease, work.written = replace(work.lease, seq=committed.seq), end + 100
    second = (await store.ledger.records(job_id, after=a.id, limit=9, kind="page"))[0]
    assert (second.revisit_of, second.shares, second.same_as) == (at.location, made.location, a.url)
    assert second.body == made.location
    await work.commit(done(c))
    written = await store.ledger.written(job_id, after=0, until=9, kind="page")
    assert [row.rendering is not None for row in written] == [True, True, False]


# -- reading as of a commit


async def test_what_is_read_as_of_a_commit_does_not_move(store):
    work = await store.working("a", "b")
    a, b = await work.take()
    moved = Record("page", {"size": 0, "location": found("b").url}, exchange(a.url))
    await work.commit(handled(a, Redirected((found("b"),), "http_301", (replace(moved, kind="redirect"),))))
    first = work.lease.seq
    await work.commit(done(b, found("c", 1)))
    job_id, ledger = work.lease.job_id, store.ledger
    assert [row.item.id for row in await ledger.records(job_id, after=0, limit=9, upto=first)] == [a.id]
    assert [row.item.id for row in await ledger.records(job_id, after=0, limit=9, upto=first + 1)] == [
        a.id,
        b.id,
    ]
    keys = [found(name).fingerprint for name in ("a", "b", "c", "nowhere")]
    assert await ledger.addressed(job_id, keys, run=1, upto=first) == {
        keys[0]: ("redirect", dict(moved.data))
    }
    now = await ledger.addressed(job_id, keys, run=1, upto=first + 1)
    assert {key: kind for key, (kind, _) in now.items()} == {keys[0]: "redirect", keys[1]: "page"}
    assert now[keys[1]][1]["url"] == found("b").url
