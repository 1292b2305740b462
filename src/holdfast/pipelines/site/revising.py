"""Another spec for a crawl that is there: what is taken over of it, and what it does to what the crawl knows."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from holdfast.crawl.setbacks import ROBOTS
from holdfast.pipelines.site.discovery import PAGE
from holdfast.pipelines.site.judge import Judge, SkipReason
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.pipelines.site.traps import Trap
from holdfast.ports.pipeline import Revised

JUDGED = frozenset(
    {
        SkipReason.EXTERNAL.value,
        SkipReason.TOO_LONG.value,
        SkipReason.EXCLUDED.value,
        SkipReason.NOT_INCLUDED.value,
        SkipReason.DEPTH.value,
        Trap.SESSION.value,
        Trap.DEEP.value,
        Trap.REPEATED.value,
        Trap.GROWING.value,
        Trap.DATE.value,
    }
)
"""The reasons that follow from an address and its depth alone, and so can be told without the page that names it."""


def revised(old: Mapping[str, Any], new: Mapping[str, Any]) -> Revised:
    """Start URLs are added, and those that it began with stay; all else is as it is asked for now."""
    was, asked = SiteSpec.from_json(old), SiteSpec.from_json(new)
    start_urls = tuple(dict.fromkeys((*was.start_urls, *asked.start_urls)))
    now = replace(asked, start_urls=start_urls)
    begins = len(start_urls) > len(was.start_urls)
    return Revised(
        spec=now.to_json(),
        judged=_rules(was) != _rules(now),
        readmitted=_readmitted(was, now),
        relinks=begins or not _narrows(was, now),
        begins=begins,
    )


def verdicts(judge: Judge) -> Callable[[str, int, str], str | None]:
    """By the judge of links itself. What is consulted belongs where it is named, which is for its page to say."""

    def verdict(url: str, depth: int, kind: str) -> str | None:
        if kind != PAGE:
            return SkipReason.DEPTH.value if judge.too_deep(depth) else None
        reason = judge.judge(url, depth)
        return None if reason is None else reason.value

    return verdict


def _rules(spec: SiteSpec) -> tuple[object, ...]:
    return (spec.scope, set(spec.include), set(spec.exclude), spec.traps, set(spec.start_urls))


def _readmitted(was: SiteSpec, now: SiteSpec) -> frozenset[str]:
    """What robots.txt shut out, once it is no longer asked; likewise traps, and links that were not to be followed."""
    robots = {ROBOTS} if now.ignore_robots and not was.ignore_robots else set()
    traps = {trap.value for trap in Trap} if was.traps.avoid and not now.traps.avoid else set()
    followed = now.discovery.follow_nofollow and not was.discovery.follow_nofollow
    return frozenset({*robots, *traps, *({SkipReason.NOFOLLOW.value} if followed else ())})


def _narrows(was: SiteSpec, now: SiteSpec) -> bool:
    """Whether the patterns only shut out more than they did, and all else is as it was."""
    fewer = set(was.exclude) <= set(now.exclude)
    fewer = fewer and (not was.include or (bool(now.include) and set(now.include) <= set(was.include)))
    same = (was.scope, was.traps, was.discovery) == (now.scope, now.traps, now.discovery)
    return fewer and same
