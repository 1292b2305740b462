"""Crawler traps that an address shows by itself, or a page by its links; and addresses without their session ids.

Each rule is a function of the URL, or of one page, alone: the same question gets the same answer, in whatever order
links are found, and after any kill. docs/explanation/traps.md says what each means to catch, and what it must never.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from holdfast.domain.url import join

MAX_SEGMENTS = 30
"""Paths with more segments lead nowhere that a shorter one doesn't."""
TIMES = 3
"""So often may neither a series of segments stand in a row, nor a parameter with its value in a query."""
TIMES_ALONE = 4
"""Likewise a segment by itself: three in a row do occur."""
MANY_WORDS = 8
"""From so many on, more than half of a path's words have to differ."""
MANY_SEGMENTS = 12
"""Likewise of all its segments, numbers included."""
LAST_YEAR = 2099


class Trap(StrEnum):
    """Why an address is taken for a trap. In this order: the first that holds is the reason."""

    SESSION = "trap_session"
    """It carries a session id: the same address without one is followed in its place."""
    DEEP = "trap_deep"
    REPEATED = "trap_repeated"
    GROWING = "trap_growing"
    DATE = "trap_date"
    """So far the address alone shows it."""
    LOOP = "trap_loop"
    """The page that names it names, below itself, the very directories that it lies in."""
    BARREN = "trap_barren"
    """From here on it is known when it is its turn, by what addresses like it gave: see `families`."""
    ORDER = "trap_order"
    FACETS = "trap_facets"


@dataclass(frozen=True, slots=True)
class TrapRules:
    """What a crawl was asked to do about traps."""

    avoid: bool = True


@dataclass(frozen=True, slots=True)
class Caught:
    """A trap, and by what it shows."""

    trap: Trap
    sign: str


def caught(url: str) -> Caught | None:
    """The trap that a canonical URL shows by itself, or None. A few microseconds: asked once for each new link."""
    has_query = "?" in url
    if (has_query or ";" in url or "(" in url) and (session := _SESSION.search(url)):
        return Caught(Trap.SESSION, f"it carries a session id: {session.group().strip('?&;/')}")
    if url.count("/") > _FEW_SLASHES and (shown := _in_path(url.partition("?")[0].split("/")[3:])):
        return shown
    if has_query and (shown := _in_query(url)):
        return shown
    return _of_dates(url) if has_query or "-" in url else None


def sessionless(url: str) -> str:
    """The same address without its session ids; itself if it has none."""
    bare = _SESSION.sub(lambda id_: "?" if id_.group()[0] == "?" else "", url)
    if bare == url:
        return url
    path, mark, query = bare.partition("?")
    query = query.lstrip("&;")
    return join("about:blank", path + mark + query) or url


def loop_below(base: str, urls: Iterable[str]) -> str | None:
    """The directory of a page whose links below it would lead round in circles for ever; None where they don't.

    A server that answers each path with the same page gives it links relative to wherever it is asked: at /news/team/
    it leads to /news/team/news/ and /news/team/team/. Such a page names the directories that it lies in below itself.
    """
    directory = base.partition("?")[0]
    directory = directory[: directory.rfind("/") + 1]
    segments = directory.split("/")
    if len(segments) < _TWO_DEEP:
        return None
    own = {segment for segment in segments[-3:-1] if len(segment) >= _A_WORD and not segment.isdigit()}
    if len(own) < 2:  # noqa: PLR2004 - a directory and the one above it, differently named
        return None
    below = {
        url[len(directory) :].partition("/")[0].partition("?")[0] for url in urls if url.startswith(directory)
    }
    return directory if own <= below else None


_FEW_SLASHES = 5
# What precedes a parameter goes with it, so that none but the first needs to be mended afterwards.
_SESSION = re.compile(
    r";jsessionid=[^/?;&]*"
    r"|[?&;](?:phpsessid|jsessionid|aspsessionid[a-z]*|zenid|oscsid|xtcsid|cftoken|cfid)=[^&;]*"
    r"|[?&;](?:sid|s|sess|session|sessid|session_?id)=(?:[0-9a-f]{32,}|(?=(?:[a-z]*\d){3})[0-9a-z]{26,})(?=[&;]|$)"
    r"|/\(S\([0-9a-z]{24}\)\)(?=/)",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"[/=_](\d{4})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\w)"
    r"|[?&;](?:date|day|week|month|start|from|time|cal)\w*=(\d{4})-?(?:0[1-9]|1[0-2])(?!\w)"
    r"|[?&;](?:year|yr|jahr|annee|ann?o)=(\d{4})(?!\w)",
    re.IGNORECASE,
)
_TWICE_ESCAPED = "%252525"
_MAX_INNER = 3
_TWO_DEEP = 6
# Shorter names are shards (/a/b/, /0f/3c/), which do hold directories of the same names.
_A_WORD = 3


def _in_path(segments: list[str]) -> Caught | None:
    if len(segments) > MAX_SEGMENTS:
        return Caught(Trap.DEEP, f"its path has {len(segments)} segments, at most {MAX_SEGMENTS}")
    if len(set(segments)) == len(segments):
        return None
    for length in range(1, len(segments) // TIMES + 1):
        series = _series(segments, length)
        if series:
            times = TIMES_ALONE if length == 1 else TIMES
            return Caught(Trap.REPEATED, f"{'/'.join(series)} stands {times} times in a row")
    for parts, many in ((_words(segments), MANY_WORDS), (segments, MANY_SEGMENTS)):
        if len(parts) >= many and len(different := set(parts)) * 2 <= len(parts):
            return Caught(
                Trap.REPEATED, f"{len(parts)} segments, and only {len(different)} of them different"
            )
    return None


def _words(segments: list[str]) -> list[str]:
    return [segment for segment in segments if segment and not segment.isdigit()]


def _series(segments: list[str], length: int) -> list[str] | None:
    """The first series of that many segments that stands too often in a row; numbers alone make none."""
    needed = length * ((TIMES_ALONE if length == 1 else TIMES) - 1)
    same = 0
    for index in range(len(segments) - length):
        same = same + 1 if segments[index] == segments[index + length] else 0
        if same >= needed:
            series = segments[index + 1 : index + 1 + length]
            if not all(segment.isdigit() or not segment for segment in series):
                return series
    return None


def _of_dates(url: str) -> Caught | None:
    date = _DATE.search(url)
    if date is None or date.group(date.lastindex or 0) <= str(LAST_YEAR):
        return None
    return Caught(Trap.DATE, f"a date after {LAST_YEAR}: {date.group().strip('/?&;=')}")


def _in_query(url: str) -> Caught | None:
    query = url.partition("?")[2]
    if _TWICE_ESCAPED in query:
        return Caught(Trap.GROWING, "an address within an address, escaped four times over")
    if query.count("://") + query.count("%3A%2F%2F") > _MAX_INNER:
        return Caught(Trap.GROWING, "addresses within an address")
    if query.count("&") >= TIMES - 1:
        pair, times = Counter(query.split("&")).most_common(1)[0]
        if times >= TIMES and pair and pair[-1] != "=":
            return Caught(Trap.GROWING, f"{pair} stands {times} times in its query")
    return None
