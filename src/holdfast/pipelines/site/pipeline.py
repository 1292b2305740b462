"""The site pipeline: its first items, and what a stored exchange leads to when it is read again."""

from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.crawl.readers import read
from holdfast.domain.item import Found, Item, Record
from holdfast.domain.job import Job, Limits
from holdfast.domain.url import join_location
from holdfast.pipelines.site.facts import base_of
from holdfast.pipelines.site.judge import ROBOTS, Judge, SkipReason
from holdfast.pipelines.site.links import all_findings, found
from holdfast.pipelines.site.seeds import Notes, judge_for
from holdfast.pipelines.site.spec import KIND, SiteSpec
from holdfast.pipelines.site.traps import Trap
from holdfast.ports.segments import Reading


class SitePipeline:
    """Crawl a site."""

    def __init__(self) -> None:
        self._judged: tuple[Mapping[str, Any], int | None, Notes, Judge] | None = None

    @property
    def kind(self) -> str:
        """The name that site crawls carry."""
        return KIND

    def seeds(self, spec: Mapping[str, Any], limits: Limits) -> list[Found]:  # noqa: ARG002 - the port's signature
        """The start URLs, at depth 0. They are admitted whatever scope, patterns and depth say."""
        return [found(url, 0, None, None) for url in SiteSpec.from_json(spec).start_urls]

    def readmitted(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> frozenset[str]:
        """What robots.txt shut out, once it is no longer asked; and traps, once they are no longer avoided."""
        before, now = SiteSpec.from_json(old), SiteSpec.from_json(new)
        robots = {ROBOTS} if now.ignore_robots and not before.ignore_robots else set()
        traps = set(Trap) if before.traps.avoid and not now.traps.avoid else set()
        return frozenset({*robots, *(trap.value for trap in traps)})

    def relink(
        self, job: Job, cursor: Mapping[str, Any], item: Item, record: Record, reading: Reading | None
    ) -> Iterable[Found]:
        """What the exchange leads to: all that handling it would find now, had nothing been found before.

        `reading` has to hold the payload itself (for a revisit: that of the record that it points to).
        For an item to be rejudged, external links are left out: they were kept or counted when it was
        handled, and neither depends on its depth.
        """
        judge = self._judge(job, Notes.read(cursor))
        if record.kind == "redirect":
            return self._redirect_target(item, record, reading, judge)
        if record.kind != "page" or reading is None:
            return ()
        data = record.data
        document = read(reading.body, data["content_type"], data["charset"])
        base = base_of(item.url, document)
        findings = all_findings(base, document.links, judge, (item.id, item.url), item.depth + 1)
        if item.rejudge:
            return [finding for finding in findings if finding.skip != SkipReason.EXTERNAL]
        return findings

    def _redirect_target(
        self, item: Item, record: Record, reading: Reading | None, judge: Judge
    ) -> Iterable[Found]:
        location = record.data["location"]
        if reading is not None:
            stored = next((value for key, value in reading.headers if key.lower() == "location"), "")
            location = join_location(item.url, stored) or location
        return (found(location, item.depth, item.id, judge.judge_target(location, item.depth)),)

    def _judge(self, job: Job, notes: Notes) -> Judge:
        # Whoever relinks does it for many items of one job: patterns and scope are prepared once.
        key = (job.spec, job.limits.max_depth, notes)
        if self._judged is None or self._judged[:3] != key:
            self._judged = (*key, judge_for(SiteSpec.from_json(job.spec), job.limits.max_depth, notes))
        return self._judged[3]
