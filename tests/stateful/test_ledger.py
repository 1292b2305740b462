"""A store against the model, step by step in every order that Hypothesis can think of.

HOLDFAST_STATEFUL_EXAMPLES makes it think longer (40 stories of 50 steps by default).
"""

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.contract.stores import OPENERS, Home, Working, fork, roll_back
from tests.kit.builders import found, new_job, page
from tests.kit.clock import NOON
from tests.kit.revisions import revised
from tests.stateful.model import DUE_CAP_S, MAX_RECOVERIES, MAX_STALLS, Bytes, Model, Row

from holdfast.domain.checkpoint import CheckpointReason
from holdfast.domain.commit import Appended, Ending, Location, Stored, Streamed
from holdfast.domain.errors import LeaseLost
from holdfast.domain.failures import Which
from holdfast.domain.item import (
    Consulted,
    Done,
    Failed,
    Handled,
    Item,
    Redirected,
    Rejudged,
    RetryAt,
    Skipped,
)
from holdfast.domain.job import Limits
from holdfast.domain.lease import Heartbeat, Standing
from holdfast.domain.recovery import Recovery
from holdfast.domain.states import Action, Status
from holdfast.ports.segments import Exchange
from holdfast.stores.sqlite import slices

PATHS = [f"{host}p{n}" for host in ("", "one/", "two/") for n in range(4)]
LATER = ["p9", "one/p9"]
"""What is for the second phase, on hosts that have something for the first."""
OUTSIDE = ["out/x0", "out/x1"]
BODIES = [b"one", b"other", b"a third"]
ENDINGS = {
    Action.COMPLETE: "completed",
    Action.FAIL: "failed",
    Action.PAUSE: "paused",
    Action.TIME_OUT: "timeout",
    Action.RELEASE: "pending",
}
RULES = Recovery(MAX_RECOVERIES, MAX_STALLS)


