"""What is held for each host, and for all together: budgets, one pace for what is one machine, the cap on requests."""

import itertools
import random
from collections import Counter

import pytest
from tests.kit.builders import found, new_job, page
from tests.kit.fakes import rigged
from tests.kit.revisions import revised

from holdfast.domain.item import Done, Failed, Redirected, RetryAt
from holdfast.domain.job import Limits, Pace
from holdfast.domain.states import Action
from holdfast.engine import frontier
from holdfast.ports.pipeline import HostPace


def names(host, count):
    return [f"{host}/p{n}" for n in range(count)]


async def tallied(rig):
    """Items by status and reason."""
    return {(one.status, one.reason): one.count for one in await rig.jobs.tallies((await rig.job()).id)}


async def pages_by_host(rig):
    rows = await rig.ledger.records((await rig.job()).id, after=0, limit=9999, kind="page")
    return Counter(row.item.host for row in rows)


@pytest.mark.parametrize("budget", [1, 3, 10, 25])
async def test_each_host_gives_exactly_its_pages_and_the_rest_is_kept_as_skipped(leap, tmp_path, budget):
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 0.1
        limits = Limits(host_pages=budget)
        await rig.submit(*names("big", 40), *names("small", 2), new=new_job(limits=limits))
        assert (await rig.work()).action is Action.COMPLETE
        assert await pages_by_host(rig) == {"http://big": budget, "http://small": min(2, budget)}
        assert len(rig.site.started) == budget + min(2, budget), "nothing was asked for beyond"
        left = 42 - budget - min(2, budget)
        assert (await tallied(rig))["skipped", "host_budget"] == left


