"""Lanes in turn: no host waits behind another, none is pushed, nothing is handed out twice, memory is bounded."""

import random

import pytest
from tests.kit.clock import NOON

from holdfast.domain.commit import HostQueue
from holdfast.domain.item import Item
from holdfast.engine import frontier as module
from holdfast.engine.frontier import DUE_CAP_S, Frontier
from holdfast.ports.pipeline import HostPace

FREE = HostPace(per_host=1000, delay_s=0.0)


def item(host: int, n: int) -> Item:
    return Item(host * 1000 + n, f"http://h{host}/{n}", host, f"http://h{host}", 0)


def hosts(count, due_at=None):
    return [HostQueue(n, f"http://h{n}", 10, due_at) for n in range(1, count + 1)]


def stocked(host_count=3, items=4, pace=FREE, *, now=0.0) -> Frontier:
    """A frontier with that many hosts, met, each with so many items and no more in the ledger."""
    frontier = Frontier()
    frontier.welcome(hosts(host_count), now=now, wall=NOON)
    for n in range(1, host_count + 1):
        lane = frontier.lane(n)
        frontier.filling()
        frontier.fill(lane, [item(n, m) for m in range(items)], asked=items + 1)
        frontier.met(lane, pace)
    return frontier


def drain(frontier, now=0.0):
    taken = []
    while (one := frontier.next(now)) is not None:
        taken.append(one)
    return taken


def test_hosts_take_turns():
    taken = drain(stocked(3, 4))
    assert [one.host_id for one in taken] == [1, 2, 3] * 4
    for host in (1, 2, 3):
        assert [one.id for one in taken if one.host_id == host] == [host * 1000 + m for m in range(4)]


def test_a_slow_host_holds_up_no_other():
    frontier = stocked(2, 3)
    frontier.repace(1, HostPace(per_host=1, delay_s=60.0))
    assert [one.host_id for one in drain(frontier)] == [1, 2, 2, 2]


def test_an_unmet_host_is_asked_nothing():
    frontier = stocked(1, 2)
    frontier.put(item(2, 1), now=0.0)
    assert {one.host_id for one in drain(frontier)} == {1}
    stranger = frontier.stranger(0.0)
    assert stranger is frontier.lane(2)
    assert frontier.stranger(0.0) is None, "it is being met"
    assert frontier.next(0.0) is None
    frontier.met(stranger, FREE)
    assert frontier.next(0.0) == item(2, 1)


def test_no_more_than_so_many_at_once_on_a_host():
    frontier = stocked(1, 5, HostPace(per_host=2, delay_s=0.0))
    first = drain(frontier)
    assert len(first) == 2
    frontier.finished(first[0])
    assert len(drain(frontier)) == 1


def test_the_delay_lies_between_two_starts():
    frontier = stocked(1, 3, HostPace(per_host=9, delay_s=2.0))
    assert len(drain(frontier, 10.0)) == 1
    assert len(drain(frontier, 11.9)) == 0
    assert frontier.wake_at(11.9) == 12.0
    assert not frontier.woken(11.9)
    assert frontier.woken(12.0)
    assert len(drain(frontier, 12.0)) == 1


def test_a_host_that_was_let_go_comes_back_with_its_clock_and_its_pace():
    frontier = stocked(1, 1, HostPace(per_host=1, delay_s=0.5))
    (one,) = drain(frontier, 10.0)
    frontier.finished(one)
    frontier.release(one)
    assert frontier.lane(1) is None
    frontier.welcome(hosts(1), now=10.1, wall=NOON)
    lane = frontier.lane(1)
    assert (lane.next_start, lane.pace) == (10.5, HostPace(1, 0.5))


def test_a_due_item_waits_for_its_hosts_clock_too():
    frontier = stocked(1, 1, HostPace(per_host=1, delay_s=5.0))
    (one,) = drain(frontier, 10.0)
    frontier.finished(one)
    frontier.release(one)
    frontier.put(item(1, 7), now=11.0)
    assert drain(frontier, 14.9) == []
    assert drain(frontier, 15.0) == [item(1, 7)]


