"""Redirects: how many of each kind, and where the chains of them end."""

from collections.abc import Mapping
from typing import Final

from holdfast.domain.item import COUNTED
from holdfast.output.report.figures import Chain, Redirects
from holdfast.output.report.tops import Tallied

MOST: Final = 50_000
"""So many are kept to be followed; all are counted."""
LONGEST: Final = 30


class Hops:
    """All redirects of a job, as they come."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._targets: dict[str, str] = {}
        self._by_status = Tallied(20)

    def add(self, status: int, url: str, target: str) -> None:
        """One more."""
        self._by_status.add(str(status))
        if len(self._targets) < self._most:
            self._targets[url] = target

    def leading(self, failed: Mapping[str, str]) -> dict[str, str]:
        """Those from which one comes to an address that failed, with that address."""
        ends = {}
        for url in self._targets:
            end = self._walk(url)[-1]
            if end in failed:
                ends[url] = end
        return ends

    def ends(self) -> list[str]:
        """Where the chains end."""
        return list({self._walk(url)[-1]: None for url in self._heads()})

    def told(self, most: int, failed: Mapping[str, str], known: Mapping[str, str | None]) -> Redirects:
        """The longest chains, those that come to nothing before the others.

        `failed` says why addresses failed; `known` why those at the ends were skipped (None: they weren't).
        """
        chains = []
        for url in self._heads():
            walk = self._walk(url)
            chains.append(Chain(tuple(walk), self._ending(walk, failed, known)))
        chains.sort(
            key=lambda chain: (chain.ends.startswith(("page", "skipped")), -len(chain.urls), chain.urls)
        )
        return Redirects(self._by_status.shares(20), tuple(chains[:most]), len(self._targets))

    def _heads(self) -> list[str]:
        """Where chains begin; of a loop that nothing leads into, one of its addresses."""
        led_to = set(self._targets.values())
        heads = [url for url in self._targets if url not in led_to]
        reached = {url for head in heads for url in self._walk(head)}
        for url in self._targets:
            if url not in reached:
                heads.append(url)
                reached.update(self._walk(url))
        return heads

    def _walk(self, url: str) -> list[str]:
        """The addresses one after the other; a loop ends with the one that it comes back to."""
        walk = [url]
        seen = {url}
        while len(walk) <= LONGEST and (target := self._targets.get(walk[-1])) is not None:
            walk.append(target)
            if target in seen:
                break
            seen.add(target)
        return walk

    def _ending(self, walk: list[str], failed: Mapping[str, str], known: Mapping[str, str | None]) -> str:
        end = walk[-1]
        if end in walk[:-1]:
            return "loop"
        if end in self._targets:
            return "too long"
        if end in failed:
            return f"failed: {failed[end]}"
        # What is no item at all leads out of scope: such addresses alone are only counted.
        reason = known.get(end, COUNTED)
        return "page" if reason is None else f"skipped: {reason}"
