"""A redirect settles its address; the target is an item of its own."""

from holdfast.crawl.evidence import record_of
from holdfast.crawl.redirects import Chains
from holdfast.domain.item import Failed, Found, Item, Outcome, Redirected
from holdfast.pipelines.site.belonging import Belonging
from holdfast.pipelines.site.discovery import PAGE
from holdfast.pipelines.site.judge import Judge
from holdfast.pipelines.site.links import found
from holdfast.ports.fetcher import Response


def redirected_to(target: str, item: Item, judge: Judge) -> Found:
    """The finding that a redirect is; what is consulted may move to another host."""
    reason = judge.judge_target(target, item.depth) if item.kind == PAGE else None
    return found(target, item.depth, item.id, reason, kind=item.kind)


class Redirects:
    """The redirects that a claim has met."""

    def __init__(self, belonging: Belonging) -> None:
        self._belonging = belonging
        self._chains = Chains()

    def follow(self, item: Item, response: Response) -> Outcome:
        """Where it leads, unless that is nowhere or in a circle."""
        target = self._chains.target(item, response)
        if isinstance(target, Failed):
            return target
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
