"""How a crawl finds addresses beyond links: what it looks for, and the kinds of items that are read only for addresses.

| kind of item | is | is looked for |
| --- | --- | --- |
| robots | a start host's robots.txt, for its Sitemap lines | with `sitemaps`, unless robots.txt is ignored |
| sitemap | /sitemap.xml of a start host, what robots.txt names | with `sitemaps` |
| sitemap:1, sitemap:2 | what so many sitemap indexes led to | where one names it |
| llms | llms.txt and llms-full.txt of a start host | with `llms` |
| feed | RSS or Atom | with `feeds`, where a page's head names it |

A sitemap is as deep as a link of the start page, 1, and what it lists is as deep as itself: as if the start page
linked to it. Likewise a feed, for the page that names it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from holdfast.domain.url import origin

PAGE: Final = "page"
ROBOTS_TXT: Final = "robots"
SITEMAP: Final = "sitemap"
LLMS: Final = "llms"
FEED: Final = "feed"

ABSENT: Final = "absent"
"""Why such an item was skipped: it isn't there."""
NESTING: Final = "nesting"
"""Why a sitemap was skipped when it was found: too many indexes led to it."""
MAX_NESTING: Final = 2
DEPTH: Final = 1
"""The depth of what is looked for on start hosts."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What is looked for. What a link leads to is read for what it is, whatever this says."""

    sitemaps: bool = True
    feeds: bool = False
    llms: bool = False
    follow_nofollow: bool = False
    """Follow links that a page asks not to follow."""


def well_known(
    discovery: Discovery, start_urls: Iterable[str], *, ignore_robots: bool
) -> list[tuple[str, str]]:
    """What may be there on the start hosts: address and kind."""
    paths = [("/robots.txt", ROBOTS_TXT)] if discovery.sitemaps and not ignore_robots else []
    paths += [("/sitemap.xml", SITEMAP)] if discovery.sitemaps else []
    paths += [("/llms.txt", LLMS), ("/llms-full.txt", LLMS)] if discovery.llms else []
    hosts = dict.fromkeys(origin(url) for url in start_urls)
    return [(host + path, kind) for host in hosts for path, kind in paths]


def nested(kind: str) -> tuple[str, bool]:
    """The kind of what an index of that kind names, and whether that is nested too deep."""
    level = int(kind.partition(":")[2] or 0) + 1 if kind.startswith(SITEMAP) else 1
    return f"{SITEMAP}:{level}", level > MAX_NESTING
