"""Proxies, taken in turn: each host keeps to one, and one that fails is set aside for a while."""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import unquote, urlsplit

from holdfast.domain.errors import AccessRefused
from holdfast.domain.url import join
from holdfast.web.access.variables import BY_VARIABLE, Lookup, resolved

SCHEMES: Final = ("http", "https", "socks5", "socks5h")
ASIDE_S: Final = 30.0
MOST_ASIDE_S: Final = 600.0
MOST_HOSTS: Final = 10_000
DOUBTFUL: Final = "proxy_failed"
"""Reason of a fetch that came to nothing behind the proxy: this one may still do for other hosts."""
FAULTS: Final = frozenset(
    {"proxy_dns", "proxy_refused", "proxy_timeout", "proxy_unreachable", "proxy_auth", "proxy_tls", DOUBTFUL}
)
"""Reasons of a failed fetch for which another proxy may do better; `web.reasons` says what they mean."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A way to hosts."""

    url: str
    """Scheme, host and port: what may be shown."""
    user: str = field(repr=False, default="")
    password: str = field(repr=False, default="")

    @classmethod
    def read(cls, text: str, where: str) -> Self:
        """From a URL with or without user and password; AccessRefused, which quotes nothing of it, for what is none."""
        fault = AccessRefused(
            f"{where} is no proxy: write SCHEME://HOST:PORT with one of the schemes {', '.join(SCHEMES)}"
        )
        try:
            parts = urlsplit(text.strip())
            port, host = parts.port, parts.hostname or ""
        except ValueError:
            raise fault from None
        stands_alone = parts.path in {"", "/"} and not parts.query and not parts.fragment
        known = join("about:blank", f"http://[{host}]/" if ":" in host else f"http://{host}/")
        if parts.scheme not in SCHEMES or not host or not port or not stands_alone or known is None:
            raise fault
        address = known.removeprefix("http://").rstrip("/")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if not (user + password).isprintable() or ":" in user:
            raise fault
        return cls(f"{parts.scheme}://{address}:{port}", user, password)

    @property
    def scheme(self) -> str:
        """How one speaks with it."""
        return self.url.partition(":")[0]


@dataclass(slots=True)
class _State:
    """How a proxy has done of late. On the monotonic clock."""

    proxy: Proxy
    until: float = 0.0
    failures: int = 0


class Proxies:
    """The choice among proxies. One that fails is left alone for 30 s, then twice as long, up to ten minutes."""

    def __init__(self, proxies: Sequence[Proxy]) -> None:
        self._states = [_State(proxy) for proxy in proxies]
        self._next = 0
        self._of_host: OrderedDict[str, _State] = OrderedDict()

    def __len__(self) -> int:
        return len(self._states)

    def choose(self, host: str, now: float) -> Proxy:
        """The host's own; when that is set aside, the next in turn; when all are, the one that is free first."""
        state = self._of_host.get(host)
        if state is None or state.until > now:
            state = self._in_turn(now) or min(self._states, key=lambda state: state.until)
            self._keep_to(host, state)
        return state.proxy

    def another(self, host: str, tried: Collection[Proxy], now: float) -> Proxy | None:
        """One that is not set aside, beside those; from now on it is the host's own. None if there is none."""
        state = self._in_turn(now, tried)
        if state is None:
            return None
        self._keep_to(host, state)
        return state.proxy

    def failed(self, proxy: Proxy, reason: str, now: float) -> None:
        """Set it aside, unless the host may be to blame as well. Those that were in flight with it count once."""
        state = self._state(proxy)
        if reason != DOUBTFUL and state.until <= now:
            state.until = now + min(ASIDE_S * 2.0 ** min(state.failures, 30), MOST_ASIDE_S)
            state.failures += 1

    def answered(self, proxy: Proxy) -> None:
        """It works."""
        state = self._state(proxy)
        if state.failures:
            state.failures, state.until = 0, 0.0

    def _in_turn(self, now: float, tried: Collection[Proxy] = ()) -> _State | None:
        count = len(self._states)
        for offset in range(count):
            place = (self._next + offset) % count
            state = self._states[place]
            if state.until <= now and state.proxy not in tried:
                self._next = (place + 1) % count
                return state
        return None

    def _keep_to(self, host: str, state: _State) -> None:
        self._of_host[host] = state
        if len(self._of_host) > MOST_HOSTS:
            self._of_host.popitem(last=False)

    def _state(self, proxy: Proxy) -> _State:
        return next(state for state in self._states if state.proxy is proxy)


def proxies_of(texts: Sequence[str], lookup: Lookup) -> Proxies | None:
    """The proxies that a person named, by URL or as `env:NAME`; None where there are none."""
    found = []
    for number, text in enumerate(texts, 1):
        where = text if text.startswith(BY_VARIABLE) else f"proxy {number} of {len(texts)}"
        found.append(Proxy.read(resolved(text, lookup, where), where))
    return Proxies(found) if found else None
