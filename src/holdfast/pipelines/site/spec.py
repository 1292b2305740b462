"""What a site crawl was asked for."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self, TypedDict, Unpack

from holdfast.crawl import stored
from holdfast.crawl.reach import Reach, check_user_agent
from holdfast.domain.errors import UsageError
from holdfast.domain.url import canonical, from_user
from holdfast.pipelines.site.discovery import Discovery
from holdfast.pipelines.site.mime import MimeRules
from holdfast.pipelines.site.renderrules import RenderRules
from holdfast.pipelines.site.stripping import checked
from holdfast.pipelines.site.traps import TrapRules

KIND = "site"
MAX_EXTERNAL = 10_000

_MAX_IDENTITY_CHARS = 400


class Scope(StrEnum):
    """Which addresses belong to the site, seen from its start URLs."""

    HOST = "host"
    """The same host and port, by http or https."""
    DOMAIN = "domain"
    """The same registrable domain: every subdomain, any port."""
    PREFIX = "prefix"
    """The same host and port, below the start URL's directory."""
    ANY = "any"
    """The whole web."""


class Choices(TypedDict, total=False):
    """What a person may ask for beside URLs and scope: see SiteSpec."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    ignore_robots: bool
    user_agent: str | None
    max_external: int
    reach: Reach
    traps: TrapRules
    strip_params: tuple[str, ...]
    fields: tuple[str, ...]
    discovery: Discovery
    mime: MimeRules
    render: RenderRules


@dataclass(frozen=True, slots=True)
class SiteSpec:
    """A site crawl, checked: every SiteSpec that exists can be run."""

    start_urls: tuple[str, ...]
    """Canonical, each once, in the order given."""
    scope: Scope = Scope.HOST
    include: tuple[str, ...] = ()
    """Regular expressions, searched for in the canonical URL: only what one of them fits is followed."""
    exclude: tuple[str, ...] = ()
    """Likewise: what one of them fits is not followed."""
    ignore_robots: bool = False
    user_agent: str | None = None
    """None means Holdfast's own, whatever its version."""
    max_external: int = MAX_EXTERNAL
    """So many links that lead out of scope are kept as items; the others are only counted."""
    fields: tuple[str, ...] = ()
    """What its rows have beside the usual columns, each as crawl.fields reads it."""
    reach: Reach = field(default_factory=Reach)
    traps: TrapRules = field(default_factory=TrapRules)
    strip_params: tuple[str, ...] = ()
    """Links are read without these parameters; a * at the end of a name stands for anything."""
    discovery: Discovery = field(default_factory=Discovery)
    mime: MimeRules = field(default_factory=MimeRules)
    render: RenderRules = field(default_factory=RenderRules)

    def __post_init__(self) -> None:
        if not self.start_urls:
            raise UsageError("there is nothing to crawl: give at least one start URL")
        for pattern in (*self.include, *self.exclude):
            _checked(pattern)
        checked(self.strip_params)
        check_user_agent(self.user_agent)
        if self.max_external < 0:
            raise UsageError(f"the cap of external links can't be negative, but is {self.max_external}")

    @classmethod
    def asked(cls, urls: Iterable[str], scope: str = Scope.HOST, **rest: Unpack[Choices]) -> Self:
        """The spec for what a person typed; UsageError says what to change."""
        if scope not in tuple(Scope):
            raise UsageError(f"there is no scope {scope!r}; use one of: {', '.join(Scope)}")
        start_urls = tuple(dict.fromkeys(from_user(url) for url in urls))
        return cls(start_urls, Scope(scope), **rest)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, for the ledger."""
        return stored.to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The spec that `to_json` gave. UsageError for anything unknown, missing or of the wrong type."""
        spec = stored.from_json(cls, data)
        return replace(spec, start_urls=tuple(canonical(url) for url in spec.start_urls))


def identity(name: str | None, spec: SiteSpec) -> str:
    """What makes two commands the same job: the name, else the kind and the start URLs in whatever order."""
    if name is not None:
        return f"name:{name}"
    text = f"{KIND}:{' '.join(sorted(spec.start_urls))}"
    if len(text) <= _MAX_IDENTITY_CHARS:
        return text
    return f"{text[:_MAX_IDENTITY_CHARS]}#{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def _checked(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "put a backslash before a character that is meant as itself"
        raise UsageError(f"{pattern!r} is not a regular expression: {error}; {hint}") from None
