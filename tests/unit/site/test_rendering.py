"""Pages that a browser shows, with a browser that does as it is told."""

import asyncio
import hashlib
from dataclasses import replace

import pytest
from tests.unit.site.web_of_dict import NOW, START, StillClock, Web, item, job, page, reply

from holdfast.domain.commit import Location
from holdfast.domain.errors import UsageError
from holdfast.domain.item import Done, Failed, RetryAt
from holdfast.domain.job import Pace
from holdfast.domain.retry import RetryPolicy
from holdfast.pipelines.site import errands
from holdfast.pipelines.site.handler import SiteHandler
from holdfast.pipelines.site.pipeline import SitePipeline
from holdfast.pipelines.site.renderrules import Render, RenderRules
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.fetcher import FetchFailed
from holdfast.ports.pipeline import PipelineRun
from holdfast.ports.renderer import Ask, Asked, Rendered, RenderFailed, Served
from holdfast.ports.segments import Reading, as_rendered

SHELL = b"<!doctype html><title>Shell</title><div id=root></div><script src=/app.js></script>"
MADE = b'<!doctype html><title>Made</title><a href="/made">made</a>'
APP = "https://example.com/app.js"


class Screen:
    """A renderer that makes the same document of every page, after it has asked for what it is told to."""

    def __init__(self, *asks: Ask, body: bytes = MADE, fails: str = "", transient: bool = True) -> None:
        self.asks = asks
        self.body = body
        self.fails = fails
        self.transient = transient
        self.shown: list[Served] = []
        self.got: list[bytes | str] = []
        self.waited: list[float] = []
        self.closed = False

    async def render(self, page: Served, asked: Asked) -> Rendered:
        self.shown.append(page)
        if self.fails:
            raise RenderFailed(self.fails, transient=self.transient)
        for ask in self.asks:
            try:
                self.got.append((await asked.fetch(ask)).body)
            except FetchFailed as failed:
                self.got.append(failed.reason)
        self.waited.append(asked.waited_s)
        return Rendered(self.body, NOW + 1, 0.25)

    async def close(self) -> None:
        self.closed = True


class Crawl:
    """A handler with a screen. `held` is which hosts are to be left alone, and for how long."""

    def __init__(
        self, answers, screen: Screen, mode: Render = Render.AUTO, *, pace: Pace | None = None, **asked
    ) -> None:
        self.web = Web({"https://example.com/robots.txt": reply(404), START: reply(body=SHELL), **answers})
        self.screen = screen
        self.clock = StillClock()
        self.held: list[tuple[int, float]] = []
        self.job = job(SiteSpec((START,), render=RenderRules(mode), **asked))
        run = PipelineRun(
            replace(self.job, pace=pace or self.job.pace),
            {},
            hold=lambda host, until: self.held.append((host, until - NOW)),
        )
        self.handler = SiteHandler(
            run,
            self.web,
            self.clock,
            lambda: 0.5,
            RetryPolicy(),
            renderer=None if mode is Render.NEVER else screen,
        )

    def handle(self, *urls: str, attempts: int = 0):
        async def main():
            return [await self.handler.handle(item(url, attempts=attempts)) for url in urls or (START,)]

        outcomes = asyncio.run(main())
        return outcomes[0] if len(outcomes) == 1 else outcomes


def ask(path: str, kind: str = "fetch", **headers: str) -> Ask:
    return Ask(f"https://example.com{path}", kind, tuple(headers.items()))


def test_a_page_that_is_shown_has_its_links_from_the_document_and_both_as_evidence():
    crawl = Crawl({}, Screen())
    outcome = crawl.handle()
    assert isinstance(outcome, Done)
    assert [found.url for found in outcome.found] == ["https://example.com/made"]
    served, made = outcome.records
    assert (served.kind, served.data["title"], served.data["rendered"], served.data["links"]) == (
        "page",
        "Made",
        True,
        1,
    )
    assert served.data["size"] == len(SHELL)
    assert served.data["sha256"] == hashlib.sha256(SHELL).hexdigest()
    assert served.exchange.response.payload == SHELL
    assert (made.kind, made.exchange.rendering, made.exchange.response.payload) == ("rendered", True, MADE)
    assert made.exchange.digest == hashlib.sha256(MADE).digest()
    assert (made.data["fetched_at"], made.data["elapsed_ms"], "size" in made.data) == (NOW + 1, 250.0, False)
    assert crawl.screen.shown == [Served(START, crawl.web.answers[START].headers, SHELL)]
    assert crawl.web.count(START) == 1


