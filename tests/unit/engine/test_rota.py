"""The ring and the heap behave as a plain list would that is looked through from its beginning each time."""

import time

from hypothesis import given
from hypothesis import strategies as st

from holdfast.engine.rota import Rota


class PlainRota:
    """The same rules, by looking at everybody."""

    def __init__(self):
        self.now, self.ready, self.asleep, self.heard = 0.0, [], [], False

    def enter(self, host, due):
        self.leave(host)
        if due <= self.now:
            self.ready.append(host)
            return False
        self.asleep.append((due, host))
        return min(due for due, _ in self.asleep) == due and [due for due, _ in self.asleep].count(due) == 1

    def lead(self, host):
        if host in self.ready:
            self.ready.remove(host)
            self.ready.insert(0, host)

    def leave(self, host):
        self.ready = [one for one in self.ready if one != host]
        self.asleep = [one for one in self.asleep if one[1] != host]

    def wake(self, now):
        self.now = max(self.now, now)
        up = sorted((one for one in self.asleep if one[0] <= now), key=lambda one: one[0])
        self.asleep = [one for one in self.asleep if one not in up]
        self.ready += [host for _, host in up]
        self.heard |= bool(up)

    def next(self, now):
        self.wake(now)
        return self.ready.pop(0) if self.ready else None

    def woken(self, now):
        self.wake(now)
        heard, self.heard = self.heard, False
        return heard


hosts = st.integers(1, 8)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), hosts, st.integers(0, 30)),
        st.tuples(st.just("lead"), hosts),
        st.tuples(st.just("leave"), hosts),
        st.tuples(st.just("next"), st.integers(0, 3)),
        st.tuples(st.just("woken"), st.integers(0, 3)),
    ),
    max_size=120,
)


@given(steps)
def test_it_does_as_a_plain_list_would(story):
    rota, plain, now = Rota(stale=3), PlainRota(), 0.0
    for step, *said in story:
        now += said[0] if step in {"next", "woken"} else 0
        arguments = [now] if step in {"next", "woken"} else said
        assert getattr(rota, step)(*arguments) == getattr(plain, step)(*arguments)
        assert rota.some_ready == bool(plain.ready)
        assert rota.wake_at == min((due for due, _ in plain.asleep), default=None)
        everybody = {*plain.ready, *(host for _, host in plain.asleep)}
        assert {host for host in range(9) if host in rota} == everybody
        assert len(rota._asleep) <= 2 * len(plain.asleep) + 3


def seconds_for(count):
    rota = Rota()
    for host in range(count):
        rota.enter(host, host % 100 + (1e6 if host >= 100 else 1))
    began = time.process_time()
    for now in range(20_000):
        host = rota.next(now / 100)
        if host is not None:
            rota.enter(host, now / 100 + 0.5)
    return time.process_time() - began


def test_a_turn_costs_about_the_same_however_many_hosts_there_are():
    """A look at each of them would make it a thousand times as much."""
    assert min(seconds_for(100_000) for _ in range(3)) < 40 * min(seconds_for(100) for _ in range(3))
