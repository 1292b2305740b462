"""How a job went: its commits and what stopped it, on an axis of working time, in memory that doesn't grow with either.

On that axis no stop takes any room, be it of a second or of a week: a claim follows where the one before it ended. A
claim that was killed ends with its last commit, because nothing else tells when it died.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.domain.checkpoint import Checkpoint, Counters
from holdfast.output.report.figures import Span, Stop, Timeline
from holdfast.output.report.tops import Tallied
from holdfast.ports.jobs import Event

BINS: Final = 144
"""At most so many; when they don't reach, each two become one."""
FIRST_BIN_S: Final = 0.05
_BEGINS: Final = frozenset({"claimed", "recovered"})
_ENDS: Final = {
    "taken back": "killed",
    "completed": "completed",
    "paused": "paused",
    "pending": "shut down",
    "failed": "failed",
    "timeout": "timeout",
    "cancelled": "cancelled",
}


@dataclass(slots=True)
class Claim:
    """A worker's hold on the job, as the events tell it."""

    at: float
    until: float | None = None
    """None: killed, or still at work."""
    ended: str | None = None
    detail: str = ""


def claims_of(events: Iterable[Event]) -> list[Claim]:
    """The claims of the present run, the oldest first, from the events in their order."""
    claims: list[Claim] = []
    for event in events:
        last = claims[-1] if claims else None
        is_open = last is not None and last.ended is None
        if event.kind == "restarted":
            claims = []
        elif event.kind in _BEGINS:
            if last is not None and is_open:
                last.ended = "killed"
            claims.append(Claim(event.at))
        elif last is not None and is_open and event.kind in _ENDS:
            last.ended, last.detail = _ENDS[event.kind], event.detail
            last.until = None if last.ended == "killed" else event.at
    return claims


class Bins:
    """Amounts over time, in bins that grow with it."""

    def __init__(self, kinds: int) -> None:
        self.width_s = FIRST_BIN_S
        self.amounts = [[0.0] * BINS for _ in range(kinds)]

    def spread(self, start_s: float, end_s: float, amounts: Sequence[float]) -> None:
        """These amounts came evenly between start and end."""
        while end_s > BINS * self.width_s:
            self._halve()
        first, last = self._bin(start_s), self._bin(end_s)
        for row, amount in zip(self.amounts, amounts, strict=True):
            if not amount:
                continue
            if first == last:
                row[first] += amount
                continue
            for place in range(first, last + 1):
                begins = max(start_s, place * self.width_s)
                ends = min(end_s, (place + 1) * self.width_s)
                row[place] += amount * max(0.0, ends - begins) / (end_s - start_s)

    def put(self, at_s: float, kind: int, amount: float) -> None:
        """This came at that moment."""
        while at_s > BINS * self.width_s:
            self._halve()
        self.amounts[kind][self._bin(at_s)] += amount

    def _bin(self, at_s: float) -> int:
        return min(BINS - 1, int(at_s / self.width_s))

    def _halve(self) -> None:
        self.width_s *= 2
        for row in self.amounts:
            half = [one + other for one, other in zip(row[::2], row[1::2], strict=True)]
            row[:] = half + [0.0] * (BINS - len(half))


_PAGES, _FAILED, _COMMITS = range(3)


class Story:
    """Told commit by commit, in their order."""

    def __init__(self, claims: list[Claim]) -> None:
        self._claims = claims
        self._bins = Bins(3)
        self._reasons = Tallied(50)
        self._spans: list[Span] = []
        self._stops: list[Stop] = []
        self._place = -1
        self._begins_s = 0.0
        self._begins_at = 0.0
        self._now_at = 0.0
        self._commits = 0
        self._handled = 0
        self._longest_s = 0.0
        self._last = Counters()
        self._number = 0
        self._judged = True

    def add(self, commit: Checkpoint) -> None:
        """The next commit."""
        if not self._claims:
            self._claims.append(Claim(commit.at))
        while self._place + 1 < len(self._claims) and (
            self._place < 0 or commit.at >= self._claims[self._place + 1].at
        ):
            self._next_claim()
        before_s = self._at_s
        # A clock that was set back makes no time run backwards here.
        self._now_at = max(self._now_at, commit.at)
        self._longest_s = max(self._longest_s, self._at_s - before_s)
        done, failed = commit.counters.done - self._last.done, commit.counters.failed - self._last.failed
        self._bins.spread(before_s, self._at_s, (max(0, done), max(0, failed), 0))
        self._bins.put(self._at_s, _COMMITS, 1)
        self._reasons.add(commit.reason.value)
        self._judge(commit.counters)
        self._commits += 1
        self._handled += commit.items
        self._last, self._number = commit.counters, commit.number

    def told(self, *, running: bool) -> Timeline:
        """All of it. Where nobody is `running` it, a last claim without an end was killed."""
        if not running and self._claims and self._claims[-1].ended is None:
            self._claims[-1].ended = "killed"
        while self._place + 1 < len(self._claims):
            self._next_claim()
        if self._place >= 0:
            self._end_claim(None)
        bins = self._bins
        used = min(BINS, int(self._begins_s / bins.width_s) + 1)
        return Timeline(
            bin_s=bins.width_s,
            pages=tuple(bins.amounts[_PAGES][:used]),
            failed=tuple(bins.amounts[_FAILED][:used]),
            commits=tuple(int(n) for n in bins.amounts[_COMMITS][:used]),
            working_s=self._begins_s,
            spans=tuple(self._spans),
            stops=tuple(self._stops),
            commit_reasons=self._reasons.shares(20),
            handled=self._handled,
            longest_s=self._longest_s,
        )

    @property
    def _at_s(self) -> float:
        return self._begins_s + self._now_at - self._begins_at

    def _next_claim(self) -> None:
        following = self._claims[self._place + 1]
        if self._place >= 0:
            self._end_claim(following.at)
        self._place += 1
        self._begins_at = self._now_at = following.at
        self._commits = 0

    def _end_claim(self, resumed_at: float | None) -> None:
        claim = self._claims[self._place]
        if claim.until is not None:
            self._now_at = max(self._now_at, claim.until)
        ends_s = self._at_s
        self._spans.append(Span(self._begins_at, self._now_at, self._begins_s, ends_s, self._commits))
        if claim.ended is not None:
            self._stops.append(
                Stop(
                    kind=claim.ended,
                    detail=claim.detail,
                    at=self._now_at,
                    at_s=ends_s,
                    resumed_at=resumed_at,
                    checkpoint=self._number,
                    pages=self._last.done,
                    queued=self._last.queued,
                    carried_on=None,
                )
            )
            self._judged = False
        self._begins_s = ends_s

    def _judge(self, now: Counters) -> None:
        """Whether the first commit after a stop still has all that stood there before."""
        if self._judged:
            return
        self._judged = True
        kept = now.found >= self._last.found and now.done >= self._last.done
        for place in range(len(self._stops) - 1, -1, -1):
            stop = self._stops[place]
            if stop.carried_on is not None:
                break
            self._stops[place] = replace(stop, carried_on=kept)
