"""Outages: a host that has answered before and answers no more is to blame, not its pages.

A page that can't be had fails after a few tries. A host that is down for ten minutes would so fail every page that
is queued for it, and a crawl of weeks meets such an hour. So while it lasts the pages wait, untried, and the host is
looked at again, further and further apart; after `RetryPolicy.outage_s` without an answer tries count again.

| what came of the host | is |
| --- | --- |
| a response below 500 | an answer: the outage, if there was one, is over |
| nobody there: name, connection or handshake failed | an outage at once |
| a page that broke off or took too long, 502, 503, 504 and their kin | an outage from the tenth in a row on |
| 500, or a wish to come back later | neither: the page's own |
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.domain.retry import RetryPolicy
from holdfast.ports.clock import Clock

_NO_PROXY = frozenset(
    {
        "proxy_dns",
        "proxy_refused",
        "proxy_timeout",
        "proxy_unreachable",
        "proxy_auth",
        "proxy_tls",
        "proxy_failed",
    }
)
NOBODY_THERE = _NO_PROXY | {"dns", "connect_refused", "connect_timeout", "unreachable", "tls"}
"""Reasons of a failed fetch that concern the host, or all ways to it, whatever was asked for."""
GATEWAY_STATUSES = frozenset({502, 503, 504, 520, 521, 522, 523, 524})
MANY = 10
"""So many doubtful failures in a row, without an answer between them, are the host's."""
MAX_HOSTS = 20_000


@dataclass(slots=True)
class _Silence:
    """What is known of a host that has not answered of late. On the monotonic clock."""

    since: float
    failures: int = 0
    looks: int = 0
    next_look: float = 0.0


class Outages:
    """What a claim knows of the hosts that answer and those that have stopped to."""

    def __init__(self, clock: Clock, jitter: Callable[[], float], policy: RetryPolicy) -> None:
        self._clock = clock
        self._jitter = jitter
        self._policy = policy
        self._known: OrderedDict[str, _Silence | None] = OrderedDict()

    def answered(self, host: str) -> None:
        """It did, in this claim or (as the ledger says) in one before."""
        self._known[host] = None
        if len(self._known) > MAX_HOSTS:
            self._known.popitem(last=False)

    def knows(self, host: str) -> bool:
        """Whether it has ever answered."""
        return host in self._known

    def failed(self, host: str, *, surely: bool) -> float | None:
        """Seconds for which the host is left alone, if this is taken for an outage; else None.

        `surely`: nobody was there at all. Never an outage: a host that has not answered yet, or not for too long.
        """
        if host not in self._known:
            return None
        now = self._clock.monotonic()
        silence = self._known[host]
        if silence is None:
            silence = self._known[host] = _Silence(now)
        silence.failures += 1
        if (not surely and silence.failures < MANY) or now - silence.since > self._policy.outage_s:
            return None
        if now >= silence.next_look:
            # Those that were in flight together count as one look.
            silence.next_look = now + self._wait(silence.looks)
            silence.looks += 1
        return max(silence.next_look - now, 0.001)

    def _wait(self, looks: int) -> float:
        backoff = self._policy.network
        ceiling: float = min(backoff.cap_s, backoff.base_s * 2.0 ** min(looks, 60))
        return ceiling * (1 + self._jitter()) / 2
