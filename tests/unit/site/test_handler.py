"""One URL, from robots.txt to its outcome, against a web held in a dict."""

import asyncio
import gzip
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest
from tests.unit.site.web_of_dict import (
    NOW,
    START,
    Answer,
    StillClock,
    crawl,
    handle,
    item,
    moved,
    page,
    reply,
)

from holdfast.domain.item import Done, Failed, Found, Outcome, Redirected, RetryAt, Skipped
from holdfast.domain.job import Pace
from holdfast.domain.retry import RetryPolicy
from holdfast.domain.url import fingerprint
from holdfast.pipelines.site.families import IN_A_ROW
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.pipelines.site.traps import TrapRules
from holdfast.ports.fetcher import FetchFailed, Request, Response
from holdfast.ports.pipeline import HostPace


def urls(outcome: Outcome) -> dict[str, str | None]:
    assert isinstance(outcome, Done | Redirected)
    return {found.url: found.skip for found in outcome.found}


def notes(outcome: Outcome) -> Mapping[str, Any] | None:
    assert isinstance(outcome, Redirected)
    return outcome.cursor


def test_a_page_is_done_with_its_record_and_every_link_it_names():
    one = item(depth=2)
    outcome = handle(
        {START: page("/a", "b#frag", "/a", "https://other.org/", "mailto:x@y", START)}, one, max_depth=3
    )
    assert isinstance(outcome, Done)
    assert urls(outcome) == {
        "https://example.com/a": None,
        "https://example.com/b": None,
        "https://other.org/": "external",
    }
    assert outcome.found[0] == Found(
        "https://example.com/a",
        fingerprint("https://example.com/a"),
        "https://example.com",
        3,
        parent_id=one.id,
    )
    [record] = outcome.records
    assert record.kind == "page"
    assert dict(record.data) | {"sha256": "", "size": 0} == {
        "status": 200,
        "fetched_at": NOW,
        "content_type": "text/html; charset=utf-8",
        "encoding": "",
        "size": 0,
        "sha256": "",
        "http_version": "1.1",
        "elapsed_ms": 12.3,
        "kind": "html",
        "title": "A page",
        "lang": "en",
        "description": "",
        "canonical": None,
        "charset": "utf-8",
        "noindex": False,
        "links": 4,
        "unkept": 0,
    }
    orjson.dumps(record.data)
    assert record.data["sha256"] == record.exchange.digest.hex()


def test_what_lies_too_deep_or_is_excluded_is_an_item_all_the_same():
    spec = SiteSpec((START,), include=("/docs/",), exclude=(r"\.pdf$",))
    outcome = handle({START: page("/docs/a", "/docs/b.pdf", "/c", "/docs/" + "x" * 9000)}, spec=spec)
    assert list(urls(outcome).values()) == [None, "excluded", "not_included", "too_long"]
    assert urls(handle({START: page("/a")}, item(depth=3), max_depth=3)) == {"https://example.com/a": "depth"}


def test_other_content_is_stored_without_links():
    outcome = handle({START: reply(body=b"<a href=/x>", content_type="text/plain")})
    assert isinstance(outcome, Done)
    assert outcome.found == ()
    assert outcome.records[0].data["title"] == ""


def test_what_waits_for_its_checkpoint_is_held_once_and_not_decoded_as_well():
    packed = gzip.compress(page("/a").body)
    response = replace(page("/a"), payload=packed)
    [done] = handle({START: response}).records
    [failed] = handle({START: replace(response, status=404)}).records
    for record in (done, failed):
        assert (record.exchange.response.payload, record.exchange.response.body) == (packed, b"")
        assert record.data["size"] == len(response.body)


def test_a_base_element_moves_the_links():
    body = b"<base href='/deep/dir/'><a href=x>"
    assert urls(handle({START: reply(body=body)})) == {"https://example.com/deep/dir/x": None}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_stands_for_an_item_at_the_same_depth(status):
    one = item("https://example.com/old", depth=2)
    outcome = handle({one.url: moved("/new?", status)}, one)
    assert isinstance(outcome, Redirected)
    assert outcome.reason == f"http_{status}"
    assert [(found.url, found.depth, found.parent_id) for found in outcome.found] == [
        ("https://example.com/new", 2, one.id)
    ]
    assert outcome.records[0].kind == "redirect"
    assert outcome.records[0].data["location"] == "https://example.com/new"
    assert outcome.records[0].exchange.response.status == status


def test_a_redirect_to_raw_bytes_leads_to_those_bytes_and_no_others():
    sent = "/café à".encode().decode("latin-1")
    outcome = handle({START: moved(sent)}, item(depth=1))
    assert urls(outcome) == {"https://example.com/caf%C3%A9%20%C3%A0": None}


