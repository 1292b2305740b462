"""Where a redirect leads, unless that is nowhere or in a circle. The target is an item of its own."""

from collections import OrderedDict
from typing import Final

from holdfast.crawl.setbacks import failed
from holdfast.domain.item import Failed, Item
from holdfast.domain.url import join_location
from holdfast.ports.fetcher import Response

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 20
_MAX_CHAINS = 10_000


class Chains:
    """The redirects that a claim has met."""

    def __init__(self) -> None:
        self._hops: OrderedDict[str, int] = OrderedDict()

    def target(self, item: Item, response: Response) -> str | Failed:
        """The canonical address that a redirect names."""
        target = join_location(item.url, response.header("location") or "")
        if not response.header("location") or target is None:
            return failed("bad_redirect", response)
        if target == item.url:
            return failed("redirect_loop", response)
        hops = self._hops.get(item.url, 0) + 1
        if hops > MAX_REDIRECTS:
            return failed("too_many_redirects", response)
        self._hops[target] = hops
        if len(self._hops) > _MAX_CHAINS:
            self._hops.popitem(last=False)
        return target
