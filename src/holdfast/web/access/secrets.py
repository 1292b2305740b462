"""Who is sent what: a request's secret headers, and the same request as it may be written down."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from holdfast.web.access.cookies import Jar
from holdfast.web.access.places import Origin, Places
from holdfast.web.head import Headers

HIDDEN: Final = "[hidden]"
"""Stands where a secret was."""
_MOST_ORIGINS: Final = 10_000
_LEAST_CHARS: Final = 6
"""A shorter value is found everywhere, and hides nothing."""
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]{0,8190}[\x21-\x7e])?")
_CONNECTION: Final = frozenset(
    {
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "range",
    }
    | {"keep-alive", "proxy-connection", "proxy-authorization", "accept-encoding"}
)
_READ_BACK: Final = frozenset(
    {"content-length", "content-encoding", "content-type", "transfer-encoding", "date"}
)


def header_fault(name: str, value: str) -> str | None:
    """Why nobody may have that header sent, without its value; None if it can be."""
    if not _NAME.fullmatch(name):
        return "that is no header's name"
    if name.lower() in _CONNECTION:
        return f"{name} is the connection's own"
    return None if _VALUE.fullmatch(value) else "its value isn't one line of ASCII text"


@dataclass(frozen=True, slots=True)
class Grant:
    """What is sent to some places."""

    places: Places
    headers: Headers = field(repr=False, default=())
    cookies: Headers = field(repr=False, default=())


class Access:
    """All grants. An origin gets the one that fits it best, and nothing of the others."""

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._grants = sorted(grants, key=lambda grant: grant.places.closeness, reverse=True)
        self._known: dict[Origin, Grant | None] = {}

    def of(self, origin: Origin) -> Grant | None:
        """What that origin is sent."""
        if origin in self._known:
            return self._known[origin]
        if len(self._known) >= _MOST_ORIGINS:
            self._known.clear()
        grant = next((grant for grant in self._grants if grant.places.hold(origin)), None)
        self._known[origin] = grant
        return grant


@dataclass(frozen=True, slots=True)
class Lent:
    """What one request carries beyond what every request does."""

    headers: Headers = field(repr=False)
    hidden: Headers
    """The same as it may be written down."""
    _values: tuple[str, ...] = field(repr=False)

    def told(self, headers: Headers) -> Headers:
        """The response's headers as they may be written down: no cookie's value, and nothing that we sent."""
        return tuple((name, self._without(name.lower(), value)) for name, value in headers)

    def _without(self, name: str, value: str) -> str:
        if name in {"set-cookie", "set-cookie2"}:
            key, _, rest = value.partition("=")
            attributes = rest.partition(";")
            return f"{key}={HIDDEN}{attributes[1]}{attributes[2]}"
        if name not in _READ_BACK:
            for secret in self._values:
                value = value.replace(secret, HIDDEN)
        return value


class Credentials:
    """The secrets of a claim: the access file's and the jar's."""

    def __init__(self, access: Access, jar: Jar, *, keep: bool) -> None:
        """`keep`: cookies that responses set go into the jar."""
        self._access = access
        self._jar = jar
        self._keep = keep

    def lend(self, url: str, now: float, asked: Headers = ()) -> Lent | None:
        """For a request to that URL with those headers of its own; None where there is nothing to keep secret."""
        grant = self._access.of(Origin.of(url))
        cookies = {cookie.name: cookie.value for cookie in reversed(self._jar.of(url, now))}
        if grant is not None:
            cookies |= dict(grant.cookies)
        if grant is None and not cookies and not self._keep:
            return None
        for name, value in asked:
            if name.lower() == "cookie":
                cookies |= dict(pair.strip().partition("=")[::2] for pair in value.split(";"))
        headers = tuple(pair for pair in asked if pair[0].lower() != "cookie")
        secret = grant.headers if grant is not None else ()
        hidden = tuple((name, _scheme(value)) for name, value in secret)
        if cookies:
            secret = (*secret, ("Cookie", "; ".join(f"{name}={value}" for name, value in cookies.items())))
            hidden = (*hidden, ("Cookie", "; ".join(f"{name}={HIDDEN}" for name in cookies)))
        values = [value.rpartition(" ")[2] for name, value in secret if name != "Cookie"]
        values += [value for _, value in secret] + list(cookies.values())
        known = {value for value in values if len(value) >= _LEAST_CHARS}
        return Lent((*headers, *secret), (*headers, *hidden), tuple(sorted(known, key=len, reverse=True)))

    def take(self, url: str, headers: Headers, now: float) -> None:
        """Keep what a response's cookies say, if they are to be kept."""
        if self._keep:
            for name, value in headers:
                if name.lower() == "set-cookie":
                    self._jar.take(url, value, now)


def _scheme(value: str) -> str:
    """`Basic [hidden]`, `Bearer [hidden]`; of other headers nothing stays."""
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {HIDDEN}" if space and scheme in {"Basic", "Bearer"} else HIDDEN