def test_a_redirect_to_itself_in_raw_bytes_that_sets_a_cookie_is_asked_again_with_it():
    one = item("https://example.com/%C3%A0")
    gate: list[Answer] = [moved("/à".encode().decode("latin-1"), 302, ("Set-Cookie", "seen=1")), page("/in")]
    assert urls(handle({one.url: gate}, one)) == {"https://example.com/in": None}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply(301), "bad_redirect"),
        (moved("mailto:me@example.com"), "bad_redirect"),
        (moved(START + "#self"), "redirect_loop"),
        (reply(304), "http_304"),
        (reply(300), "http_300"),
        (reply(404), "http_404"),
        (reply(501), "http_501"),
        (FetchFailed("tls", transient=False), "tls"),
    ],
)
def test_what_will_not_change_fails_at_once(answer, reason):
    outcome = handle({START: answer})
    assert isinstance(outcome, Failed)
    assert outcome.reason == reason
    if isinstance(answer, Response):
        assert outcome.records[0].kind == "error"
        assert outcome.records[0].data["reason"] == reason
        assert outcome.records[0].data["status"] == answer.status


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(reply(500), "http_500"), (reply(429), "http_429"), (FetchFailed("timeout", transient=True), "timeout")],
)
def test_what_may_pass_is_tried_again_and_then_fails(answer, reason):
    first = handle({START: answer})
    assert isinstance(first, RetryAt)
    assert first.reason == reason
    assert first.due_at > NOW
    last = handle({START: answer}, item(attempts=20))
    assert isinstance(last, Failed)
    assert last.reason == reason


@pytest.mark.parametrize("reason", ["connect_refused", "dns", "unreachable"])
def test_a_host_that_answered_before_is_down_and_its_pages_wait_untried(reason):
    down = FetchFailed(reason, transient=True)
    outcome = handle({START: down}, item(attempts=20, host_answered=True))
    assert isinstance(outcome, RetryAt)
    assert (outcome.reason, outcome.tried) == (reason, False)
    assert outcome.host_due_at == outcome.due_at > NOW


def test_rules_that_cannot_be_had_of_a_host_that_answered_before_are_waited_for():
    async def ask_often():
        handler, _ = crawl({"https://example.com/robots.txt": FetchFailed("connect_refused", transient=True)})
        for _ in range(20):
            yield await handler.handle(item(host_answered=True))
            handler._asker.robots._known.clear()

    async def outcomes():
        return [outcome async for outcome in ask_often()]

    assert all(isinstance(outcome, RetryAt) and not outcome.tried for outcome in asyncio.run(outcomes()))


def test_gateway_errors_by_the_dozen_are_the_hosts_and_one_alone_is_the_pages():
    async def ask_often():
        handler, _ = crawl({START: reply(503)})
        return [await handler.handle(item(host_answered=True)) for _ in range(12)]

    tried = [outcome.tried for outcome in asyncio.run(ask_often())]
    assert tried == [True] * 9 + [False] * 3


def test_retry_after_holds_back_the_whole_host():
    outcome = handle({START: reply(503, headers=(("Retry-After", "120"),))})
    assert isinstance(outcome, RetryAt)
    assert NOW + 120 <= outcome.due_at <= NOW + 130
    assert outcome.host_due_at == outcome.due_at


def told_to_wait():
    return reply(503, headers=(("Retry-After", "120"),))


def test_a_page_that_says_so_again_while_its_host_answers_others_waits_alone():
    async def story():
        handler, _ = crawl({START: told_to_wait(), START + "other": page()})
        clock = handler._asker.setbacks._clock = StillClock()
        first = await handler.handle(item())
        assert first.host_due_at is not None
        await handler.handle(item(START + "other"))
        early = await handler.handle(item(attempts=1))
        assert early.host_due_at is not None, "what was under way when it said so proves nothing"
        clock.pass_by(early.due_at - NOW)
        newcomer = await handler.handle(item())
        assert newcomer.host_due_at is not None, "a page that was not waited for yet may speak for its host"
        clock.pass_by(newcomer.due_at - clock.now)
        await handler.handle(item(START + "other"))
        return await handler.handle(item(attempts=2))

    again = asyncio.run(story())
    assert isinstance(again, RetryAt)
    assert again.host_due_at is None
    assert again.tried


def test_too_many_requests_concern_the_host_whoever_hears_it():
    async def story():
        handler, _ = crawl({START: reply(429), START + "other": page()})
        clock = handler._asker.setbacks._clock = StillClock()
        await handler.handle(item())
        clock.pass_by(7200.0)
        await handler.handle(item(START + "other"))
        return await handler.handle(item(attempts=1))

    assert asyncio.run(story()).host_due_at is not None