async def test_a_slot_is_given_back_by_whatever_gives_no_page(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        later = lambda _: RetryAt(leap.wall() + 60.0, "timeout")  # noqa: E731
        rig.site.takes_s = 0.1
        rig.site.behaviours |= {
            "big/p0": lambda item: Redirected((found("big/there", 0, item.id),), "http_301"),
            "big/p1": lambda _: Failed("http_404"),
            "big/p2": [later, lambda item: Done((page(item.url),))],
        }
        await rig.submit(*names("big", 9), new=new_job(limits=Limits(host_pages=4)))
        await rig.work()
        assert await pages_by_host(rig) == {"http://big": 4}
        assert len(rig.site.started) <= 4 + 3


async def test_what_is_over_budget_waits_for_no_pace_and_meets_no_host(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=1, delay_s=60.0)
        began = leap.monotonic()
        await rig.submit(*names("big", 400), new=new_job(limits=Limits(host_pages=3)))
        await rig.work()
        assert leap.monotonic() - began < 3 * 60.0
        assert (await tallied(rig))["skipped", "host_budget"] == 397


async def test_a_host_is_left_alone_once_its_pages_have_come_to_so_many_bytes(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        for name in names("big", 30):
            rig.site.behaviours[name] = lambda item: Done((page(item.url, size=1000),))
        await rig.submit(*names("big", 30), new=new_job(limits=Limits(host_bytes=9_500)))
        await rig.work()
        done = (await pages_by_host(rig))["http://big"]
        assert 10 <= done < 10 + 4, "what was in flight is kept"


async def test_a_budget_counts_over_claims_and_comes_back_when_it_is_raised(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        await rig.submit(*names("big", 40), new=new_job(limits=Limits(host_pages=7, max_pages=5)))
        await rig.work()
        job = await rig.job()
        for limits, pages in ((Limits(host_pages=7), 7), (Limits(host_pages=12), 12), (Limits(), 40)):
            await rig.jobs.extend(job.id, now=leap.wall())
            await revised(rig, job, limits, readmitted=frozenset({"host_budget"}))
            await rig.work()
            assert (await rig.job()).counters.done == pages
        assert sorted(rig.site.paths) == sorted(names("big", 40))


@pytest.mark.parametrize("seed", range(8))
async def test_budgets_are_exact_however_luck_has_it_and_however_little_fits_in_memory(
    leap, tmp_path, monkeypatch, seed
):
    monkeypatch.setattr(frontier, "MAX_HOSTS", 5)
    monkeypatch.setattr(frontier, "TURN", 3)
    chance = random.Random(seed)
    async with rigged(tmp_path, leap) as rig:
        rig.site.takes_s = 0.05
        paths = [path for host in range(12) for path in names(f"h{host}", chance.randrange(1, 30))]

        def fickle(item):
            if chance.random() < 0.3:
                return chance.choice([Failed("x"), RetryAt(leap.wall() + 5.0, "y")])
            return Done((page(item.url),))

        rig.site.behaviours = dict.fromkeys(paths, fickle)
        await rig.submit(*paths, new=new_job(limits=Limits(host_pages=6)))
        assert (await rig.work()).action is Action.COMPLETE
        kept = await pages_by_host(rig)
        failed = Counter()
        for row in await rig.jobs.hosts((await rig.job()).id, 99):
            failed[row.name] = row.settled
        asked = Counter(path.split("/")[0] for path in paths)
        for host, total in asked.items():
            assert kept[f"http://{host}"] <= min(6, total)
            assert failed[f"http://{host}"] == total, "every item of every host is settled"


# -- one machine


async def test_http_and_https_of_a_host_share_its_pace(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        pace = HostPace(per_host=1, delay_s=5.0, machine="one")
        rig.site.paces = {"http://a": pace, "http://b": pace}
        rig.site.pace = HostPace(per_host=1, delay_s=5.0)
        await rig.submit(*names("a", 4), *names("b", 4), *names("c", 4))
        await rig.work()
        shared = [at for path, at in rig.site.started if path[0] in "ab"]
        assert min(later - earlier for earlier, later in itertools.pairwise(shared)) >= 5.0
        turns = [path[0] for path, _ in rig.site.started if path[0] in "ab"]
        assert all(one != next_one for one, next_one in itertools.pairwise(turns))
        alone = [at for path, at in rig.site.started if path[0] == "c"]
        assert alone[-1] - alone[0] < 16.0


async def test_no_more_at_once_on_a_machine_than_on_a_host(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=2, delay_s=0.0, machine="one")
        rig.site.takes_s = 1.0
        await rig.submit(*names("a", 6), *names("b", 6), new=new_job(pace=Pace(16, 2, 0.0)))
        await rig.work()
        assert rig.site.most_in_flight == 2
        assert (await rig.job()).counters.done == 12


async def test_a_wish_to_be_left_alone_holds_for_the_whole_machine(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=1, delay_s=0.0, machine="one")
        rig.site.takes_s = 0.1
        rest = lambda _: RetryAt(leap.wall() + 300.0, "http_429", leap.wall() + 300.0)  # noqa: E731
        rig.site.behaviours["a/p0"] = [rest, lambda item: Done((page(item.url),))]
        await rig.submit(*names("a", 2), *names("b", 9))
        await rig.work()
        told = next(at for path, at in rig.site.started if path == "a/p0") + rig.site.takes_s
        later = [at for _, at in rig.site.started if at >= told]
        assert len(later) >= 2
        assert min(later) >= told + 300.0


# -- the cap on requests in all


@pytest.mark.parametrize("rate", [0.5, 3.0, 40.0, 1000.0])
async def test_never_more_requests_in_any_second_than_the_cap(leap, tmp_path, rate):
    async with rigged(tmp_path, leap) as rig:
        hosts = [name for host in range(20) for name in names(f"h{host}", 4)]
        await rig.submit(*hosts, new=new_job(pace=Pace(16, 4, 0.0, max_rate=rate)))
        began = leap.monotonic()
        asked = []
        meet = rig.site.meet

        async def noted(host):
            asked.append(leap.monotonic())
            return await meet(host)

        rig.site.meet = noted
        assert (await rig.work()).action is Action.COMPLETE
        times = sorted([at for _, at in rig.site.started] + asked)
        assert len(times) == 100, "80 pages, and 20 hosts that were met"
        most = max(sum(start <= at < start + 1.0 for at in times) for start in times)
        assert most <= max(rate * 1.05, 1)
        assert leap.monotonic() - began < 1.2 * 100 / rate + 1.0, "and it is reached"


async def test_learning_a_hosts_pace_without_a_request_takes_none_from_the_cap(leap, tmp_path):
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=4, delay_s=0.0, asked=False)
        await rig.submit(*(f"h{n}/p" for n in range(20)), new=new_job(pace=Pace(16, 4, 0.0, max_rate=1.0)))
        began = leap.monotonic()
        await rig.work()
        assert leap.monotonic() - began < 21.0


# -- more hosts than places


async def test_a_long_host_gives_its_place_to_others_and_comes_back(leap, tmp_path, monkeypatch):
    monkeypatch.setattr(frontier, "MAX_HOSTS", 4)
    monkeypatch.setattr(frontier, "TURN", 5)
    async with rigged(tmp_path, leap) as rig:
        rig.site.pace = HostPace(per_host=1, delay_s=1.0)
        await rig.submit(*(path for host in range(12) for path in names(f"h{host}", 40)))
        began = leap.monotonic()
        assert (await rig.work()).action is Action.COMPLETE
        assert sorted(rig.site.paths) == sorted(set(rig.site.paths))
        assert len(rig.site.paths) == 480
        first = {}
        for path, at in rig.site.started:
            first.setdefault(path.split("/")[0], at - began)
        assert max(first.values()) < 60.0, "one after the other the last host would begin after 80 s"


async def test_hosts_that_sleep_for_hours_take_no_place_from_those_that_wait_for_one(
    leap, tmp_path, monkeypatch
):
    monkeypatch.setattr(frontier, "MAX_HOSTS", 4)
    async with rigged(tmp_path, leap) as rig:
        rest = lambda _: RetryAt(leap.wall() + 7200.0, "http_429", leap.wall() + 7200.0)  # noqa: E731
        for host in range(6):
            rig.site.behaviours[f"h{host}/p0"] = [rest, lambda item: Done((page(item.url),))]
        await rig.submit(*(path for host in range(12) for path in names(f"h{host}", 3)))
        began = leap.monotonic()
        assert (await rig.work()).action is Action.COMPLETE
        assert (await rig.job()).counters.done == 36
        awake = [at - began for path, at in rig.site.started if int(path.split("/")[0][1:]) >= 6]
        assert max(awake) < 120.0
        slept = [at - began for path, at in rig.site.started if int(path.split("/")[0][1:]) < 6]
        assert sum(at >= 7200.0 for at in slept) >= 6
