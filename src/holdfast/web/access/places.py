"""Whose secrets they are: an origin, a host, or the subdomains of one."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from holdfast.domain.errors import AccessRefused, UsageError
from holdfast.domain.url import canonical, hostname, is_address

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Whom a request goes to."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Self:
        """From a canonical URL."""
        parts = urlsplit(url)
        return cls(parts.scheme, hostname(url), parts.port or _PORTS[parts.scheme])


@dataclass(frozen=True, slots=True)
class Places:
    """The origins that a table of the access file is for."""

    origin: Origin
    below: bool
    """All subdomains of the host, and not the host itself."""

    @classmethod
    def read(cls, text: str) -> Self:
        """`https://example.com:8443`, `example.com` (by https) or `*.example.com`; AccessRefused for anything else.

        Nothing goes over plain http unless the place says `http://` itself.
        """
        scheme, found, rest = text.strip().partition("://")
        if not found:
            scheme, rest = "https", scheme
        below = rest.startswith("*.")
        host = rest.removeprefix("*.").removesuffix("/")
        try:
            url = (
                canonical(f"{scheme}://{host}/")
                if scheme in _PORTS and not set(host) & set("/?#@* \\")
                else ""
            )
        except UsageError:
            url = ""
        if not url:
            raise AccessRefused(
                f"{text[:80]!r} is no place: write an origin (https://example.com), a host (example.com, by https "
                "only) or its subdomains (*.example.com)"
            )
        origin = Origin.of(url)
        if below and (is_address(origin.host) or is_public_suffix(origin.host)):
            raise AccessRefused(f"{text[:80]!r} would mean other people's hosts, too; name yours")
        return cls(origin, below)

    def hold(self, origin: Origin) -> bool:
        """Whether what belongs there may be sent to that origin."""
        if not self.below:
            return origin == self.origin
        return (
            origin.host.endswith(f".{self.origin.host}")
            and origin.scheme == self.origin.scheme
            and origin.port == self.origin.port
        )

    @property
    def closeness(self) -> tuple[bool, int]:
        """Of two places that hold an origin, the one for which this is greater knows it better."""
        return (not self.below, len(self.origin.host))


def is_public_suffix(host: str) -> bool:
    """Whether strangers register names right below it, as below `com`, `co.uk` or `github.io`."""
    return bool(_suffixes().is_public(host))


@cache
def _suffixes() -> "PublicSuffixList":
    # Read only where somebody has cookies or names subdomains: it takes 30 ms and 2 MB.
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415

    return PublicSuffixList()