def test_a_slow_host_is_asked_less_often_where_that_was_asked_for():
    told = []

    async def story(target):
        told.clear()
        slow = replace(page(), elapsed_s=6.0)
        handler, _ = crawl(
            {START: slow}, pace=Pace(4, 2, 0.5, target=target), repace=lambda *said: told.append(said)
        )
        first = await handler.meet("https://example.com")
        await handler.handle(item())
        return first, await handler.meet("https://example.com")

    before, after = asyncio.run(story(1.0))
    assert (before.delay_s, after.delay_s) == (0.5, 3.0)
    assert told == [(1, after)]
    before, after = asyncio.run(story(None))
    assert (before, told) == (after, [])


def test_retry_after_as_a_date_is_read_against_the_servers_own_clock():
    headers = (("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT"))
    outcome = handle({START: reply(503, headers=headers)})
    assert isinstance(outcome, RetryAt)
    assert NOW + 60 <= outcome.due_at <= NOW + 70


def test_a_redirect_to_itself_that_sets_a_cookie_is_asked_again_with_it():
    def gate(request: Request) -> Response:
        if ("Cookie", "seen=1") in request.headers:
            return page("/in")
        return moved(START, 302, ("Set-Cookie", "seen=1; Path=/; HttpOnly"))

    assert urls(handle({START: gate})) == {"https://example.com/in": None}


def test_a_cookie_gate_that_never_opens_is_a_loop():
    handler, web = crawl({START: moved(START, 302, ("Set-Cookie", "seen=1"))})
    outcome = asyncio.run(handler.handle(item()))
    assert isinstance(outcome, Failed)
    assert outcome.reason == "redirect_loop"
    assert web.count(START) == 3


def test_a_chain_of_redirects_ends():
    answers = {f"https://example.com/{n}": moved(f"/{n + 1}") for n in range(30)}

    async def follow() -> tuple[int, Outcome]:
        handler, _ = crawl(answers)
        for n in range(30):
            outcome = await handler.handle(item(f"https://example.com/{n}", depth=1))
            if not isinstance(outcome, Redirected):
                return n, outcome
        raise AssertionError

    assert asyncio.run(follow())[0] == 20


def test_a_start_url_that_redirects_takes_the_scope_along():
    www = "https://www.example.com/"

    async def both() -> None:
        handler, _ = crawl(
            {
                START: moved("http://www.example.com/"),
                "http://www.example.com/": moved(www),
                www: page("/in", "https://elsewhere.org/"),
            }
        )
        first = await handler.handle(item())
        assert urls(first) == {"http://www.example.com/": None}
        assert notes(first) == {"seeds": ["http://www.example.com/"]}
        second = await handler.handle(item("http://www.example.com/"))
        assert urls(second) == {www: None}
        assert notes(second) == {"seeds": ["http://www.example.com/", www]}
        assert urls(await handler.handle(item(www))) == {
            www + "in": None,
            "https://elsewhere.org/": "external",
        }
        later, _ = crawl(
            {START: moved("http://www.example.com/"), www + "x": page("/y")}, cursor=notes(second)
        )
        assert urls(await later.handle(item(www + "x", depth=1))) == {www + "y": None}
        assert notes(await later.handle(item())) is None, "noted already"

    asyncio.run(both())


def test_other_redirects_leave_the_scope_alone():
    one = item("https://example.com/out", depth=1)
    handler, _ = crawl({one.url: moved("https://other.org/")})
    outcome = asyncio.run(handler.handle(one))
    assert urls(outcome) == {"https://other.org/": "external"}
    assert notes(outcome) is None


def test_a_start_url_that_moves_to_another_site_has_what_was_settled_judged_again():
    second, third, target = "https://b.example/", "https://c.example/", "https://www.b.example/"
    spec = SiteSpec((START, second, third))

    async def both() -> list[bool]:
        handler, _ = crawl(
            {second: moved(target), third: moved(target + "c"), START: moved(START + "in")}, spec
        )
        outcomes = [await handler.handle(item(url)) for url in (second, third, START)]
        assert all(isinstance(outcome, Redirected) for outcome in outcomes)
        return [outcome.widens for outcome in outcomes if isinstance(outcome, Redirected)]

    assert asyncio.run(both()) == [True, False, False], "once for each site that is new"


