"""robots.txt: asked for once a day and origin, obeyed as RFC 9309 says.

| the origin answers | then |
| --- | --- |
| 2xx | its rules hold; of a larger file the first 512 KiB |
| 3xx | followed, up to 5 hops, to other hosts too; beyond that as 4xx |
| 4xx | everything is allowed |
| 429, 5xx, or nothing at all | nothing is allowed for now: `Unknown` says when to ask again |
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from protego import Protego

from holdfast.crawl.outage import NOBODY_THERE, Outages
from holdfast.domain.retry import Cause, GiveUp, RetryPolicy, parse_http_date, parse_retry_after
from holdfast.domain.url import join_location
from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import Fetcher, FetchFailed, Request, Response

MAX_ROBOTS_BYTES = 512 * 1024
MAX_HOPS = 5
MAX_CRAWL_DELAY_S = 60.0
MAX_ORIGINS = 20_000
"""So many origins' rules are remembered; the one that was asked for least recently is asked for again."""
MAX_CHARS = 4_000_000
"""Likewise, of all their rules together: parsed they take some 40 bytes for each."""

FOR_GOOD = math.inf
FRESH_S = 24 * 3600.0
"""So long an answer holds (RFC 9309); then the origin is asked again."""

_LONG_CHARS = 64 * 1024
# These concern the origin, not its robots.txt.
_OF_THE_HOST = NOBODY_THERE | {
    *("bad_url", "closed", "private_address"),
    *("tls_expired", "tls_host", "tls_authority"),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What an origin lets us do."""

    parsed: Protego | None
    """None: everything is allowed."""
    user_agent: str
    until: float
    """So long this holds, on the monotonic clock; then the origin is asked again."""
    chars: int = 0
    """How long the file is."""

    def allows(self, url: str) -> bool:
        """Whether that URL may be fetched."""
        return self.parsed is None or self.parsed.can_fetch(url, self.user_agent)

    @property
    def delay_s(self) -> float | None:
        """Seconds between requests that the origin asks for, capped; None if it doesn't care."""
        if self.parsed is None:
            return None
        delay = self.parsed.crawl_delay(self.user_agent) or 0.0
        rate = self.parsed.request_rate(self.user_agent)
        if rate is not None:
            delay = max(delay, rate.seconds / rate.requests)
        return min(delay, MAX_CRAWL_DELAY_S) or None


@dataclass(frozen=True, slots=True)
class Unknown:
    """The rules couldn't be had."""

    reason: str
    """robots_ and the cause (robots_http_503); where no page of that origin could be had, the cause alone."""
    until: float
    """So long nothing is fetched from there, on the monotonic clock; FOR_GOOD when we have asked often enough."""


class Robots:
    """The rules of all origins that a claim meets."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        jitter: Callable[[], float],
        *,
        user_agent: str,
        policy: RetryPolicy,
        outages: Outages,
        keep: Collection[str] = (),
    ) -> None:
        """`keep`: of these origins the answer itself is kept until somebody takes it."""
        self._fetcher = fetcher
        self._clock = clock
        self._jitter = jitter
        self._user_agent = user_agent
        self._policy = policy
        self._outages = outages
        self._known: OrderedDict[str, Rules | Unknown] = OrderedDict()
        self._failures: OrderedDict[str, int] = OrderedDict()
        self._keep = frozenset(keep)
        self._kept: dict[str, Response] = {}
        self._asking: dict[str, asyncio.Future[Rules | Unknown]] = {}
        self._chars = 0

    def known(self, origin: str) -> Rules | Unknown | None:
        """What is remembered of that origin and still holds; None if it has to be asked."""
        verdict = self._known.get(origin)
        return None if verdict is None or verdict.until <= self._clock.monotonic() else verdict

    async def of(self, origin: str) -> Rules | Unknown:
        """That origin's rules; asked for once at a time, whoever waits. Never raises for what it answers."""
        verdict = self.known(origin)
        if verdict is not None:
            self._known.move_to_end(origin)
            return verdict
        asking = self._asking.get(origin)
        if asking is None:
            asking = self._asking[origin] = asyncio.ensure_future(self._ask(origin))
            asking.add_done_callback(lambda _: self._asking.pop(origin, None))
        # Whoever asked first may be cancelled; the others still wait for the answer.
        return await asyncio.shield(asking)

    def taken(self, origin: str) -> Response | None:
        """What that origin's robots.txt answered the last time that it was asked for; only once."""
        return self._kept.pop(origin, None)

    async def close(self) -> None:
        """Stop asking."""
        for asking in list(self._asking.values()):
            asking.cancel()

    async def _ask(self, origin: str) -> Rules | Unknown:
        before = self._known.get(origin)
        verdict = await self._fetch(origin)
        if isinstance(verdict, Unknown) and isinstance(before, Rules):
            # It answered yesterday: its rules hold on while it can't be asked again.
            verdict = replace(before, until=self._clock.monotonic() + FRESH_S)
        self._chars += _chars(verdict) - _chars(self._known.get(origin))
        self._known[origin] = verdict
        self._known.move_to_end(origin)
        while len(self._known) > MAX_ORIGINS or (self._chars > MAX_CHARS and len(self._known) > 1):
            _, forgotten = self._known.popitem(last=False)
            self._chars -= _chars(forgotten)
        return verdict

    async def _fetch(self, origin: str) -> Rules | Unknown:
        url = f"{origin}/robots.txt"
        for _ in range(MAX_HOPS + 1):
            try:
                response = await self._fetcher.fetch(Request(url))
            except FetchFailed as failed:
                reason = failed.reason if failed.reason in _OF_THE_HOST else f"robots_{failed.reason}"
                return self._unknown(origin, reason, transient=failed.transient)
            if origin in self._keep and url == f"{origin}/robots.txt":
                self._kept[origin] = response
            if not 300 <= response.status < 400:  # noqa: PLR2004 - redirects
                return await self._judge(origin, response)
            target = join_location(url, response.header("location") or "")
            if target is None or target == url:
                break
            url = target
        return self._settled(origin, None)

    async def _judge(self, origin: str, response: Response) -> Rules | Unknown:
        status = response.status
        if status == 429 or status >= 500:  # noqa: PLR2004 - too many requests, server errors
            now = self._clock.wall()
            sent = parse_http_date(response.header("date") or "", now)
            wish = parse_retry_after(response.header("retry-after"), sent if sent is not None else now)
            return self._unknown(origin, f"robots_http_{status}", transient=True, retry_after_s=wish)
        if not 200 <= status < 300:  # noqa: PLR2004 - success
            return self._settled(origin, None)
        text = response.body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace")
        if not text.strip():
            return self._settled(origin, None)
        if len(text) > _LONG_CHARS:
            # Thousands of rules take longer than the loop may be held.
            parsed = await asyncio.to_thread(Protego.parse, text)
        else:
            parsed = Protego.parse(text)
        return self._settled(origin, parsed, len(text))

    def _settled(self, origin: str, parsed: Protego | None, chars: int = 0) -> Rules:
        self._failures.pop(origin, None)
        self._outages.answered(origin)
        return Rules(parsed, self._user_agent, self._clock.monotonic() + FRESH_S, chars)

    def _unknown(
        self, origin: str, reason: str, *, transient: bool, retry_after_s: float | None = None
    ) -> Unknown:
        failures = self._failures.get(origin, 0)
        outage_s = self._outages.failed(origin, surely=True) if transient else None
        if outage_s is not None:
            return Unknown(reason, self._clock.monotonic() + max(outage_s, retry_after_s or 0.0))
        decision = self._policy.decide(Cause.ROBOTS, failures, self._jitter(), retry_after_s)
        self._failures[origin] = failures + 1
        while len(self._failures) > MAX_ORIGINS:
            self._failures.popitem(last=False)
        if not transient or isinstance(decision, GiveUp):
            return Unknown(reason, FOR_GOOD)
        return Unknown(reason, self._clock.monotonic() + decision.delay_s)


def deciding_line(body: bytes, user_agent: str, url: str) -> str | None:
    """The longest line of a robots.txt that shuts the URL out by itself; None where it is allowed."""
    lines = body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace").splitlines()
    if Protego.parse("\n".join(lines)).can_fetch(url, user_agent):
        return None
    fits = [index for index, line in enumerate(lines) if _shuts_out(line, url)]
    for one in sorted(fits, key=lambda index: -len(lines[index])):
        # Without the others: a line that still shuts it out stands in a group that means us.
        alone = [line for index, line in enumerate(lines) if index == one or index not in fits]
        if not Protego.parse("\n".join(alone)).can_fetch(url, user_agent):
            return lines[one].strip()
    return None


def _shuts_out(line: str, url: str) -> bool:
    field, colon, _ = line.partition(":")
    if not colon or field.strip().lower() != "disallow":
        return False
    return not Protego.parse(f"User-agent: *\n{line}").can_fetch(url, "any")


def _chars(verdict: Rules | Unknown | None) -> int:
    return verdict.chars if isinstance(verdict, Rules) else 0
