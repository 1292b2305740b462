"""URLs: from what a person or a page wrote to the one form by which an address is known.

docs/reference/urls.md states the canonical form. What the rest relies on: it is ASCII, `canonical` maps it to
itself, and two links that it makes equal lead to the same resource on every server that keeps to RFC 3986.

Parsing is Ada's. A link costs one call of it (or none, if it is plain); what Ada doesn't
normalise is only looked for with a few substring tests, and repaired on a slow path that few links need.
"""

import re
from collections.abc import Callable
from hashlib import blake2b
from itertools import pairwise

from ada_url import join_url

from holdfast.domain.errors import UsageError

MAX_URL_BYTES = 8192
"""Longer URLs are known but never followed."""
MAX_HREF_CHARS = 65_536
"""What is longer than this in a page isn't taken for a link at all."""


class BadUrl(UsageError, ValueError):
    """That is no URL which we can crawl; the message says what to write instead."""


def canonical(url: str) -> str:
    """The canonical form of an absolute http(s) URL; BadUrl says what is wrong with it."""
    joined = join("about:blank", url)
    if joined is None:
        raise BadUrl(_complaint(url))
    if len(joined) > MAX_URL_BYTES:
        raise BadUrl(f"the URL {url[:60]!r}... has more than {MAX_URL_BYTES} bytes; shorten it")
    return joined


def from_user(text: str) -> str:
    """The canonical form of what a person typed: a missing scheme is filled in.

    `example.com` means https, `localhost:8000` and IP addresses mean http. Credentials are refused, since
    they would be stored and shown, and so is a single word: it is more often a mistyped option than a host.
    """
    typed = _with_scheme(text)
    url = canonical(typed)
    written = re.split(r"[/\\?#]", typed.split(":", 1)[1].lstrip("/\\"), maxsplit=1)[0]
    if "@" in written:
        raise BadUrl(f"credentials in a URL are not used: write {url} without them")
    return url


def _with_scheme(text: str) -> str:
    typed = text.strip()
    if not _SCHEME.match(typed):
        if typed.startswith(("/", ".", "?", "#")) or not typed:
            raise BadUrl(_complaint(text))
        typed = f"{_scheme_for(typed)}://{typed}"
        if not _HOST_LIKE.match(typed):
            raise BadUrl(_complaint(text))
    return typed


def steps_from_user(text: str) -> list[tuple[str, str]]:
    """How `from_user` comes to its answer: each step that changes something, with what it makes of it."""
    from_user(text)
    steps = [("as it was given", text.strip()), ("the missing scheme is filled in", _with_scheme(text))]
    steps.append(("read as a browser reads it", join_url("about:blank", steps[-1][1])))
    for what, repair in _REPAIRS:
        steps.append((what, repair(steps[-1][1]) or steps[-1][1]))
    return [steps[0], *(step for last, step in pairwise(steps) if step[1] != last[1])]


def join(base: str, href: str) -> str | None:
    """The canonical form of a link; None unless it is an http(s) URL. See Base, which is for many links of a page."""
    return Base(base).join(href)


def join_location(base: str, location: str) -> str | None:
    """The same for a Location header's value, whose bytes are read as Latin-1.

    Those beyond ASCII are percent-encoded as they came, as browsers do, whatever characters they stand for.
    """
    return join(base, _RAW_BYTE.sub(lambda byte: f"%{ord(byte.group()):02X}", location))