def test_a_known_link_is_left_out_until_it_is_found_nearer():
    a, b, c = (f"https://example.com/{name}" for name in "abc")

    async def three() -> list[dict[str, str | None]]:
        handler, _ = crawl(
            {a: page("/x", "https://o.org/"), b: page("x", "/x", "/y"), c: page("/x", "https://o.org/")}
        )
        return [urls(await handler.handle(item(url, depth))) for url, depth in ((a, 5), (b, 5), (c, 2))]

    first, second, third = asyncio.run(three())
    assert first == {"https://example.com/x": None, "https://o.org/": "external"}
    assert second == {"https://example.com/y": None}
    assert third == {"https://example.com/x": None}


def test_a_link_rejected_for_its_depth_is_reported_again_when_it_is_near_enough():
    a, b = "https://example.com/a", "https://example.com/b"

    async def both() -> list[dict[str, str | None]]:
        handler, _ = crawl({a: page("/x"), b: page("/x")}, max_depth=3)
        return [urls(await handler.handle(item(url, depth))) for url, depth in ((a, 3), (b, 2))]

    assert asyncio.run(both()) == [{"https://example.com/x": "depth"}, {"https://example.com/x": None}]


def test_external_links_beyond_the_cap_are_only_counted():
    spec = SiteSpec((START,), max_external=2)
    other = "https://example.com/2"

    async def both() -> list[Outcome]:
        handler, _ = crawl(
            {START: page(*(f"https://o{n}.org/" for n in range(5))), other: page("https://o4.org/")}, spec
        )
        return [await handler.handle(item()), await handler.handle(item(other))]

    first, second = asyncio.run(both())
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert (len(first.found), first.unkept, first.records[0].data["unkept"]) == (2, 3, 3)
    assert (len(second.found), second.unkept) == (0, 1)


def test_the_cap_counts_what_was_kept_and_nothing_twice():
    kept = ["https://o0.org/", "https://o1.org/"]

    async def several() -> list[dict[str, str | None]]:
        handler, web = crawl({}, SiteSpec((START,), max_external=4), outside=kept)
        given = []
        for n, links in enumerate(
            [kept, [*kept, "https://o2.org/"], ["https://o3.org/", "https://o4.org/"], kept]
        ):
            one = item(f"{START}{n}")
            web.answers[one.url] = page(*links)
            outcome = await handler.handle(one)
            assert isinstance(outcome, Done)
            assert outcome.unkept == (n == 2)
            given.append(urls(outcome))
        return given

    assert [list(given) for given in asyncio.run(several())] == [
        [],
        ["https://o2.org/"],
        ["https://o3.org/"],
        [],
    ]


def test_a_redirect_out_of_scope_is_always_kept_and_counts():
    out, other = START + "out", START + "other"

    async def both() -> list[Outcome]:
        handler, _ = crawl(
            {out: moved("https://o0.org/"), other: page("https://o0.org/", "https://o1.org/")},
            SiteSpec((START,), max_external=1),
        )
        return [await handler.handle(item(url, 1)) for url in (out, other)]

    first, second = asyncio.run(both())
    assert urls(first) == {"https://o0.org/": "external"}
    assert isinstance(second, Done)
    assert (second.found, second.unkept) == ((), 1)


ROBOTS = "https://example.com/robots.txt"


def robots(text: str) -> Response:
    return reply(body=text.encode(), content_type="text/plain")


def test_robots_are_asked_once_and_obeyed_unless_told_otherwise():
    answers = {ROBOTS: robots("User-agent: *\nDisallow: /private\nCrawl-delay: 3\n"), START: page()}

    async def several() -> None:
        handler, web = crawl(answers)
        assert await handler.meet("https://example.com") == HostPace(
            1, 3.0, until=NOW + 24 * 3600, machine="example.com"
        )
        refused, done = await asyncio.gather(
            handler.handle(item(START + "private/x")), handler.handle(item())
        )
        assert refused == Skipped("robots")
        assert isinstance(done, Done)
        assert web.count(ROBOTS) == 1
        bold, web = crawl(answers, SiteSpec((START,), ignore_robots=True))
        assert await bold.meet("https://example.com") == HostPace(2, 0.5, machine="example.com", asked=False)
        assert isinstance(await bold.handle(item(START + "private/x")), Failed)
        assert web.count(ROBOTS) == 0

    asyncio.run(several())


def test_a_crawl_delay_that_could_not_be_had_at_first_is_asked_for_again():
    async def twice() -> None:
        slow = robots("User-agent: *\nCrawl-delay: 3\n")
        handler, _ = crawl({ROBOTS: [reply(503), slow], START: page()})
        first = await handler.meet("https://example.com")
        assert first.delay_s == 0.5
        clock = handler._asker._clock = handler._asker.robots._clock = StillClock()
        clock.pass_by(first.until - clock.now)
        assert await handler.meet("https://example.com") == HostPace(
            1, 3.0, until=clock.now + 24 * 3600, machine="example.com"
        )

    asyncio.run(twice())