def test_what_is_stored_leads_to_the_same_links_again():
    headers = (("X-Robots-Tag", "nofollow"), ("Link", '</next>; rel="next"'))
    crawl = Crawl({START: reply(body=SHELL, headers=headers)}, Screen())
    one = item()
    outcome = asyncio.run(crawl.handler.handle(one))
    served, made = outcome.records
    place = Location("s", 0, 1)
    response = served.exchange.response
    own = Reading(place, START, 200, response.headers, SHELL, SHELL, revisit=False, digest=b"")
    shown = Reading(place, START, 0, (), MADE, MADE, revisit=False, digest=b"")
    pipeline = SitePipeline()
    again = list(pipeline.relink(crawl.job, {}, one, served, as_rendered(own, shown)))
    assert again == list(outcome.found)
    assert {found.url: found.skip for found in again} == {
        "https://example.com/made": "nofollow", "https://example.com/next": "nofollow",
    }  # fmt: skip
    assert list(pipeline.relink(crawl.job, {}, one, made, shown)) == []


@pytest.mark.parametrize(
    ("mode", "shown"),
    [(Render.NEVER, []), (Render.AUTO, [START]), (Render.ALWAYS, [START, "https://example.com/plain"])],
)
def test_the_mode_says_which_pages_are_shown(mode, shown):
    answers = {
        "https://example.com/plain": reply(body=page("/a", "/b").body + b"<script src=/tracker.js></script>"),
        "https://example.com/static": page("/c"),
        "https://example.com/data": reply(body=b"{}", content_type="application/json"),
        "https://example.com/gone": reply(404, SHELL),
    }
    crawl = Crawl(answers, Screen(), mode)
    crawl.handle(START, *answers)
    assert [one.url for one in crawl.screen.shown] == shown


@pytest.mark.parametrize("mode", [Render.AUTO, Render.ALWAYS])
@pytest.mark.parametrize("reason", ["render_failed", "render_timeout"])
def test_a_page_that_could_not_be_shown_is_tried_again(mode, reason):
    outcome = Crawl({}, Screen(fails=reason), mode).handle()
    assert isinstance(outcome, RetryAt)
    assert (outcome.reason, outcome.tried, outcome.host_due_at) == (reason, True, None)


def test_in_the_end_auto_takes_it_as_it_was_served():
    for screen, attempts in [
        (Screen(fails="render_timeout"), 3),
        (Screen(fails="render_too_large", transient=False), 0),
    ]:
        outcome = Crawl({}, screen).handle(attempts=attempts)
        assert isinstance(outcome, Done)
        [record] = outcome.records
        assert (record.data["title"], record.data["unrendered"]) == ("Shell", screen.fails)
        assert "rendered" not in record.data


def test_and_always_fails_it_with_its_evidence():
    outcome = Crawl({}, Screen(fails="render_timeout"), Render.ALWAYS).handle(attempts=3)
    assert isinstance(outcome, Failed)
    [record] = outcome.records
    assert (outcome.reason, record.kind, record.data["reason"]) == (
        "render_timeout",
        "error",
        "render_timeout",
    )
    assert record.exchange.response.payload == SHELL


def test_the_browser_is_let_go_of_with_the_claim():
    crawl = Crawl({}, Screen())
    asyncio.run(crawl.handler.close())
    assert crawl.screen.closed


# -- what pages ask for


def test_scripts_and_styles_are_asked_for_once_in_a_claim_and_data_each_time():
    answers = {
        APP: reply(body=b"script"),
        "https://example.com/api": reply(body=b"data"),
        "https://example.com/2": reply(body=SHELL),
    }
    crawl = Crawl(answers, Screen(ask("/app.js", "script"), ask("/api")))
    crawl.handle(START, "https://example.com/2")
    assert crawl.screen.got == [b"script", b"data"] * 2
    assert (crawl.web.count(APP), crawl.web.count("https://example.com/api")) == (1, 2)


def test_what_its_server_wants_nobody_to_keep_or_what_failed_is_not_remembered():
    answers = {
        APP: reply(body=b"x", headers=[("Cache-Control", "private, no-store")]),
        "https://example.com/style": [reply(503, b"later"), reply(body=b"h1 {}")],
        "https://example.com/2": reply(body=SHELL),
    }
    crawl = Crawl(answers, Screen(ask("/app.js", "script"), ask("/style", "stylesheet")))
    crawl.handle(START, "https://example.com/2")
    assert crawl.screen.got == [b"x", b"later", b"x", b"h1 {}"]


