"""Whether an address belongs to the crawl: decided from the spec and the URL alone."""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from holdfast.domain.url import MAX_URL_BYTES, authority, hostname, is_address
from holdfast.pipelines.site.spec import Scope, SiteSpec

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


ROBOTS = "robots"
"""Why an address was skipped when it was its turn: its host's robots.txt forbids it."""


class SkipReason(StrEnum):
    """Why a link is not followed. In this order: the first that holds is the reason."""

    EXTERNAL = "external"
    TOO_LONG = "too_long"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not_included"
    DEPTH = "depth"


class Judge:
    """The verdicts of one crawl with its present seeds. The same question always gets the same answer.

    Seeds are the start URLs and what they redirect to: they are admitted whatever the rules say, and the
    scope is drawn around them.
    """

    def __init__(self, spec: SiteSpec, max_depth: int | None, seeds: Iterable[str]) -> None:
        self.seeds = frozenset(seeds)
        self._max_depth = max_depth
        self._scope = spec.scope
        self._include = [re.compile(pattern) for pattern in spec.include]
        self._exclude = [re.compile(pattern) for pattern in spec.exclude]
        self._sites = frozenset(_site(url, spec.scope) for url in self.seeds)
        self._prefixes = tuple(self._sites)

    def judge(self, url: str, depth: int) -> SkipReason | None:
        """None when the URL is admitted at that depth, else the reason why not."""
        reason = self.reason(url)
        if reason is None and self.too_deep(depth) and url not in self.seeds:
            return SkipReason.DEPTH
        return reason

    def too_deep(self, depth: int) -> bool:
        """Whether nothing but seeds is admitted at that depth."""
        return self._max_depth is not None and depth > self._max_depth

    def reason(self, url: str) -> SkipReason | None:
        """The verdict as far as it doesn't depend on depth."""
        if url in self.seeds:
            return None
        if not self.inside(url):
            return SkipReason.EXTERNAL
        if len(url) > MAX_URL_BYTES:
            return SkipReason.TOO_LONG
        for pattern in self._exclude:
            if pattern.search(url):
                return SkipReason.EXCLUDED
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return SkipReason.NOT_INCLUDED
        return None

    def inside(self, url: str) -> bool:
        """Whether it is on a seed's site."""
        if self._scope is Scope.PREFIX:
            return url[url.find("//") :].startswith(self._prefixes)
        return self._scope is Scope.ANY or _site(url, self._scope) in self._sites


def _site(url: str, scope: Scope) -> str:
    """What two URLs of the same site have in common."""
    if scope is Scope.HOST:
        return authority(url)
    if scope is Scope.DOMAIN:
        return _domain(authority(url), hostname(url))
    if scope is Scope.PREFIX:
        path = url.partition("?")[0]
        return path[path.find("//") : path.rfind("/") + 1]
    return ""


@lru_cache(maxsize=10_000)
def _domain(host_and_port: str, host: str) -> str:
    """The registrable domain; addresses, localhost and public suffixes stand for host and port alone."""
    if is_address(host) or "." not in host:
        return host_and_port
    return _suffixes().privatesuffix(host) or host_and_port


@cache
def _suffixes() -> "PublicSuffixList":
    # Read only when a crawl asks for this scope: it takes 30 ms and 2 MB.
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415

    return PublicSuffixList()
