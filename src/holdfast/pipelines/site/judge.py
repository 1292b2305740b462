"""Whether an address belongs to the crawl: decided from the spec and the URL alone.

A rule is asked for its verdict, link by link; `explain` asks the same rules for what they go by.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Protocol

from holdfast.domain.url import MAX_URL_BYTES, Base, authority, hostname, is_address
from holdfast.pipelines.site.spec import Scope, SiteSpec
from holdfast.pipelines.site.stripping import stripping
from holdfast.pipelines.site.traps import Trap, caught

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


class SkipReason(StrEnum):
    """Why a link is not followed. In this order, then the traps: the first that holds is the reason."""

    EXTERNAL = "external"
    """Out of scope."""
    TOO_LONG = "too_long"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not_included"
    DEPTH = "depth"
    NOFOLLOW = "nofollow"
    """The page asks not to follow it."""


Verdict = SkipReason | Trap


@dataclass(frozen=True, slots=True)
class Ruling:
    """What one rule says of an address. The first with a verdict decides."""

    rule: str
    verdict: Verdict | None
    says: str
    """What it goes by: the pattern, the trap's sign, the limit."""


class Rule(Protocol):
    """A function of the URL alone, so that it may be remembered per link."""

    @property
    def name(self) -> str:
        """What it looks at."""

    def verdict(self, url: str) -> Verdict | None:
        """Why the address is not followed; None where the rule lets it pass."""

    def says(self, url: str) -> str:
        """What the verdict goes by."""


class Judge:
    """The verdicts of one crawl with its present seeds. The same question always gets the same answer.

    Seeds are the start URLs and what they redirect to: they are admitted whatever the rules say, and the
    scope is drawn around them.
    """

    def __init__(self, spec: SiteSpec, max_depth: int | None, seeds: Iterable[str]) -> None:
        self.seeds = frozenset(seeds)
        self.avoids_traps = spec.traps.avoid
        self._strip = stripping(spec.strip_params) if spec.strip_params else None
        self._max_depth = max_depth
        self._scope = _InScope(spec.scope, self.seeds)
        patterns: list[Rule] = [_Excluded(pattern) for pattern in spec.exclude]
        if spec.include:
            patterns.append(_Included(spec.include))
        traps: list[Rule] = [_Traps()] if spec.traps.avoid else []
        self._rules: tuple[Rule, ...] = (self._scope, _Length(), *patterns, *traps)
        self._verdicts = tuple(rule.verdict for rule in self._rules)

    def joining(self, base: str) -> Callable[[str], str | None]:
        """How the links of a page are read: joined to its base, and without the parameters that are to be stripped."""
        join, strip = Base(base).join, self._strip
        if strip is None:
            return join
        return lambda href: None if (url := join(href)) is None else strip(url)

    def stripped(self, url: str) -> str:
        """As it would be read in a link."""
        return url if self._strip is None else self._strip(url)

    def judge(self, url: str, depth: int) -> Verdict | None:
        """None when the URL is admitted at that depth, else the reason why not."""
        reason = self.reason(url)
        if reason is None and self.too_deep(depth) and url not in self.seeds:
            return SkipReason.DEPTH
        return reason

    def judge_target(self, url: str, depth: int) -> Verdict | None:
        """The same for where a redirect leads.

        That a server hands out a session id by a redirect is no trap: there is one such target for each address.
        """
        verdict = self.judge(url, depth)
        if verdict is Trap.SESSION:
            return self._depth_verdict(depth)
        return verdict

    def too_deep(self, depth: int) -> bool:
        """Whether nothing but seeds is admitted at that depth."""
        return self._max_depth is not None and depth > self._max_depth

    def reason(self, url: str) -> Verdict | None:
        """The verdict as far as it doesn't depend on depth."""
        if url in self.seeds:
            return None
        for verdict_on in self._verdicts:
            verdict = verdict_on(url)
            if verdict is not None:
                return verdict
        return None

    def inside(self, url: str) -> bool:
        """Whether it is on a seed's site."""
        return self._scope.holds(url)

    def explain(self, url: str, depth: int | None, *, target: bool = False) -> list[Ruling]:
        """What each rule says, in the order in which they are asked, up to the one that decides.

        `depth` None is that of an address which nobody has found. `target`: a redirect leads there, and it is judged
        as such.
        """
        if url in self.seeds:
            return [Ruling("start URL", None, "it is one, or what one redirects to, and so always admitted")]
        rulings = []
        for rule in self._rules:
            verdict, says = rule.verdict(url), rule.says(url)
            if target and verdict is Trap.SESSION:
                verdict, says = None, f"{says}, but a redirect leads there"
            rulings.append(Ruling(rule.name, verdict, says))
            if verdict is not None:
                return rulings
        limit = "without a limit" if self._max_depth is None else f"at most {self._max_depth}"
        if depth is None:
            return [*rulings, Ruling("depth", None, limit)]
        return [*rulings, Ruling("depth", self._depth_verdict(depth), f"{depth}, {limit}")]

    def _depth_verdict(self, depth: int) -> Verdict | None:
        return SkipReason.DEPTH if self.too_deep(depth) else None


