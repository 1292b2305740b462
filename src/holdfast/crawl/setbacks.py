"""What becomes of an item that gave no good answer: tried again, waited for, or failed with its evidence."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.crawl.evidence import record_of
from holdfast.crawl.outage import GATEWAY_STATUSES, NOBODY_THERE, Outages
from holdfast.domain.item import Failed, Item, Outcome, Record, RetryAt
from holdfast.domain.retry import (
    THROTTLED,
    Cause,
    GiveUp,
    RetryPolicy,
    cause_of_status,
    parse_http_date,
    parse_retry_after,
)
from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import FetchFailed, Response
from holdfast.ports.renderer import RenderFailed

ROBOTS = "robots"
"""Why an item was skipped: robots.txt forbids it."""
ROBOTS_UNREACHABLE = "robots_unreachable"
"""Why everything of a host fails whose robots.txt can't be had."""
MAX_WISHES = 20_000
"""So many hosts are remembered that asked to be left alone."""


@dataclass(slots=True)
class _Wish:
    """A host was left alone until then (on the monotonic clock); whether it gave what it was asked for since."""

    until: float
    answered_since: bool = False


class Setbacks:
    """Decides for one claim, by the policy and by what is known of the hosts."""

    def __init__(
        self, clock: Clock, jitter: Callable[[], float], policy: RetryPolicy, outages: Outages
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._policy = policy
        self._outages = outages
        self._wishes: OrderedDict[str, _Wish] = OrderedDict()

    def unfetched(self, item: Item, failed: FetchFailed) -> Outcome:
        """There was no whole response."""
        if not failed.transient:
            return Failed(failed.reason)
        surely = failed.reason in NOBODY_THERE
        return (
            self._outage(item, failed.reason, surely=surely)
            or self._again(item, Cause.NETWORK, failed.reason)
            or Failed(failed.reason)
        )

    def unrendered(self, item: Item, failed: RenderFailed) -> RetryAt | None:
        """There was one, and a browser couldn't show it. None: it won't."""
        return self._again(item, Cause.NETWORK, failed.reason) if failed.transient else None

    def unanswered(self, item: Item, response: Response) -> Outcome:
        """There was one, and it is neither a body nor a redirect."""
        reason = f"http_{response.status}"
        now = self._clock.wall()
        sent = parse_http_date(response.header("date") or "", now)
        wish = parse_retry_after(response.header("retry-after"), now if sent is None else sent)
        cause = cause_of_status(response.status, asked_to_wait=wish is not None)
        if wish is None and response.status in GATEWAY_STATUSES:
            outage = self._outage(item, reason, surely=False)
            if outage is not None:
                return outage
        own = self._own(item, response.status)
        again = None if cause is None else self._again(item, cause, reason, wish, own=own)
        return again or failed(reason, response)

    def answered(self, host: str) -> None:
        """It gave what it was asked for."""
        wish = self._wishes.get(host)
        if wish is not None and wish.until <= self._clock.monotonic():
            wish.answered_since = True

    def _own(self, item: Item, status: int) -> bool:
        """Whether it is the page's own wish: its host was left alone for it, and has answered others since."""
        wish = self._wishes.get(item.host)
        return status not in THROTTLED and item.attempts > 0 and wish is not None and wish.answered_since

    def _heed(self, host: str, delay_s: float) -> None:
        self._wishes[host] = _Wish(self._clock.monotonic() + delay_s)
        self._wishes.move_to_end(host)
        if len(self._wishes) > MAX_WISHES:
            self._wishes.popitem(last=False)

    def _outage(self, item: Item, reason: str, *, surely: bool) -> RetryAt | None:
        """Its host is down, which is not the item's fault: later, and not counted."""
        wait_s = self._outages.failed(item.host, surely=surely)
        if wait_s is None:
            return None
        due = self._clock.wall() + wait_s
        return RetryAt(due, reason, due, tried=False)

    def _again(
        self, item: Item, cause: Cause, reason: str, wish_s: float | None = None, *, own: bool = False
    ) -> RetryAt | None:
        decision = self._policy.decide(cause, item.attempts, self._jitter(), wish_s)
        if isinstance(decision, GiveUp):
            return None
        due = self._clock.wall() + decision.delay_s
        if cause is not Cause.THROTTLED or own:
            return RetryAt(due, reason)
        self._heed(item.host, decision.delay_s)
        return RetryAt(due, reason, due)


def unreachable(cause: str) -> Failed:
    """The rules of its host couldn't be had, however often they were asked for. The record keeps why."""
    if not cause.startswith("robots_"):
        return Failed(cause)
    return Failed(ROBOTS_UNREACHABLE, (Record("error", {"reason": ROBOTS_UNREACHABLE, "cause": cause}),))


def failed(reason: str, response: Response) -> Failed:
    """For good, with the response as evidence."""
    return Failed(reason, (record_of("error", response, reason=reason),))
