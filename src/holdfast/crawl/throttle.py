"""How slowly a host is asked that answers slowly, or that says it is asked too much.

| what it answers | then its delay |
| --- | --- |
| a page, a redirect | goes halfway to what its time calls for: so that on average `target` requests are under way |
| an error | likewise, but never down |
| 429, 503, 509, 529 | doubles, once for all that was under way together; each good answer takes a tenth of that back |

Never below what the job or robots.txt asks for, never above the most that was asked for (unless robots.txt does).
"""

from collections import OrderedDict
from dataclasses import dataclass, replace

from holdfast.ports.clock import Clock
from holdfast.ports.pipeline import HostPace

PUSHED_BACK = frozenset({429, 503, 509, 529})
"""The host says that it is asked too much, whatever it was asked for."""
LEAST_PENALTY_S = 1.0
FORGIVEN = 0.9
MAX_HOSTS = 20_000
_ERRORS = 400
_NOTICEABLE = 0.05


@dataclass(slots=True)
class _Host:
    """What is known of one. `pace` is as it was learnt from robots.txt and the job: the least delay."""

    pace: HostPace
    told_s: float
    """The delay that the engine was told last."""
    slow_s: float = 0.0
    """What its answers' time calls for."""
    penalty_s: float = 0.0
    """What its refusals call for, beyond that."""
    pushed_at: float = float("-inf")


class Throttle:
    """The delays of a claim's hosts. What it knows is forgotten with the claim: it is learnt again in a few answers."""

    def __init__(self, clock: Clock, *, target: float, max_delay_s: float) -> None:
        self._clock = clock
        self._target = target
        self._max_delay_s = max_delay_s
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def met(self, name: str, pace: HostPace) -> HostPace:
        """The pace that was learnt, with the delay that the host has come to meanwhile."""
        host = self._hosts.setdefault(name, _Host(pace, pace.delay_s))
        host.pace = pace
        self._hosts.move_to_end(name)
        if len(self._hosts) > MAX_HOSTS:
            self._hosts.popitem(last=False)
        host.told_s = self._delay(host)
        return replace(pace, delay_s=host.told_s)

    def answered(self, name: str, status: int, elapsed_s: float) -> HostPace | None:
        """How the host is to be treated after an answer; None: as before."""
        host = self._hosts.get(name)
        if host is None:
            return None
        if status in PUSHED_BACK:
            self._push_back(host, elapsed_s)
        else:
            calls_for = (host.slow_s + elapsed_s / self._target) / 2
            if status < _ERRORS:
                host.slow_s = calls_for
                host.penalty_s *= FORGIVEN
            else:
                host.slow_s = max(host.slow_s, calls_for)
        delay_s = self._delay(host)
        if abs(delay_s - host.told_s) <= _NOTICEABLE * host.told_s:
            return None
        host.told_s = delay_s
        return replace(host.pace, delay_s=delay_s)

    def _push_back(self, host: _Host, elapsed_s: float) -> None:
        now = self._clock.monotonic()
        if now - elapsed_s < host.pushed_at:
            # It was under way when another one was refused: the same refusal.
            return
        host.pushed_at = now
        doubled = min(max(LEAST_PENALTY_S, 2 * self._delay(host)), self._max_delay_s)
        host.penalty_s = max(host.penalty_s, doubled - host.slow_s)

    def _delay(self, host: _Host) -> float:
        least = host.pace.delay_s
        return max(least, min(self._max_delay_s, host.slow_s + host.penalty_s))