class _InScope:
    name = "scope"

    def __init__(self, scope: Scope, seeds: Iterable[str]) -> None:
        self._scope = scope
        self._sites = frozenset(_site(url, scope) for url in seeds)
        self._prefixes = tuple(self._sites)

    def holds(self, url: str) -> bool:
        if self._scope is Scope.PREFIX:
            return url[url.find("//") :].startswith(self._prefixes)
        return self._scope is Scope.ANY or _site(url, self._scope) in self._sites

    def verdict(self, url: str) -> Verdict | None:
        return None if self.holds(url) else SkipReason.EXTERNAL

    def says(self, url: str) -> str:
        if self._scope is Scope.ANY:
            return "any address belongs to it"
        sites = sorted(self._sites)
        shown = ", ".join(sites[:_SITES_SHOWN]) + (", ..." if len(sites) > _SITES_SHOWN else "")
        return f"--scope {self._scope.value}: {_site(url, self._scope)} against {shown}"


class _Length:
    name = "length"

    def verdict(self, url: str) -> Verdict | None:
        return SkipReason.TOO_LONG if len(url) > MAX_URL_BYTES else None

    def says(self, url: str) -> str:
        return f"{len(url)} bytes, at most {MAX_URL_BYTES}"


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that is asked about every address: by RE2, which no address can hold up.

    What RE2 doesn't know (looking around, backreferences) is left to Python's own engine, which can be held up.
    """
    import re2  # noqa: PLC0415 - few crawls have patterns

    options = re2.Options()
    options.log_errors = False
    try:
        found: re.Pattern[str] = re2.compile(pattern, options)
    except re2.error:
        return re.compile(pattern)
    return found


class _Excluded:
    name = "--exclude"

    def __init__(self, pattern: str) -> None:
        self._pattern = compiled(pattern)

    def verdict(self, url: str) -> Verdict | None:
        return SkipReason.EXCLUDED if self._pattern.search(url) else None

    def says(self, url: str) -> str:
        found = self._pattern.search(url)
        return f"{self._pattern.pattern} {f'fits {found.group()!r}' if found else 'fits nothing in it'}"


class _Included:
    name = "--include"

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [compiled(pattern) for pattern in patterns]

    def verdict(self, url: str) -> Verdict | None:
        return None if any(pattern.search(url) for pattern in self._patterns) else SkipReason.NOT_INCLUDED

    def says(self, url: str) -> str:
        fits = next((pattern.pattern for pattern in self._patterns if pattern.search(url)), None)
        if fits is not None:
            return f"{fits} fits"
        return f"none fits of {', '.join(pattern.pattern for pattern in self._patterns)}"


class _Traps:
    name = "traps"

    def verdict(self, url: str) -> Verdict | None:
        shown = caught(url)
        return None if shown is None else shown.trap

    def says(self, url: str) -> str:
        shown = caught(url)
        return "no sign of one" if shown is None else shown.sign


_SITES_SHOWN = 3


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