def test_robots_txt_is_asked_about_all_of_them():
    rules = reply(body=b"User-agent: *\nDisallow: /private", content_type="text/plain")
    other = {"https://cdn.example/robots.txt": reply(503), "https://cdn.example/lib.js": reply(body=b"lib")}
    screen = Screen(
        ask("/private/data"), Ask("https://cdn.example/lib.js", "script"), Ask("ftp://x/", "fetch")
    )
    crawl = Crawl({"https://example.com/robots.txt": rules, **other}, screen)
    crawl.handle()
    assert screen.got == ["robots", "robots", "bad_url"]
    assert crawl.web.count("https://cdn.example/lib.js") == 0
    free = Crawl(
        {"https://example.com/private/data": reply(body=b"x")},
        Screen(ask("/private/data")),
        ignore_robots=True,
    )
    free.handle()
    assert free.screen.got == [b"x"]


def test_redirects_are_followed_as_browsers_do_and_each_hop_is_judged():
    def moved(to):
        return reply(302, headers=[("Location", to)])

    answers = {
        "https://example.com/a": moved("/b"),
        "https://example.com/b": moved("https://other.example/c"),
        "https://other.example/robots.txt": reply(404),
        "https://other.example/c": reply(body=b"there"),
        "https://example.com/round": moved("/round?x"),
        "https://example.com/round?x": moved("/round"),
    }
    crawl = Crawl(answers, Screen(ask("/a", Authorization="Bearer x", Accept="*/*"), ask("/round")))
    crawl.handle()
    assert crawl.screen.got == [b"there", "too_many_redirects"]
    sent = {request.url: dict(request.headers) for request in crawl.web.asked}
    assert "Authorization" in sent["https://example.com/b"]
    assert sent["https://other.example/c"] == {"Accept": "*/*"}


def test_a_page_gets_so_much_and_no_more(monkeypatch):
    monkeypatch.setattr(errands, "MOST_REQUESTS", 3)
    answers = {f"https://example.com/{n}": reply(body=b"x") for n in range(5)}
    crawl = Crawl(answers, Screen(*[ask(f"/{n}") for n in range(5)]))
    crawl.handle()
    assert crawl.screen.got == [b"x"] * 3 + ["render_limit"] * 2
    monkeypatch.setattr(errands, "MOST_BYTES", 10)
    crawl = Crawl({"https://example.com/1": reply(body=b"x" * 10)}, Screen(ask("/1"), ask("/2")))
    crawl.handle()
    assert crawl.screen.got == [b"x" * 10, "render_limit"]
    assert [request.max_bytes for request in crawl.web.asked if request.url.endswith("/1")] == [10]


def test_the_host_is_left_alone_for_as_many_delays_as_it_was_asked():
    answers = {f"https://example.com/{n}": reply(body=b"x") for n in range(4)}
    crawl = Crawl(answers, Screen(*[ask(f"/{n}") for n in range(4)]), pace=Pace(delay_s=1.5, per_host=2))
    crawl.handle()
    assert crawl.held == [(1, 6.0)]
    # A longer wish of robots.txt holds; what is remembered costs nothing.
    slow = {
        "https://example.com/robots.txt": reply(body=b"User-agent: *\nCrawl-delay: 5"),
        APP: reply(body=b"x"),
    }
    crawl = Crawl(slow, Screen(ask("/app.js", "script"), ask("/app.js", "script")), pace=Pace(delay_s=1.0))
    crawl.handle()
    assert crawl.held == [(1, 5.0)]


def test_without_a_delay_or_without_requests_nobody_is_held():
    answers = {"https://example.com/1": reply(body=b"x")}
    fast = Crawl(answers, Screen(ask("/1")), pace=Pace(delay_s=0.0))
    idle = Crawl({}, Screen(), pace=Pace(delay_s=1.0))
    for crawl in (fast, idle):
        crawl.handle()
        assert crawl.held == []


def test_another_host_is_waited_for_by_the_next_page_that_needs_it_and_that_is_no_fault_of_the_page(
    monkeypatch,
):
    slept: list[float] = []
    crawl = Crawl(
        {},
        Screen(Ask("https://api.example/x", "fetch"), Ask("https://api.example/y", "fetch")),
        pace=Pace(delay_s=2.0),
    )
    crawl.web.answers |= {
        "https://api.example/robots.txt": reply(404),
        "https://api.example/x": reply(body=b"x"),
        "https://api.example/y": reply(body=b"y"),
        "https://example.com/2": reply(body=SHELL),
    }
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds:
            slept.append(seconds)
            crawl.clock.pass_by(seconds)
        await real(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    crawl.handle(START, "https://example.com/2")
    assert slept == [4.0]
    assert crawl.screen.waited == [0.0, 4.0]
    assert crawl.held == []


def test_no_more_at_once_than_a_browser_can_show():
    with pytest.raises(UsageError, match="1 to 64"):
        RenderRules(Render.AUTO, 65)
    assert (
        SiteSpec.from_json(SiteSpec((START,), render=RenderRules(Render.AUTO, 3)).to_json()).render.at_once
        == 3
    )
