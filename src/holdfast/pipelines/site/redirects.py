"""A redirect settles its address; the target is an item of its own."""

from collections import OrderedDict
from typing import Final

from holdfast.domain.item import Found, Item, Outcome, Redirected
from holdfast.domain.url import join_location
from holdfast.pipelines.site.belonging import Belonging
from holdfast.pipelines.site.discovery import PAGE
from holdfast.pipelines.site.facts import record_of
from holdfast.pipelines.site.judge import Judge
from holdfast.pipelines.site.links import found
from holdfast.pipelines.site.setbacks import failed
from holdfast.ports.fetcher import Response

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 20
_MAX_CHAINS = 10_000


def redirected_to(target: str, item: Item, judge: Judge) -> Found:
    """The finding that a redirect is; what is consulted may move to another host."""
    reason = judge.judge_target(target, item.depth) if item.kind == PAGE else None
    return found(target, item.depth, item.id, reason, kind=item.kind)


class Redirects:
    """The redirects that a claim has met."""

    def __init__(self, belonging: Belonging) -> None:
        self._belonging = belonging
        self._chains: OrderedDict[str, int] = OrderedDict()

    def follow(self, item: Item, response: Response) -> Outcome:
        """Where it leads, unless that is nowhere or in a circle."""
        target = join_location(item.url, response.header("location") or "")
        if not response.header("location") or target is None:
            return failed("bad_redirect", response)
        if target == item.url:
            return failed("redirect_loop", response)
        hops = self._chains.get(item.url, 0) + 1
        if hops > MAX_REDIRECTS:
            return failed("too_many_redirects", response)
        self._chains[target] = hops
        if len(self._chains) > _MAX_CHAINS:
            self._chains.popitem(last=False)
        belonging = self._belonging
        known, outside = belonging.notes, not belonging.judge.inside(target)
        if item.kind == PAGE and item.url in belonging.judge.seeds and target not in belonging.judge.seeds:
            belonging.widen(target)
        noted = belonging.notes is not known
        finding = redirected_to(target, item, belonging.judge)
        belonging.keep(finding)
        return Redirected(
            (finding,),
            f"http_{response.status}",
            (record_of("redirect", response, location=target),),
            widens=noted and outside,
            cursor=belonging.notes.to_json() if noted else None,
        )