@pytest.mark.parametrize(("due_in", "waits"), [(-50.0, 0.0), (30.0, 30.0), (1e9, DUE_CAP_S)])
def test_a_stored_due_time_is_kept_but_never_believed_beyond_its_cap(due_in, waits):
    frontier = Frontier()
    frontier.welcome(hosts(1, NOON + due_in), now=100.0, wall=NOON)
    assert frontier.lane(1).next_start == pytest.approx(100.0 + waits)


def test_a_held_host_waits_and_is_never_released_early():
    frontier = stocked(1, 2)
    frontier.hold_host(1, 50.0)
    frontier.hold_host(1, 20.0)
    assert drain(frontier, 49.9) == []
    assert len(drain(frontier, 50.0)) == 2


def test_due_times_are_worth_a_row_from_a_second_on():
    frontier = stocked(3, 1)
    frontier.hold_host(1, 0.9)
    frontier.hold_host(2, 7.0)
    assert frontier.due_times(now=0.0, wall=NOON, since=[1, 2, 99]) == {2: NOON + 7.0}


def test_what_is_in_memory_already_is_not_filled_in_twice():
    frontier = stocked(1, 3)
    lane = frontier.lane(1)
    frontier.filling()
    frontier.fill(lane, [item(1, m) for m in range(3)], asked=3)
    assert len(drain(frontier)) == 3


def test_an_answer_that_crosses_with_a_commit_brings_nothing_back():
    """Asked before the commit, answered after it: the item stands in the answer and is settled by now."""
    frontier = stocked(1, 2)
    one, two = drain(frontier)
    frontier.filling()
    frontier.finished(one)
    frontier.release(one)
    frontier.fill(frontier.lane(1), [one, two, item(1, 5)], asked=9)
    assert drain(frontier) == [item(1, 5)]


def test_a_last_item_that_is_committed_while_the_ledger_is_asked_for_more_takes_its_host_along():
    frontier = stocked(1, 1)
    (one,) = drain(frontier)
    lane = frontier.lane(1)
    frontier.filling()
    frontier.finished(one)
    frontier.release(one)
    frontier.fill(lane, [], asked=9)
    assert frontier.lane(1) is None


def test_a_suspect_goes_to_the_head_of_everything_and_a_due_item_behind_what_waits():
    frontier = stocked(3, 2)
    frontier.put(item(3, 9), now=0.0, first=True)
    frontier.put(item(2, 9), now=0.0)
    taken = drain(frontier)
    assert taken[0] == item(3, 9)
    assert [one.id for one in taken if one.host_id == 2] == [2000, 2001, 2009]


def test_a_due_item_that_is_held_already_is_not_put_twice():
    frontier = stocked(1, 2)
    frontier.put(item(1, 1), now=0.0)
    assert len(drain(frontier)) == 2


def test_what_is_judged_again_asks_no_host_for_leave():
    frontier = Frontier()
    frontier.put_first(item(7, 1))
    assert not frontier.empty
    assert not frontier.barren(until=0.0)
    assert frontier.next(0.0) == item(7, 1)
    frontier.finished(item(7, 1))
    frontier.release(item(7, 1))
    assert frontier.empty


def test_empty_means_that_nothing_is_held_and_barren_that_nothing_can_be_taken():
    frontier = stocked(1, 1)
    assert not frontier.barren(until=0.0)
    (one,) = drain(frontier)
    assert frontier.barren(until=0.0)
    assert not frontier.empty
    frontier.finished(one)
    frontier.release(one)
    assert frontier.empty


def test_a_frontier_whose_hosts_all_sleep_is_barren_until_the_first_wakes():
    frontier = stocked(2, 1)
    frontier.hold_host(1, 50.0)
    frontier.hold_host(2, 70.0)
    assert frontier.barren(until=49.0)
    assert not frontier.barren(until=50.0)


def test_a_lane_runs_low_and_is_filled_until_it_is_dry():
    frontier = Frontier()
    frontier.welcome(hosts(1), now=0.0, wall=NOON)
    lane = frontier.thirsty()
    assert lane is frontier.lane(1)
    frontier.filling()
    frontier.fill(lane, [item(1, m) for m in range(frontier.share)], asked=frontier.share)
    frontier.met(lane, FREE)
    assert frontier.thirsty() is None
    while not frontier.low:
        assert frontier.next(0.0) is not None
    assert frontier.thirsty() is lane
    frontier.filling()
    frontier.fill(lane, [], asked=frontier.share)
    assert frontier.thirsty() is None
    frontier.welcome(hosts(1), now=0.0, wall=NOON)
    assert frontier.thirsty() is lane, "a commit gave the host new items"