def test_while_robots_cannot_be_had_nothing_is_fetched_and_at_last_everything_fails():
    async def until_the_end() -> None:
        handler, web = crawl({ROBOTS: reply(503), START: page()})
        clock = handler._asker._clock = handler._asker.robots._clock = StillClock()
        for tries in range(1, RetryPolicy().robots.tries):
            outcome = await handler.handle(item())
            assert isinstance(outcome, RetryAt)
            assert isinstance(await handler.handle(item()), RetryAt)
            assert web.count(ROBOTS) == tries
            assert outcome.host_due_at == outcome.due_at > clock.now
            clock.now = outcome.due_at
        for _ in range(2):
            failed = await handler.handle(item())
            assert isinstance(failed, Failed)
            assert failed.reason == "robots_unreachable"
            assert [dict(record.data) for record in failed.records] == [
                {"reason": "robots_unreachable", "cause": "robots_http_503"}
            ]
        assert web.count(ROBOTS) == RetryPolicy().robots.tries
        assert web.count(START) == 0

    asyncio.run(until_the_end())


def test_a_host_that_cannot_be_reached_fails_for_that_very_reason():
    outcome = handle({ROBOTS: FetchFailed("tls", transient=False)})
    assert outcome == Failed("tls")


def test_closing_lets_go_of_the_fetcher():
    handler, web = crawl({})
    asyncio.run(handler.close())
    assert web.closed


def calendar(path: str, number: int) -> Response:
    return page(f"/{path}/{number - 1}", f"/{path}/{number + 1}", title="Nothing on that day")


def test_the_page_that_closes_a_family_notes_it_down_and_the_next_claim_asks_for_none_of_it():
    answers = {f"{START}cal/{n}": calendar("cal", n) for n in range(200)}

    async def claims() -> None:
        handler, web = crawl(answers)
        noted = []
        for n in range(100):
            outcome = await handler.handle(item(f"{START}cal/{n}", 20 + n))
            if isinstance(outcome, Done):
                noted.append(outcome.cursor)
            else:
                assert outcome == Skipped("trap_barren")
        *before, last = noted
        assert set(map(str, before)) == {"None"}
        assert last == {"seeds": [], "barren": ["https://example.com/cal/#"]}
        assert IN_A_ROW < len(noted) < 2 * IN_A_ROW
        assert len(web.asked) == len(noted) + 1, "robots.txt, and no page after the last"
        later, web = crawl(answers, cursor=last)
        assert await later.handle(item(f"{START}cal/150", 20)) == Skipped("trap_barren")
        assert web.count(f"{START}cal/150") == 0
        following, _ = crawl(answers, SiteSpec((START,), traps=TrapRules(avoid=False)), cursor=last)
        assert isinstance(await following.handle(item(f"{START}cal/150", 20)), Done)

    asyncio.run(claims())


def test_a_redirect_of_a_start_url_leaves_families_closed():
    async def both() -> None:
        handler, _ = crawl({START: moved("https://www.example.com/")}, cursor={"seeds": [], "barren": ["x"]})
        assert notes(await handler.handle(item())) == {"seeds": ["https://www.example.com/"], "barren": ["x"]}

    asyncio.run(both())


def test_another_order_of_parameters_is_asked_for_only_if_the_first_gave_no_page():
    good, bad = f"{START}g?a=1&b=2", f"{START}h?a=1&b=2"

    async def orders() -> list[Outcome]:
        handler, _ = crawl({good: page(), f"{START}h?b=2&a=1": page()})
        urls = [good, good, f"{START}g?b=2&a=1", bad, f"{START}h?b=2&a=1"]
        return [await handler.handle(item(url, 1)) for url in urls]

    first, again, other, failed, instead = asyncio.run(orders())
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert other == Skipped("trap_order")
    assert isinstance(failed, Failed)
    assert isinstance(instead, Done)


def test_start_urls_are_never_given_up():
    starts = (f"{START}?a=1&b=2", f"{START}?b=2&a=1", f"{START}cal/7")

    async def all_of_them() -> list[Outcome]:
        handler, _ = crawl(
            {url: page() for url in starts}, SiteSpec(starts), cursor={"barren": [f"{START}cal/#"]}
        )
        return [await handler.handle(item(url)) for url in starts]

    assert all(isinstance(outcome, Done) for outcome in asyncio.run(all_of_them()))