class Base:
    """What the links of a page are relative to: its URL, absolute and serialised (canonical, or what `join` gave)."""

    __slots__ = ("_directories", "_origin", "_url")

    def __init__(self, url: str) -> None:
        self._url = url
        self._origin = origin(url) if url.startswith(_WEB) else None
        path = url.partition("?")[0]
        self._directories = [path[: path.rfind("/") + 1]]
        """Where plain names begin: here, one level up, two, ... as far as a link has asked."""

    def join(self, href: str) -> str | None:
        """The canonical form of a link; None unless it is an http(s) URL.

        May be longer than MAX_URL_BYTES: who follows links has to look.
        """
        url = self._plainly(href)
        if url is not None:
            return url
        if len(href) > MAX_HREF_CHARS or href.startswith(_ELSEWHERE):
            return None
        try:
            url = join_url(self._url, href)
        except ValueError:
            return None
        if (
            "%" in url
            or "#" in url
            or "@" in url
            or ".." in url
            or "./" in url
            or "//." in url
            or ".:" in url
            or url[-1:] == "?"
        ):
            return _repaired(url)
        return url if url.startswith(_WEB) else None

    def _plainly(self, href: str) -> str | None:
        """The join of links that need no parser: plain paths, and plain URLs of the same origin. Most links are."""
        own = self._origin
        if own is None:
            return None
        if href.startswith("#"):
            return self._url
        if plain := _PLAIN_NAMES.fullmatch(href):
            return self._up(plain.end(1) // 3) + plain[2]
        if plain := _PLAIN_PATH.fullmatch(href):
            return own + plain[1]
        if href.startswith(own) and (plain := _PLAIN_PATH.fullmatch(href, len(own))):
            return own + plain[1]
        return None

    def _up(self, levels: int) -> str:
        """The directory so many levels up; above the root is the root."""
        known = self._directories
        while len(known) <= levels:
            last = known[-1]
            above = last[: last.rfind("/", 0, -1) + 1]
            known.append(above if len(above) > len(self._origin or "") else last)
        return known[levels]


def fingerprint(url: str) -> bytes:
    """128 bits that stand for a canonical URL: among 10^12 URLs the odds of any collision are 10^-15."""
    return blake2b(url.encode(), digest_size=16).digest()


def fingerprint_as(kind: str, url: str) -> bytes:
    """Likewise for a canonical URL that is another item for each kind as which it is asked for."""
    return fingerprint(f"{kind} {url}")


def origin(url: str) -> str:
    """Scheme, host and port of a canonical URL: whom to ask, the key of politeness and of robots.txt."""
    return url[: url.find("/", 8)]


def authority(url: str) -> str:
    """Host, and port unless it is the scheme's own, of a canonical URL."""
    start = url.find("//") + 2
    return url[start : url.find("/", start)]


def hostname(url: str) -> str:
    """The host alone of a canonical URL; an IPv6 address keeps its brackets."""
    host = authority(url)
    return host[: host.find("]") + 1] if host[0] == "[" else host.partition(":")[0]


def is_address(host: str) -> bool:
    """Whether a canonical host is an IP address. Ada has turned every spelling of IPv4 into four numbers."""
    return host[0] == "[" or host.rpartition(".")[2].isdigit()


_WEB = ("http://", "https://")
_ELSEWHERE = ("mailto:", "javascript:", "tel:", "data:")
# Names and paths in which nothing needs work: no empty, dot-led or escaped segment. A fragment is dropped.
_PLAIN_SEGMENTS = r"[A-Za-z0-9_~-][A-Za-z0-9_.~-]*(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?"
_PLAIN_QUERY = r"(?:\?[A-Za-z0-9_.~=&;,+-]+)?"
_PLAIN_NAMES = re.compile(rf"((?:\.\./)*)({_PLAIN_SEGMENTS}{_PLAIN_QUERY})(?:#[^\r\n\t]*)?")
_PLAIN_PATH = re.compile(rf"(/{_PLAIN_SEGMENTS}{_PLAIN_QUERY})(?:#[^\r\n\t]*)?")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_RAW_BYTE = re.compile("[\x80-\xff]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEX = frozenset("0123456789abcdefABCDEF")

# `localhost:8000` and `example.com:8080/x` are a host and a port, not a scheme.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:[/?#]|$))")
_HOST_LIKE = re.compile(
    r"https?://(?:localhost\b|\[|[^/?#\s]*[^/?#\s.][.:][^/?#\s]|[^/?#\s.:]+/)", re.IGNORECASE
)
_LOCAL = re.compile(
    r"(?:localhost|[^/?#:]+\.localhost|\[[0-9a-f:.]+\]|\d+(?:\.\d+){3})(?=[:/?#]|$)", re.IGNORECASE
)


def _scheme_for(typed: str) -> str:
    return "http" if _LOCAL.match(typed) else "https"


def _complaint(text: str) -> str:
    shown = text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004 - what fits into a sentence
    scheme = _SCHEME.match(text.strip())
    if scheme and not scheme.group().lower().startswith(("http:", "https:")):
        return f"{shown!r} can't be crawled: only http:// and https:// URLs can"
    word = text.strip().lstrip("/.")
    if scheme or not word or word[0] in "?#":
        return f"{shown!r} is not a URL; write one like https://example.com/"
    guess = join("about:blank", f"{_scheme_for(word)}://{word}")
    if guess and len(guess) <= MAX_URL_BYTES:
        return f"{shown!r} is not a URL; did you mean {guess} ?"
    return f"{shown!r} is not a URL; write one like https://example.com/"


def _repaired(url: str) -> str | None:
    """What Ada leaves as it was written; None for a URL that nobody could ask for."""
    if not url.startswith(_WEB):
        return None
    repaired: str | None = url
    for _, repair in _REPAIRS:
        if repaired is not None:
            repaired = repair(repaired)
    return repaired


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def _without_empty_query(url: str) -> str:
    return url[:-1] if url[-1] == "?" and url.find("?") == len(url) - 1 else url


def _with_settled_authority(url: str) -> str | None:
    start = url.find("//") + 2
    end = url.find("/", start)
    host = _settled_authority(url[start:end])
    return None if host is None else url[:start] + host + url[end:]


def _with_settled_escapes(url: str) -> str:
    if "%" not in url:
        return url
    end = url.find("/", url.find("//") + 2)
    return url[:end] + _ESCAPE.sub(_settled_escape, url[end:])


_REPAIRS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("the fragment is dropped", _without_fragment),
    ("the empty query is dropped", _without_empty_query),
    ("user, password and the dot behind the host are dropped", _with_settled_authority),
    ("escapes are decoded where they needn't be, else in upper case", _with_settled_escapes),
)


def _settled_authority(written: str) -> str | None:
    """Without userinfo and the root's dot; None for a host with an empty label, which nobody answers to."""
    host, colon, port = written.rpartition("@")[2].partition(":")
    if host.startswith("["):
        return written.rpartition("@")[2]
    host = host.removesuffix(".")
    if not host or host[0] == "." or host[-1] == "." or ".." in host:
        return None
    return host + colon + port


def _settled_escape(match: re.Match[str]) -> str:
    char = chr(int(match.group()[1:], 16))
    if char not in _UNRESERVED:
        return match.group().upper()
    # Behind a stray "%" the decoded character could complete a new escape ("%%341" is not "%41").
    text, start = match.string, match.start()
    before = text[max(0, start - 2) : start]
    if before[-1:] == "%" or (before[:1] == "%" and before[1:] in _HEX):
        return match.group().upper()
    return char
