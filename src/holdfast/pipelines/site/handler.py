"""One URL, from robots.txt to its outcome."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from holdfast.crawl.html import Page
from holdfast.crawl.outage import GATEWAY_STATUSES, NOBODY_THERE, Outages
from holdfast.crawl.robots import FOR_GOOD, Robots, Rules, Unknown
from holdfast.domain.item import Done, Failed, Item, Outcome, Record, Redirected, RetryAt, Skipped
from holdfast.domain.retry import (
    Cause,
    GiveUp,
    RetryPolicy,
    cause_of_status,
    parse_http_date,
    parse_retry_after,
)
from holdfast.domain.url import join_location
from holdfast.pipelines.site.facts import base_of, facts_of, page_facts, read_page
from holdfast.pipelines.site.judge import ROBOTS
from holdfast.pipelines.site.links import Link, Links, found
from holdfast.pipelines.site.seeds import Notes, judge_for
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import Fetcher, FetchFailed, Request, Response
from holdfast.ports.pipeline import HostPace, PipelineRun
from holdfast.ports.segments import Exchange

DEFAULT_USER_AGENT = "Holdfast"
"""The name by which robots.txt may speak of us, unless the job goes by another one."""
MAX_REDIRECTS = 20
MAX_COOKIE_TRIES = 2
MAX_COOKIE_CHARS = 4096
_BIG_BODY_BYTES = 512 * 1024
_MANY_LINKS = 1000
_MAX_CHAINS = 10_000
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class SiteHandler:
    """A site crawl at work on one claim.

    What it asks of the engine: outcomes are committed in the order in which they were returned, each of them, or
    the claim ends (what was reported once isn't reported again).
    """

    def __init__(
        self,
        run: PipelineRun,
        fetcher: Fetcher,
        clock: Clock,
        jitter: Callable[[], float],
        policy: RetryPolicy | None = None,
    ) -> None:
        self._spec = SiteSpec.from_json(run.job.spec)
        self._pace = run.job.pace
        self._max_depth = run.job.limits.max_depth
        self._fetcher = fetcher
        self._clock = clock
        self._jitter = jitter
        self._policy = policy or RetryPolicy()
        agent = self._spec.user_agent or DEFAULT_USER_AGENT
        self._outages = Outages(clock, jitter, self._policy)
        self._robots = Robots(
            fetcher, clock, jitter, user_agent=agent, policy=self._policy, outages=self._outages
        )
        self._notes = Notes.read(run.cursor)
        self._judge = judge_for(self._spec, self._max_depth, self._notes)
        self._links = Links(self._judge, max_external=self._spec.max_external, outside=run.outside)
        self._chains: OrderedDict[str, int] = OrderedDict()

    @property
    def phases(self) -> Sequence[str]:
        """A site crawl has one."""
        return ("crawl",)

    async def close(self) -> None:
        """Let go of connections."""
        await self._robots.close()
        await self._fetcher.close()

    async def meet(self, host: str) -> HostPace:
        """Ask for robots.txt. With a crawl-delay: one request at a time, with that delay or ours."""
        pace = HostPace(self._pace.per_host, self._pace.delay_s)
        if self._spec.ignore_robots:
            return pace
        rules = await self._robots.of(host)
        delay = rules.delay_s if isinstance(rules, Rules) else None
        if delay is not None:
            pace = HostPace(1, max(delay, pace.delay_s))
        return replace(pace, until=rules.until)

    async def handle(self, item: Item) -> Outcome:
        """Whatever the URL comes to. Raises only for what we did wrong."""
        if item.host_answered and not self._outages.knows(item.host):
            self._outages.answered(item.host)
        refusal = await self._refusal(item)
        if refusal is not None:
            return refusal
        try:
            response = await self._fetch(item.url)
        except FetchFailed as failed:
            if not failed.transient:
                return Failed(failed.reason)
            surely = failed.reason in NOBODY_THERE
            return (
                self._outage(item, failed.reason, surely=surely)
                or self._again(item, Cause.NETWORK, failed.reason)
                or Failed(failed.reason)
            )
        status = response.status
        if status < 500:  # noqa: PLR2004 - server errors
            self._outages.answered(item.host)
        if 200 <= status < 300:  # noqa: PLR2004 - success
            return await self._done(item, response)
        if status in _REDIRECTS:
            return self._redirected(item, response)
        return self._unanswered(item, response)

    # -- before and during the fetch

    async def _refusal(self, item: Item) -> Outcome | None:
        if self._spec.ignore_robots:
            return None
        rules = self._robots.known(item.host) or await self._robots.of(item.host)
        if isinstance(rules, Unknown):
            if rules.until == FOR_GOOD:
                return Failed(rules.reason)
            due = self._clock.wall() + max(0.0, rules.until - self._clock.monotonic())
            return RetryAt(due, rules.reason, due, tried=False)
        return None if rules.allows(item.url) else Skipped(ROBOTS)

    async def _fetch(self, url: str) -> Response:
        """The response. Where it redirects to itself to set a cookie, it is asked for again with that."""
        cookies: dict[str, str] = {}
        response = await self._fetcher.fetch(Request(url))
        for _ in range(MAX_COOKIE_TRIES):
            if response.status not in _REDIRECTS:
                break
            if join_location(url, response.header("location") or "") != url:
                break
            given = _cookies(response)
            if not given:
                break
            cookies |= given
            header = "; ".join(f"{name}={value}" for name, value in cookies.items())
            if len(header) > MAX_COOKIE_CHARS:
                break
            response = await self._fetcher.fetch(Request(url, headers=(("Cookie", header),)))
        return response

    # -- after it

    async def _done(self, item: Item, response: Response) -> Outcome:
        if len(response.body) > _BIG_BODY_BYTES:
            data, digest, page = await asyncio.to_thread(_read, response)
        else:
            data, digest, page = _read(response)
        base = item.url if page is None else base_of(item.url, page)
        data |= page_facts(base, page, data["content_type"])
        links = [] if page is None else await self._resolved(base, page.links)
        # Nothing may wait or fail between here and the return: from now on these links count as reported.
        findings, unkept = self._links.report(links, (item.id, item.url), item.depth + 1)
        data["links"] = len(links)
        data["unkept"] = unkept
        return Done(
            (Record("page", data, Exchange(response.undecoded(), digest)),),
            findings,
            unkept,
            f"http_{response.status}",
        )

    async def _resolved(self, base: str, hrefs: list[str]) -> list[Link]:
        if len(hrefs) <= _MANY_LINKS:
            return self._links.resolve(base, hrefs)
        while True:
            judge = self._judge
            links: dict[Link, None] = {}
            for start in range(0, len(hrefs), _MANY_LINKS):
                links |= dict.fromkeys(self._links.resolve(base, hrefs[start : start + _MANY_LINKS]))
                await asyncio.sleep(0)
            # A redirect that came in between may have widened the scope: these verdicts are out of date then.
            if judge is self._judge:
                return list(links)

    def _redirected(self, item: Item, response: Response) -> Outcome:
        target = join_location(item.url, response.header("location") or "")
        if not response.header("location") or target is None:
            return self._failed("bad_redirect", response)
        if target == item.url:
            return self._failed("redirect_loop", response)
        hops = self._chains.get(item.url, 0) + 1
        if hops > MAX_REDIRECTS:
            return self._failed("too_many_redirects", response)
        self._chains[target] = hops
        if len(self._chains) > _MAX_CHAINS:
            self._chains.popitem(last=False)
        known, outside = self._notes, not self._judge.inside(target)
        if item.url in self._judge.seeds and target not in self._judge.seeds:
            self._widen(target)
        noted = self._notes is not known
        finding = found(target, item.depth, item.id, self._judge.judge(target, item.depth))
        self._links.keep(finding)
        record = _record("redirect", response, location=target)
        return Redirected(
            (finding,),
            f"http_{response.status}",
            (record,),
            widens=noted and outside,
            cursor=self._notes.to_json() if noted else None,
        )

    def _widen(self, target: str) -> None:
        """A start URL leads there, so that is what the crawl is about."""
        self._notes = Notes((*self._notes.seeds, target))
        self._judge = judge_for(self._spec, self._max_depth, self._notes)
        self._links.widen(self._judge)

    def _unanswered(self, item: Item, response: Response) -> Outcome:
        reason = f"http_{response.status}"
        now = self._clock.wall()
        sent = parse_http_date(response.header("date") or "", now)
        wish = parse_retry_after(response.header("retry-after"), now if sent is None else sent)
        cause = cause_of_status(response.status, asked_to_wait=wish is not None)
        if wish is None and response.status in GATEWAY_STATUSES:
            outage = self._outage(item, reason, surely=False)
            if outage is not None:
                return outage
        again = None if cause is None else self._again(item, cause, reason, wish)
        return again or self._failed(reason, response)

    def _outage(self, item: Item, reason: str, *, surely: bool) -> RetryAt | None:
        """Its host is down, which is not the item's fault: later, and not counted."""
        wait_s = self._outages.failed(item.host, surely=surely)
        if wait_s is None:
            return None
        due = self._clock.wall() + wait_s
        return RetryAt(due, reason, due, tried=False)

    def _again(self, item: Item, cause: Cause, reason: str, wish_s: float | None = None) -> RetryAt | None:
        decision = self._policy.decide(cause, item.attempts, self._jitter(), wish_s)
        if isinstance(decision, GiveUp):
            return None
        due = self._clock.wall() + decision.delay_s
        return RetryAt(due, reason, due if cause is Cause.THROTTLED else None)

    def _failed(self, reason: str, response: Response) -> Failed:
        return Failed(reason, (_record("error", response, reason=reason),))


def _read(response: Response) -> tuple[dict[str, Any], bytes, Page | None]:
    data, digest = facts_of(response)
    return data, digest, read_page(response.body, data["content_type"])


def _record(kind: str, response: Response, **more: str) -> Record:
    data, digest = facts_of(response)
    return Record(kind, data | more, Exchange(response.undecoded(), digest))


def _cookies(response: Response) -> dict[str, str]:
    """The cookies that a response sets, without attributes: they live for this one URL and moment only."""
    cookies = {}
    for key, header in response.headers:
        if key.lower() == "set-cookie":
            name, equals, value = header.partition(";")[0].partition("=")
            if equals and name.strip() and header.isprintable():
                cookies[name.strip()] = value.strip()
    return cookies
