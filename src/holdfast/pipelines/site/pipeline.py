"""The site pipeline: its first items, and what a stored exchange leads to when it is read again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.crawl.directives import token_of
from holdfast.crawl.document import Document, Kind
from holdfast.crawl.reach import DEFAULT_USER_AGENT
from holdfast.domain.item import Found, Item, Record
from holdfast.domain.job import Job, Limits
from holdfast.domain.url import join_location
from holdfast.pipelines.site.belonging import depth_below
from holdfast.pipelines.site.discovery import DEPTH, well_known
from holdfast.pipelines.site.judge import Judge, SkipReason
from holdfast.pipelines.site.leads import Answer, leads_of
from holdfast.pipelines.site.links import all_findings, found
from holdfast.pipelines.site.redirects import redirected_to
from holdfast.pipelines.site.revising import JUDGED, revised, verdicts
from holdfast.pipelines.site.seeds import Notes, judge_for
from holdfast.pipelines.site.spec import KIND, SiteSpec
from holdfast.ports.pipeline import Revised, Verdict
from holdfast.ports.segments import Reading


@dataclass(frozen=True, slots=True)
class _Judged:
    """What relinking prepares once for a job."""

    key: tuple[Mapping[str, Any], int | None, Notes]
    spec: SiteSpec
    judge: Judge


class SitePipeline:
    """Crawl a site."""

    def __init__(self) -> None:
        self._judged: _Judged | None = None

    @property
    def kind(self) -> str:
        """The name that site crawls carry."""
        return KIND

    def seeds(self, spec: Mapping[str, Any], limits: Limits) -> list[Found]:
        """The start URLs, at depth 0 and admitted whatever scope, patterns and depth say; and what is looked for."""
        asked = SiteSpec.from_json(spec)
        seeds = [found(url, 0, None, None) for url in asked.start_urls]
        too_deep = limits.max_depth is not None and limits.max_depth < DEPTH
        for url, kind in well_known(asked.discovery, asked.start_urls, ignore_robots=asked.ignore_robots):
            if url not in asked.start_urls:
                seeds.append(found(url, DEPTH, None, SkipReason.DEPTH if too_deep else None, kind=kind))
        return seeds

    @property
    def judged(self) -> frozenset[str]:
        """Scope, patterns, depth, and the traps that an address shows by itself."""
        return JUDGED

    def revised(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Revised:
        """See `revising`."""
        return revised(old, new)

    def verdict(self, spec: Mapping[str, Any], limits: Limits, cursor: Mapping[str, Any]) -> Verdict:
        """By the judge that links are judged by."""
        return verdicts(judge_for(SiteSpec.from_json(spec), limits.max_depth, Notes.read(cursor)))

    def relink(
        self, job: Job, cursor: Mapping[str, Any], item: Item, record: Record, reading: Reading | None
    ) -> Iterable[Found]:
        """What the exchange leads to: all that handling it would find now, had nothing been found before.

        `reading` has to hold the payload itself (for a revisit: that of the record that it points to).
        For an item to be rejudged, external links are left out: they were kept or counted when it was
        handled, and neither depends on its depth.
        """
        judged = self._judge(job, Notes.read(cursor))
        spec, judge = judged.spec, judged.judge
        if record.kind == "redirect":
            return self._redirect_target(item, record, reading, judge)
        if record.kind not in {"page", "source"} or reading is None:
            return ()
        data = record.data
        answer = Answer(
            item.url, item.kind, reading.headers, reading.body, data["content_type"], data["charset"]
        )
        if "hrefs" in data and (item.rejudge or data["unread"]):
            answer = answer._replace(document=Document(Kind.PDF, links=list(data["hrefs"])))
        leads = leads_of(spec, token_of(spec.user_agent or DEFAULT_USER_AGENT), answer)
        findings = all_findings(leads, judge, (item.id, item.url), depth_below(item))
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
        return (redirected_to(location, item, judge),)

    def _judge(self, job: Job, notes: Notes) -> "_Judged":
        # Whoever relinks does it for many items of one job: patterns and scope are prepared once.
        key = (job.spec, job.limits.max_depth, notes)
        if self._judged is None or self._judged.key != key:
            spec = SiteSpec.from_json(job.spec)
            self._judged = _Judged(key, spec, judge_for(spec, job.limits.max_depth, notes))
        return self._judged
