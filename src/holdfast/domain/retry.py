"""When to try again, and when to give up. Decided here as values; time and jitter are arguments."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

RETRY_AFTER_CAP_S = 6 * 3600.0
"""No server holds a crawl back for longer than this by one answer."""

# 408 timeout, 425 too early, 429 throttled, 5xx of servers and of the proxies before them that pass again.
# 501 and 505 are answers about the request itself: they don't change.
TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 509, 520, 521, 522, 523, 524, 529})
THROTTLED = frozenset({429, 529})
"""The host speaks of itself, whatever it was asked for."""


class Cause(StrEnum):
    """Why a try came to nothing, as far as it matters for the next one."""

    NETWORK = "network"
    """No whole response: timeouts, resets, refused connections."""
    SERVER = "server"
    """A transient error status."""
    THROTTLED = "throttled"
    """The server asks for fewer requests."""
    ROBOTS = "robots"
    """Whether we may ask at all can't be known now."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """So many tries in all, and waits that double from `base_s` up to `cap_s`."""

    tries: int
    base_s: float
    cap_s: float


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after so many seconds."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The tries are used up."""

    tries: int


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with full jitter, by cause."""

    network: Backoff = field(default=Backoff(tries=4, base_s=2.0, cap_s=120.0))
    server: Backoff = field(default=Backoff(tries=4, base_s=4.0, cap_s=300.0))
    throttled: Backoff = field(default=Backoff(tries=8, base_s=8.0, cap_s=900.0))
    robots: Backoff = field(default=Backoff(tries=4, base_s=4.0, cap_s=300.0))
    retry_after_cap_s: float = RETRY_AFTER_CAP_S
    outage_s: float = 3600.0
    """So long may a host that has answered before be silent before its pages are given up (crawl.outage)."""

    def backoff(self, cause: Cause) -> Backoff:
        """The numbers for that cause."""
        return {
            Cause.NETWORK: self.network,
            Cause.SERVER: self.server,
            Cause.THROTTLED: self.throttled,
            Cause.ROBOTS: self.robots,
        }[cause]

    def delay(self, cause: Cause, attempts: int, jitter: float, retry_after_s: float | None = None) -> float:
        """Seconds until the next try, after `attempts` earlier ones and the one that just failed.

        With jitter in [0, 1) it lies evenly in [0, min(cap, base * 2^attempts)). A server's own wish is a
        floor: what it asked for (capped), plus a little, so that not everybody comes back at once.
        """
        backoff = self.backoff(cause)
        if retry_after_s is not None:
            wish = min(max(retry_after_s, 0.0), self.retry_after_cap_s)
            return wish + jitter * min(backoff.base_s, 1.0 + wish / 10)
        ceiling: float = min(backoff.cap_s, backoff.base_s * 2.0 ** min(max(attempts, 0), 60))
        return jitter * ceiling

    def decide(
        self, cause: Cause, attempts: int, jitter: float, retry_after_s: float | None = None
    ) -> Retry | GiveUp:
        """Whether the item is tried again, given how often it was tried before this time."""
        tries = attempts + 1
        if tries >= self.backoff(cause).tries:
            return GiveUp(tries)
        return Retry(self.delay(cause, attempts, jitter, retry_after_s))


def cause_of_status(status: int, *, asked_to_wait: bool) -> Cause | None:
    """The cause behind a transient status; None for a status that no later try will change.

    A server that says when to come back (Retry-After) is throttling us, whatever its status.
    """
    if status not in TRANSIENT_STATUSES:
        return None
    return Cause.THROTTLED if asked_to_wait or status in THROTTLED else Cause.SERVER


def parse_retry_after(text: str | None, now: float, cap_s: float = RETRY_AFTER_CAP_S) -> float | None:
    """Seconds to wait by a Retry-After header: in [0, cap_s], or None where it says nothing readable.

    Both forms: seconds (fractions tolerated), and an HTTP-date in any of its three spellings, which is
    compared with `now` (seconds since 1970; the server's own Date header if there is one).
    """
    value = (text or "").strip()
    seconds = _SECONDS.fullmatch(value)
    if seconds:
        whole = seconds.group(1)
        return cap_s if len(whole.lstrip("0")) > _MANY_DIGITS else min(float(value), cap_s)
    moment = parse_http_date(value, now)
    return None if moment is None else min(max(moment - now, 0.0), cap_s)


def parse_http_date(text: str, now: float) -> float | None:
    """Seconds since 1970 of an HTTP-date: RFC 9110's own form, RFC 850's or asctime's."""
    for pattern in _DATES:
        match = pattern.fullmatch(text.strip())
        if match:
            return _timestamp(match, now)
    return None


_MANY_DIGITS = 9
_SECONDS = re.compile(r"([0-9]+)(?:\.[0-9]*)?")
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {m: i for i, m in enumerate(_MONTH_NAMES, start=1)}
_TIME = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DASHED = r"(?P<day>[0-9]{1,2})-(?P<month>[a-z]{3})-(?P<year>(?:[0-9]{2}){1,2})"
_ZONE = r"(?:\s+(?:GMT|UTC|UT|Z|[+-]0000))?"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:[a-z]+,?\s+)?(?P<day>[0-9]{{1,2}})\s+(?P<month>[a-z]{{3}})\s+(?P<year>[0-9]{{4}})\s+{_TIME}{_ZONE}",
        rf"(?:[a-z]+,?\s+)?{_DASHED}\s+{_TIME}{_ZONE}",
        rf"[a-z]+\s+(?P<month>[a-z]{{3}})\s+(?P<day>[0-9]{{1,2}})\s+{_TIME}\s+(?P<year>[0-9]{{4}}){_ZONE}",
    )
)
_SHORT_YEAR = 100
_FAR_YEARS = 50


def _timestamp(match: re.Match[str], now: float) -> float | None:
    month = _MONTHS.get(match["month"].lower())
    if month is None:
        return None
    year = int(match["year"])
    if year < _SHORT_YEAR:
        # RFC 9110: a two-digit year that seems more than 50 years ahead means the century before.
        this_year = datetime.fromtimestamp(now, UTC).year
        year += this_year - this_year % _SHORT_YEAR
        if year > this_year + _FAR_YEARS:
            year -= _SHORT_YEAR
    day, hour, minute = int(match["day"]), int(match["hour"]), int(match["minute"])
    # A leap second counts as the second before it.
    second = min(int(match["second"]), 59)
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None
