"""A crawl's first steps, taken in memory only: what it would look at first, and where that leads.

The very handler of a crawl takes them, so that nothing is judged otherwise than it would be. Only start URLs, what they
redirect to and what is looked for beside them is asked for, one after the other, as slowly as the crawl would.
"""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from holdfast.crawl.setbacks import ROBOTS
from holdfast.domain.item import COUNTED, Consulted, Done, Found, Item, Outcome, Redirected
from holdfast.domain.url import origin
from holdfast.pipelines.site.discovery import PAGE
from holdfast.pipelines.site.handler import SiteHandler
from holdfast.ports.clock import Clock
from holdfast.ports.pipeline import HostPace

MAX_ASKED: Final = 30
"""So many addresses are asked for, robots.txt of their hosts aside."""
MAX_KNOWN: Final = 200_000
"""So many addresses are told apart: whatever names more is not looked at to its end."""
SAMPLES: Final = 20
"""So many addresses are named that would be followed, and a quarter of that for each reason not to."""


@dataclass(slots=True)
class Rehearsal:
    """What a crawl would find first."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    """What was asked for, and what came of it."""
    follows: Counter[str] = field(default_factory=Counter)
    """How many addresses would be asked for next, by host."""
    first: list[str] = field(default_factory=list)
    """The first of them."""
    leaves_out: Counter[str] = field(default_factory=Counter)
    """How many would not be, by the reason."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    """Some of those, by the reason."""
    paces: dict[str, HostPace] = field(default_factory=dict)
    """How the hosts want to be treated."""
    pages: int = 0
    """How many of those that were asked for are pages."""
    whole: bool = True
    """All that there was to look at has been looked at."""

    def duration_s(self, most: int | None) -> float | None:
        """How long the pages known so far would take at the pace of their hosts, `most` of them at most.

        None where no host wants to be asked slowly: then that is the site's to say.
        """
        left, longest = most, 0.0
        known = next(iter(self.paces.values()), None)
        for host, count in self.follows.most_common():
            taken = count if left is None else min(count, left)
            left = None if left is None else left - taken
            pace = self.paces.get(host, known)
            longest = max(longest, taken * (0.0 if pace is None else pace.delay_s))
        return longest or None


async def rehearse(
    handler: SiteHandler, seeds: Iterable[Found], clock: Clock, sleep: Callable[[float], Awaitable[None]]
) -> Rehearsal:
    """Ask for the first addresses and tell where they lead. Nothing is kept."""
    told = Rehearsal()
    waiting = deque(seed for seed in seeds if seed.skip is None)
    known: dict[str, str | None] = {seed.url: None for seed in waiting}
    started: dict[str, float] = {}
    while waiting:
        if len(told.asked) >= MAX_ASKED or len(known) >= MAX_KNOWN:
            told.whole = False
            break
        found = waiting.popleft()
        if found.host not in told.paces:
            told.paces[found.host] = await handler.meet(found.host)
            started[found.host] = clock.monotonic()
        await sleep(started[found.host] + told.paces[found.host].delay_s - clock.monotonic())
        started[found.host] = clock.monotonic()
        outcome = await handler.handle(_item(len(told.asked) + 1, found))
        told.asked.append((found.url, _came(outcome)))
        told.leaves_out[COUNTED] += getattr(outcome, "unkept", 0)
        told.pages += isinstance(outcome, Done)
        for one in getattr(outcome, "found", ()):
            # As the ledger has it: what anything lets in is in.
            if one.url not in known or (known[one.url] is not None and one.skip is None):
                known[one.url] = one.skip
                if one.skip is None and (one.kind != PAGE or one.depth == 0):
                    waiting.append(one)
    told.leaves_out = +told.leaves_out
    asked = {url for url, _ in told.asked} | {found.url for found in waiting}
    for url, skip in known.items():
        if url not in asked:
            _tell(told, url, skip or (ROBOTS if handler.forbids(url) else None))
    return told


def _tell(told: Rehearsal, url: str, skip: str | None) -> None:
    if skip is None:
        told.follows[origin(url)] += 1
        if len(told.first) < SAMPLES:
            told.first.append(url)
        return
    told.leaves_out[skip] += 1
    examples = told.examples.setdefault(skip, [])
    if len(examples) < SAMPLES // 4:
        examples.append(url)


def _item(number: int, found: Found) -> Item:
    return Item(number, found.url, 0, found.host, found.depth, found.kind)


def _came(outcome: Outcome) -> str:
    match outcome:
        case Done():
            return "page"
        case Consulted(found=found):
            return f"read: {len(found)} addresses"
        case Redirected(found=found):
            return f"redirects to {found[0].url}"
        case _:
            return str(getattr(outcome, "reason", ""))