def test_memory_is_bounded_however_many_hosts_there_are(monkeypatch):
    monkeypatch.setattr(module, "MAX_HOSTS", 50)
    monkeypatch.setattr(module, "MAX_LEFT", 20)
    frontier = Frontier()
    frontier.welcome(hosts(500), now=0.0, wall=NOON)
    assert sum(frontier.lane(n) is not None for n in range(1, 501)) == 50
    assert frontier.crowded
    assert not frontier.room
    for n in range(1, 51):
        lane = frontier.lane(n)
        frontier.met(lane, FREE)
        frontier.filling()
        frontier.fill(lane, [item(n, 0)], asked=9)
    for one in drain(frontier):
        frontier.finished(one)
        frontier.release(one)
    assert frontier.room
    assert len(frontier._left) == 20


def test_a_host_that_has_nothing_for_now_takes_no_place_and_keeps_its_clock():
    frontier = stocked(2, 1)
    frontier.hold_host(1, 70.0)
    drain(frontier)
    frontier.filling()
    frontier.fill(frontier.lane(1), [], asked=9)
    assert frontier.lane(1) is not None, "its item is still held"
    frontier.release(item(1, 0))
    assert frontier.lane(1) is None
    frontier.put(item(1, 7), now=1.0)
    assert frontier.lane(1).next_start == 70.0
    frontier.welcome(hosts(3), now=1.0, wall=NOON)
    frontier.filling()
    frontier.fill(frontier.lane(3), [], asked=9)
    assert frontier.lane(3) is None


@pytest.mark.parametrize("count", [1, 60, 2_000, 30_000])
def test_all_lanes_together_hold_so_many_items_at_most(count):
    frontier = Frontier()
    frontier.welcome(hosts(count), now=0.0, wall=NOON)
    lanes = min(count, module.MAX_HOSTS)
    assert module.LEAST <= frontier.share <= module.MOST
    assert frontier.share * lanes <= max(module.MAX_ITEMS, module.LEAST * lanes)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_handed_out_twice_and_nothing_is_forgotten(seed):
    """A ledger that answers late, commits that cross with its answers, items that come back when due."""
    chance = random.Random(seed)
    frontier = Frontier()
    waiting = {item(host, n).id: item(host, n) for host in range(1, 6) for n in range(40)}
    handed, in_flight, handled, answer = [], [], [], None
    frontier.welcome(hosts(5), now=0.0, wall=NOON)
    for now in range(5000):
        while (lane := frontier.stranger(float(now))) is not None:
            pace = HostPace(per_host=chance.randrange(1, 4), delay_s=chance.choice([0.0, 1.0]))
            frontier.met(lane, pace)
        if answer is None and (lane := frontier.thirsty()) is not None:
            frontier.filling()
            free = [
                one for one in waiting.values() if one.host_id == lane.host_id and one.id not in lane.held
            ]
            answer = (lane, free[:8])
        elif answer is not None and chance.random() < 0.5:
            frontier.fill(answer[0], answer[1], asked=8)
            answer = None
        if (one := frontier.next(float(now))) is not None:
            handed.append(one.id)
            in_flight.append(one)
        if in_flight and chance.random() < 0.7:
            one = in_flight.pop(chance.randrange(len(in_flight)))
            frontier.finished(one)
            handled.append(one)
        if len(handled) > 5 or (frontier.barren(until=float(now)) and answer is None):
            for one in handled:
                del waiting[one.id]
            for one in handled:
                frontier.release(one)
            handled.clear()
            left = {one.host_id for one in waiting.values()}
            fresh = [host for host in hosts(5) if host.id in left and frontier.lane(host.id) is None]
            frontier.welcome(fresh, now=float(now), wall=NOON)
        if not waiting and frontier.empty:
            break
    assert waiting == {}
    assert sorted(handed) == sorted(set(handed))
    assert len(handed) == 200