class Ledger(RuleBasedStateMachine):
    """One job, its workers dead and alive, and what should be true of it."""

    kind = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.where = Path(tempfile.mkdtemp(prefix="holdfast-"))
        self.runner = asyncio.Runner()
        self.home = Home(self.kind, self.where, [])
        self.store = self.home.open()
        self.model = Model()
        self.now = NOON
        self.current: Working | None = None
        self.hand: dict[int, Item] = {}
        self.zombies: list[Working] = []
        self.sightings: list[Heartbeat] = []
        self.epoch = 0

    def run(self, story):
        return self.runner.run(story)

    def teardown(self) -> None:
        for store in self.home.opened:
            self.run(store.close())
        self.runner.close()
        shutil.rmtree(self.where)

    @property
    def status(self) -> str:
        return self.model.status

    def drop(self) -> None:
        """The worker doesn't hold the chunk any more, though it may not know."""
        self.hand.clear()
        if self.current is not None:
            self.zombies.append(self.current)
            self.current = None

    # -- jobs

    @initialize(
        seeds=st.sets(st.sampled_from(PATHS), min_size=1, max_size=3), depth=st.sampled_from([None, 1, 3])
    )
    def submit(self, seeds, depth) -> None:
        self.seeds = [found(path) for path in sorted(seeds)]
        new = new_job(limits=Limits(max_depth=depth))
        self.job_id = self.run(self.store.submit(*self.seeds, new=new)).id
        self.model.max_depth = depth
        self.model.seed(*self.seeds)

    def at_work(self) -> Working:
        """A claim, whatever it takes: Hypothesis would else tell many stories in which nothing is done."""
        if self.status == "cancelled":
            self.restart()
        elif self.status not in {"pending", "in_progress"}:
            self.go_on()
        if self.current is None:
            self.claim()
        assert self.current is not None
        return self.current

    # -- claims

    def claim(self) -> None:
        claim = self.run(self.store.ledger.claim(self.job_id, "here/1/aa", now=self.now))
        if self.status != "pending":
            assert claim is None
            return
        assert claim is not None
        assert (claim.recovered, claim.marked_deaths) == (self.model.recovered, self.model.deaths)
        marked = self.model.pages.get(self.model.marked or "")
        expected = marked.url if marked is not None and marked.status == "pending" else None
        assert (claim.marked.url if claim.marked else None) == expected
        if self.current is None and not self.zombies:
            assert claim.lease.epoch == 1
        assert claim.lease.epoch > self.epoch or claim.lease.run > 1
        self.epoch = claim.lease.epoch
        self.drop()
        self.current = Working(self.store, claim.lease)
        self.model.claim()
        self.sightings += self.run(self.store.ledger.heartbeats())
        assert self.sightings[-1].epoch == self.epoch

    @rule(stalled=st.booleans(), person=st.booleans(), forgotten=st.booleans())
    def the_worker_dies(self, stalled, person, forgotten) -> None:
        self.at_work()
        if forgotten:
            self.another_process_looks()
        holder = self.run(self.store.jobs.holder(self.job_id))
        status = self.run(
            self.store.ledger.recover(
                holder, why="gone", stalled=stalled, rules=None if person else RULES, now=self.now
            )
        )
        assert status == self.model.take_back(stalled=stalled, person=person)
        self.drop()

    def another_process_looks(self) -> None:
        """All memory is gone; the worker's own lease with it, or not."""
        self.run(self.store.close())
        self.store = self.home.open()
        for worker in [*self.zombies, *([self.current] if self.current else [])]:
            worker.store = self.store

    @precondition(lambda self: self.sightings)
    @rule(data=st.data())
    def take_back_late(self, data) -> None:
        """By what was seen long ago."""
        seen = data.draw(st.sampled_from(self.sightings))
        if self.current and (seen.chunk_id, seen.epoch) == (
            self.current.lease.chunk_id,
            self.current.lease.epoch,
        ):
            return
        recover = self.store.ledger.recover(seen, why="gone", stalled=False, rules=RULES, now=self.now)
        assert self.run(recover) is None

    @rule(data=st.data(), waits=st.sampled_from([None, 100.0]))
    def hold(self, data, waits) -> None:
        """Items in hand, one of them named, the lease renewed; nothing is committed yet."""
        work = self.at_work()
        self.claim()
        self.take()
        until = None if waits is None else self.now + waits
        self.run(self.store.ledger.renew(work.lease, Standing(work.lease.seq, waiting_until=until)))
        assert self.run(self.store.ledger.wish(work.lease)) == self.model.desired
        items = self.run(work.take())
        if items and data.draw(st.booleans()):
            item = data.draw(st.sampled_from(items))
            self.run(self.store.ledger.mark(self.current.lease, item.id))
            if self.model.marked != item.url:
                self.model.marked, self.model.deaths = item.url, 0
            self.model.marked_now = True

    # -- work

    def take(self) -> None:
        """Everything that could be handled now must be what the model says, but for what is in hand already."""
        lease, ledger, taken = self.current.lease, self.store.ledger, list(self.hand)
        stage = self.current.stage
        ready = self.run(self.current.take(taken))
        due = self.run(
            ledger.take_due(
                lease, now=self.now, latest=self.now + DUE_CAP_S, limit=99, taken=taken, stage=stage
            )
        )
        next_due = self.run(ledger.next_due(lease, now=self.now, stage=stage))
        assert next_due == self.model.next_due(self.now, stage)
        again = self.run(ledger.take_rejudged(lease, limit=99, taken=taken))
        outside = self.run(ledger.outside(self.job_id, after=0, limit=99))
        assert sorted(url for _, url in outside) == self.model.urls("skipped", "external")
        held = {item.url for item in self.hand.values()}
        for items, expected in (
            (ready, self.model.ready(stage)),
            (due, self.model.due(self.now, stage)),
            (again, self.model.to_rejudge()),
        ):
            assert {item.url: item.depth for item in items} == {
                url: depth for url, depth in expected.items() if url not in held
            }
        fresh = [*ready, *due, *again]
        if self.model.rescan_of is not None:
            fresh = self.run(ledger.earlier(lease, fresh))
            known = {item.url for item in fresh if item.earlier is not None}
            assert known == {item.url for item in fresh} & self.model.known()
        assert len({item.id for item in fresh}) == len(fresh)
        self.hand |= {item.id: item for item in fresh}

    def findings(self, draw, item):
        links = draw(st.lists(st.sampled_from([*PATHS, *LATER, *OUTSIDE]), min_size=1, max_size=4))
        result = []
        for link in links:
            # Any depth: redirects and start pages make shorter ways than one step more.
            depth = draw(st.integers(0, 5))
            skip = None
            if link in OUTSIDE:
                skip = "external"
            elif self.model.max_depth is not None and depth > self.model.max_depth:
                skip = "depth"
            elif draw(st.integers(0, 9)) == 0:
                skip = "nofollow"
            lastmod = draw(st.sampled_from([None, None, "2024-05-01"]))
            finding = found(link, depth, parent=item.id, skip=skip, stage=int(link in LATER))
            result.append(replace(finding, lastmod=lastmod))
        return tuple(result)

    def outcome(self, draw, item):  # noqa: PLR0911 - one for each outcome
        if item.rejudge:
            return Rejudged(self.findings(draw, item))
        record = page(item.url, draw(st.sampled_from(BODIES)))
        if item.earlier is not None and draw(st.booleans()):
            original = item.earlier.exchange
            same = Exchange(record.exchange.response, original.digest, original)
            return Done((replace(record, exchange=same),), self.findings(draw, item))
        match draw(
            st.sampled_from(["done", "done", "done", "redirected", "consulted", "failed", "skipped", "retry"])
        ):
            case "done":
                return Done((record,), self.findings(draw, item))
            case "redirected":
                widens = draw(st.booleans())
                return Redirected(self.findings(draw, item), "redirect", (record,), widens=widens)
            case "consulted":
                return Consulted((record,), self.findings(draw, item), reason="http_200")
            case "failed":
                return Failed("http 404", draw(st.sampled_from([(), (record,)])))
            case "skipped":
                return Skipped("robots")
            case _:
                return RetryAt(self.now + draw(st.sampled_from([0.0, 30.0, 5000.0])), "timeout")

    def appended(self, handled, draw):
        """What a segment writer would answer: bodies that are known become revisits."""
        sent = [
            (entry.item, record.exchange)
            for entry in handled
            for record in getattr(entry.outcome, "records", ())
        ]
        if not sent:
            return None, {}
        known = self.run(
            self.store.ledger.originals(self.current.lease, [exchange.digest for _, exchange in sent])
        )
        bodies = {digest: original.location for digest, original in known.items()}
        segment, start = self.current.segment, self.current.written
        stored, rows = [], {}
        offset = start
        for item, exchange in sent:
            original = exchange.original
            body = bodies.get(exchange.digest) if original is None else original.location
            length = draw(st.integers(50, 60)) if body is None else 20
            own = Location(segment, offset, length)
            stored.append(Stored(own, exchange.digest, revisit_of=body))
            if original is None:
                bodies.setdefault(exchange.digest, own)
            target = None if body is None else Bytes(body.segment, body.offset, body.offset + body.length)
            number = self.model.commits + 1
            rows[item.url] = Row(Bytes(segment, offset, offset + length), target, number)
            offset += length
        return Appended(segment, start, offset, crc=offset, stored=tuple(stored)), rows

    @rule(data=st.data(), seconds=st.sampled_from([1.0, 60.0, 3600.0, -3600.0]))
    def work(self, data, seconds) -> None:
        """Most of what a worker does; time passes, or jumps."""
        self.now += seconds
        self.at_work().stage = data.draw(st.integers(0, 1))
        for _ in range(3):
            self.take()
            self.write(data, None)

    @rule(data=st.data(), ending=st.sampled_from([None, *ENDINGS]))
    def end(self, data, ending) -> None:
        """The last commit of a claim, or one of what is in hand for long."""
        self.at_work()
        self.write(data, ending)

    def write(self, data, ending) -> None:
        chosen = []
        if self.hand:
            few = min(2, len(self.hand))
            some = st.lists(st.sampled_from(sorted(self.hand)), unique=True, min_size=few, max_size=5)
            chosen = [self.hand.pop(item_id) for item_id in data.draw(some)]
        handled = tuple(Handled(item, self.outcome(data.draw, item)) for item in chosen)
        appended, rows = self.appended(handled, data.draw)
        prepared = self.current.batch(reason=CheckpointReason.ITEMS, at=self.now)
        noted = Streamed("rows", self.model.commits, 7 * self.model.commits, 1, len(self.model.rows))
        noted = data.draw(st.sampled_from([None, noted]))
        prepared = replace(
            prepared,
            handled=handled,
            appended=appended,
            streamed=noted,
            ending=None if ending is None else Ending(ending, "because"),
        )
        committed = self.run(self.store.ledger.commit(self.current.lease, prepared))
        self.current.lease = replace(self.current.lease, seq=committed.seq)
        assert committed.desired == self.model.desired
        model = self.model
        model.commits += 1
        model.numbers.append(model.commits)
        assert committed.number == model.commits
        for entry in handled:
            model.handle(entry.item, entry.outcome)
        model.discover([link for entry in handled for link in getattr(entry.outcome, "found", ())])
        model.rows |= rows
        model.streamed = noted or model.streamed
        if any(getattr(entry.outcome, "widens", False) for entry in handled):
            model.widen()
        if appended is not None:
            self.current.written = appended.end
            model.segments[appended.segment] = appended.end
            model.spans.append((model.commits, appended.segment, appended.end))
        if handled:
            model.progress()
        if ending is not None:
            wished = model.desired == "pause" and ending is Action.RELEASE
            model.status, model.desired = "paused" if wished else ENDINGS[ending], None
            self.drop()

    @precondition(lambda self: self.zombies)
    @rule(data=st.data(), ends=st.booleans())
    def a_zombie_writes(self, data, ends) -> None:
        zombie = data.draw(st.sampled_from(self.zombies))
        ending = Ending(Action.COMPLETE) if ends else None
        with pytest.raises(LeaseLost):
            self.run(self.store.ledger.commit(zombie.lease, zombie.batch(ending=ending)))
        with pytest.raises(LeaseLost):
            self.run(self.store.ledger.renew(zombie.lease, Standing(zombie.lease.seq)))
        with pytest.raises(LeaseLost):
            self.run(self.store.ledger.mark(zombie.lease, 1))
        with pytest.raises(LeaseLost):
            self.run(self.store.ledger.tear(zombie.lease, zombie.segment, 0))

    @precondition(lambda self: self.model.segments or self.model.lent)
    @rule(data=st.data())
    def tear(self, data) -> None:
        """Nothing of the claim's own is torn: repair comes first."""
        self.at_work()
        lengths = self.model.lent | self.model.segments
        others = [name for name in sorted(lengths) if name != self.current.segment]
        if not others:
            return
        self.hand.clear()
        segment = data.draw(st.sampled_from(others))
        good = data.draw(st.integers(0, lengths[segment]))
        assert self.run(self.store.ledger.tear(self.current.lease, segment, good)) == self.model.tear(
            segment, good
        )

    # -- wishes

    @precondition(lambda self: self.status == "in_progress")
    @rule(lives=st.booleans())
    def pause(self, lives) -> None:
        dead = None if lives else self.run(self.store.jobs.holder(self.job_id))
        self.run(self.store.jobs.pause(self.job_id, now=self.now, dead=dead))
        if lives:
            self.model.desired = "pause"
        else:
            self.model.status, self.model.desired = "paused", None
            self.drop()

    @precondition(lambda self: self.status not in {"completed", "cancelled"} and len(self.model.pages) > 3)
    @rule()
    def cancel(self) -> None:
        self.run(self.store.jobs.cancel(self.job_id, now=self.now))
        self.model.status, self.model.desired = "cancelled", None
        self.drop()

    def go_on(self) -> None:
        if self.status != "completed":
            self.run(self.store.jobs.resume(self.job_id, now=self.now))
            self.model.resume()
        else:
            self.run(self.store.jobs.extend(self.job_id, now=self.now))
            self.model.resume()

    @precondition(lambda self: self.model.urls("failed"))
    @rule(
        data=st.data(),
        where=st.sampled_from([[], ["reason=poison"], ["host=site"]]),
        size=st.sampled_from([1, 3, 10_000]),
    )
    def retry(self, data, where, size) -> None:
        if self.status not in {"paused", "completed", "failed"}:
            self.at_work()
            self.write(data, Action.PAUSE)
        whole, slices.SLICE = slices.SLICE, size
        count = self.run(self.store.jobs.retry(self.job_id, Which.asked(where), now=self.now))
        slices.SLICE = whole
        assert count == self.model.retry(Which.asked(where))

    @precondition(lambda self: self.status not in {"pending", "in_progress"})
    @rule()
    def restart(self) -> None:
        self.run(self.store.jobs.restart(self.job_id, self.seeds, phase="queued", now=self.now))
        self.drop()
        self.model.restart(*self.seeds)
        self.epoch = 0

    # -- runs

    def in_slices(self, size, story):
        whole, slices.SLICE = slices.SLICE, size
        result = self.run(story)
        slices.SLICE = whole
        return result

    @precondition(lambda self: self.model.urls("done"))
    @rule(data=st.data(), keep=st.integers(2, 3), size=st.sampled_from([1, 3, 10_000]))
    def rescan(self, data, keep, size) -> None:
        """Some of what was written may not be whole any more."""
        if self.status != "completed":
            self.at_work()
            self.write(data, Action.COMPLETE)
        segments = self.run(self.store.ledger.segments(self.job_id))
        whole = {
            each.name: each.committed - data.draw(st.sampled_from([0, 0, 60]))
            for each in segments
            if each.committed > 60
        }
        whole = {each.name: whole.get(each.name, each.committed) for each in segments}
        begin = self.store.jobs.rescan(
            self.job_id, self.seeds, whole, keep=keep, phase="queued", now=self.now
        )
        self.run(begin)
        self.in_slices(size, self.store.jobs.finish_change(self.job_id))
        self.drop()
        self.model = self.model.rescan(self.seeds, whole, keep)
        self.epoch = 0

    def a_commit(self, data) -> int:
        runs = self.model.all_runs().values()
        return data.draw(st.sampled_from(sorted({number for run in runs for number in run.numbers})))

    @precondition(lambda self: self.status != "in_progress" and self.model.numbers)
    @rule(data=st.data(), size=st.sampled_from([1, 3, 10_000]))
    def roll_back(self, data, size) -> None:
        number = self.a_commit(data)
        self.in_slices(size, roll_back(self.store, self.job_id, number))
        self.drop()
        self.model = self.model.roll_back(number)
        self.epoch = 0

    @precondition(lambda self: self.status != "in_progress" and self.model.numbers)
    @rule(data=st.data(), size=st.sampled_from([1, 3, 10_000]))
    def fork(self, data, size) -> None:
        """It is what it should be, and the job that it was made from is untouched."""
        number = self.a_commit(data)
        fork_id = self.in_slices(size, fork(self.store, self.job_id, number))
        model = self.model.roll_back(number)
        job = self.run(self.store.ledger.job(fork_id))
        assert (job.status, job.commit_no, job.run) == (Status.PAUSED, number, 1)
        self.stands_as(fork_id, 1, model)
        self.run(self.store.jobs.remove(fork_id))

    def stands_as(self, job_id, run, model) -> None:
        """A run of a job is what the model says."""
        jobs, ledger = self.store.jobs, self.store.ledger
        assert self.run(ledger.discrepancies(job_id, run=run)) == []
        tallies = self.run(jobs.tallies(job_id, run=run))
        assert {(tally.status, tally.reason): tally.count for tally in tallies} == model.tallies()
        records = self.run(ledger.records(job_id, after=0, limit=999, run=run))
        places = {row.item.url: (row.location, row.revisit_of) for row in records}
        assert places == {url: (_place(row.own), _place(row.body)) for url, row in model.rows.items()}
        segments = self.run(ledger.segments(job_id, run=run))
        assert {each.name: each.committed for each in segments if not each.lent} == model.segments
        assert {each.name: each.committed for each in segments if each.lent} == model.lent
        commits = self.run(ledger.commits(job_id, after=0, limit=9999, run=run))
        assert [commit.number for commit in commits] == model.numbers

    @invariant()
    def earlier_runs_stay_as_they_ended(self) -> None:
        if not self.model.pages:
            return
        assert [run.number for run in self.run(self.store.jobs.runs(self.job_id))] == sorted(
            self.model.all_runs()
        )
        for number, model in self.model.earlier.items():
            self.stands_as(self.job_id, number, model)
            job = self.run(self.store.jobs.of_run(self.job_id, number))
            assert (job.status, job.commit_no) == (Status(model.status), model.commits)

    @precondition(lambda self: self.status != "in_progress")
    @rule(max_depth=st.sampled_from([None, 0, 1, 2, 4]), size=st.sampled_from([1, 3, 10_000]))
    def bound(self, max_depth, size) -> None:
        job = self.run(self.store.ledger.job(self.job_id))
        whole, slices.SLICE = slices.SLICE, size
        self.run(revised(self.store, job, replace(job.limits, max_depth=max_depth)))
        slices.SLICE = whole
        self.model.bound(max_depth)

    # -- what holds after each step

    @invariant()
    def the_ledger_agrees_with_itself_and_with_the_model(self) -> None:
        if not self.model.pages:
            return
        model, jobs, ledger = self.model, self.store.jobs, self.store.ledger
        assert self.run(ledger.discrepancies(self.job_id)) == []
        job = self.run(ledger.job(self.job_id))
        assert (job.status, job.desired, job.run) == (Status(model.status), model.desired, model.run)
        data = self.run(jobs.checkpoint_data(self.job_id))
        assert sorted(data.pages_visited) == model.urls("done")
        assert sorted(data.pages_queued) == model.urls("pending")
        assert sorted(data.external_links_found) == model.urls("skipped", "external")
        tallies = self.run(jobs.tallies(self.job_id))
        assert {(tally.status, tally.reason): tally.count for tally in tallies} == model.tallies()
        by_sort: Counter[tuple[str, str]] = Counter()
        for sort in self.run(jobs.sorts(self.job_id, deepest=99)):
            by_sort[sort.status, sort.reason] += sort.count
        assert by_sort == model.tallies()
        counters = job.counters
        assert counters.found == len(model.pages), "each address is one item, and none is forgotten"
        assert counters.failed == len(model.urls("failed"))
        assert counters.redirected == len(model.urls("redirected"))
        assert counters.consulted == len(model.urls("consulted"))

    @invariant()
    def each_record_stands_once_and_where_it_should(self) -> None:
        if not self.model.pages:
            return
        records = self.run(self.store.ledger.records(self.job_id, after=0, limit=999))
        assert sorted(row.item.url for row in records) == sorted(self.model.rows)
        for row in records:
            expected = self.model.rows[row.item.url]
            assert row.location == _place(expected.own)
            assert row.revisit_of == _place(expected.body)
            assert row.item.depth == self.model.pages[row.item.url].depth
            assert row.status == self.model.pages[row.item.url].status
            assert row.item.lastmod == self.model.pages[row.item.url].lastmod
        number, ledger = self.model.commits, self.store.ledger
        written = self.run(ledger.written(self.job_id, after=0, until=number, kind="page"))
        assert sorted(row.item.url for row in written) == sorted(self.model.rows)
        assert self.run(ledger.written(self.job_id, after=number, until=number + 9, kind="page")) == []
        assert self.run(ledger.streamed(self.job_id, "rows")) == self.model.streamed
        segments = self.run(self.store.ledger.segments(self.job_id))
        assert {segment.name: segment.committed for segment in segments if not segment.lent} == (
            self.model.segments
        )
        assert {segment.name: segment.committed for segment in segments if segment.lent} == self.model.lent


def _place(span: Bytes | None) -> Location | None:
    return None if span is None else Location(span.segment, span.start, span.end - span.start)


def machine(kind: str) -> type[RuleBasedStateMachine]:
    """The machine on a store of that kind."""
    return type(f"Ledger_{kind}", (Ledger,), {"kind": kind})


NORMAL = 40
EXAMPLES = int(os.environ.get("HOLDFAST_STATEFUL_EXAMPLES", NORMAL))


@pytest.mark.parametrize("kind", sorted(OPENERS))
@pytest.mark.timeout(0 if EXAMPLES > NORMAL else 180)
def test_a_store_does_what_the_model_says(kind):
    case = machine(kind).TestCase
    case.settings = settings(
        max_examples=EXAMPLES,
        stateful_step_count=50,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        # A story made short takes minutes; whoever has the time sets the variable.
        phases=[phase for phase in Phase if EXAMPLES > NORMAL or phase is not Phase.shrink],
        print_blob=False,
    )
    case("runTest").runTest()
