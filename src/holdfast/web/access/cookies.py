"""Cookies as RFC 6265 has them: which are sent to a URL, and what a response's `Set-Cookie` means."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from holdfast.domain.retry import parse_http_date
from holdfast.domain.url import hostname, is_address
from holdfast.web.access.places import is_public_suffix

_MOST_BYTES: Final = 4096
_MOST_OF_A_HOST: Final = 50
_MOST: Final = 3000


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie, and whom it is for."""

    name: str
    value: str = field(repr=False)
    host: str
    below: bool
    """Subdomains get it, too."""
    path: str = "/"
    secure: bool = False
    """Only by https."""
    expires: float | None = None
    """Seconds since 1970; None: it lasts as long as the jar."""

    def is_for(self, host: str, path: str, *, secure: bool) -> bool:
        """Whether a request there carries it, as long as it lasts."""
        there = host == self.host or (self.below and host.endswith(f".{self.host}") and not is_address(host))
        return there and (secure or not self.secure) and _below(path, self.path)


class Jar:
    """The cookies of one claim. They are never stored; a jar that takes none from responses stays as it began."""

    def __init__(self, cookies: Iterable[Cookie] = ()) -> None:
        self._by_key: dict[tuple[str, str, str], Cookie] = {}
        for cookie in cookies:
            self._put(cookie)

    def of(self, url: str, now: float) -> list[Cookie]:
        """What a request to that canonical URL carries, in the order in which it does."""
        parts = urlsplit(url)
        host, secure = hostname(url), parts.scheme == "https"
        found = [
            cookie
            for cookie in self._by_key.values()
            if cookie.is_for(host, parts.path, secure=secure)
            and (cookie.expires is None or cookie.expires > now)
        ]
        return sorted(found, key=lambda cookie: -len(cookie.path))

    def take(self, url: str, set_cookie: str, now: float) -> None:
        """What a `Set-Cookie` header of that URL's response says; nothing happens if it may not say that."""
        cookie = _parsed(url, set_cookie, now)
        if cookie is None:
            return
        known = self._by_key.get(_key(cookie))
        if known is not None and known.secure and not url.startswith("https:"):
            return
        if cookie.expires is not None and cookie.expires <= now:
            self._by_key.pop(_key(cookie), None)
        else:
            self._put(cookie)

    def _put(self, cookie: Cookie) -> None:
        key = _key(cookie)
        self._by_key.pop(key, None)
        self._by_key[key] = cookie
        of_host = [other for other in self._by_key if other[0] == cookie.host]
        if len(of_host) > _MOST_OF_A_HOST:
            del self._by_key[of_host[0]]
        if len(self._by_key) > _MOST:
            del self._by_key[next(iter(self._by_key))]


def _key(cookie: Cookie) -> tuple[str, str, str]:
    return cookie.host, cookie.path, cookie.name


def _below(path: str, above: str) -> bool:
    return path.startswith(above) and (above.endswith("/") or path[len(above) :][:1] in {"", "/"})


def _parsed(url: str, text: str, now: float) -> Cookie | None:
    """RFC 6265, 5.2 and 5.3; None for what is to be ignored."""
    pair, _, rest = text.partition(";")
    name, equals, value = (part.strip(" \t") for part in pair.partition("="))
    if not equals or not name or len(text) > _MOST_BYTES or not text.isprintable():
        return None
    host = hostname(url)
    cookie = Cookie(name, value, host, below=False, path=urlsplit(url).path.rpartition("/")[0] or "/")
    max_age: float | None = None
    for key, given in _attributes(rest):
        match key:
            case "domain" if given:
                domain = _domain(host, given.removeprefix(".").lower())
                if domain is None:
                    return None
                cookie = replace(cookie, host=domain[0], below=domain[1])
            case "path" if given.startswith("/"):
                cookie = replace(cookie, path=given)
            case "secure":
                cookie = replace(cookie, secure=True)
            case "expires":
                cookie = replace(cookie, expires=parse_http_date(given, now))
            case "max-age" if given.removeprefix("-").isdecimal():
                max_age = now + min(int(given[:11]), 10**10)
    if cookie.secure and not url.startswith("https:"):
        return None
    return cookie if max_age is None else replace(cookie, expires=max_age)


def _attributes(text: str) -> Iterator[tuple[str, str]]:
    for attribute in text.split(";"):
        key, _, given = attribute.partition("=")
        yield key.strip(" \t").lower(), given.strip(" \t")


def _domain(host: str, domain: str) -> tuple[str, bool] | None:
    """Whom a cookie with a domain is for, and whether for subdomains too; None where the host has no say there."""
    if domain == host:
        return host, not is_address(host) and not is_public_suffix(host)
    within = host.endswith(f".{domain}") and not is_address(host) and not is_public_suffix(domain)
    return (domain, True) if within else None
