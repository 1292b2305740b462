"""robots.txt: what is asked, followed, believed and remembered."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.site.web_of_dict import NOW, StillClock, Web, moved, reply

from holdfast.crawl import robots
from holdfast.crawl.outage import Outages
from holdfast.crawl.robots import MAX_CRAWL_DELAY_S, Robots, Rules, Unknown, deciding_line
from holdfast.domain.retry import RetryPolicy
from holdfast.ports.fetcher import FetchFailed

HOST = "https://example.com"
ROBOTS = HOST + "/robots.txt"


def text(body: str | bytes):
    return reply(body=body.encode() if isinstance(body, str) else body, content_type="text/plain")


def asking(answers):
    web = Web(answers)
    clock = StillClock()
    policy = RetryPolicy()
    outages = Outages(clock, lambda: 0.5, policy)
    asked = Robots(web, clock, lambda: 0.5, user_agent="Holdfast/1.0 (+x)", policy=policy, outages=outages)
    return asked, web, clock


def rules_of(answer, host=HOST):
    return asyncio.run(asking({ROBOTS: answer})[0].of(host))


def test_rules_for_us_come_before_rules_for_all():
    rules = rules_of(
        text("User-agent: *\nDisallow: /\n\nUser-agent: holdfast\nDisallow: /no\nCrawl-delay: 2")
    )
    assert isinstance(rules, Rules)
    assert rules.allows(HOST + "/yes")
    assert not rules.allows(HOST + "/no/x")
    assert rules.delay_s == 2


def test_a_redirect_to_raw_bytes_is_followed_to_those_bytes():
    answers = {
        ROBOTS: moved("/é.txt".encode().decode("latin-1")),
        HOST + "/%C3%A9.txt": text("User-agent: *\nDisallow: /"),
    }
    rules = asyncio.run(asking(answers)[0].of(HOST))
    assert isinstance(rules, Rules)
    assert not rules.allows(HOST + "/x")


@pytest.mark.parametrize("answer", [reply(404), reply(403), reply(401), reply(204), text(""), text(" \n")])
def test_no_rules_allow_everything(answer):
    rules = rules_of(answer)
    assert isinstance(rules, Rules)
    assert rules.allows(HOST + "/x")
    assert rules.delay_s is None


@pytest.mark.parametrize(
    ("lines", "delay"),
    [
        ("Crawl-delay: 1e9", MAX_CRAWL_DELAY_S),
        ("Crawl-delay: 0", None),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: soon", None),
        ("Request-rate: 1/10s", 10),
        ("Request-rate: 2/10s\nCrawl-delay: 7", 7),
    ],
)
def test_crawl_delays(lines, delay):
    rules = rules_of(text(f"User-agent: *\n{lines}\n"))
    assert isinstance(rules, Rules)
    assert rules.delay_s == delay


def test_only_the_first_512_kib_count():
    rules = rules_of(text("User-agent: *\nDisallow: /a\n" + "#" * 600_000 + "\nDisallow: /b\n"))
    assert isinstance(rules, Rules)
    assert not rules.allows(HOST + "/a")
    assert rules.allows(HOST + "/b")


def test_redirects_are_followed_to_other_hosts_but_not_for_ever():
    hops = {f"https://o.org/{n}": moved(f"/{n + 1}") for n in range(9)}
    near = asking(
        {ROBOTS: moved("https://o.org/5"), **hops, "https://o.org/9": text("User-agent: *\nDisallow: /")}
    )[0]
    rules = asyncio.run(near.of(HOST))
    assert isinstance(rules, Rules)
    assert not rules.allows(HOST + "/x")
    far, web, _ = asking({ROBOTS: moved("https://o.org/0"), **hops})
    rules = asyncio.run(far.of(HOST))
    assert isinstance(rules, Rules)
    assert rules.allows(HOST + "/x")
    assert len(web.asked) == 6


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply(500), "robots_http_500"),
        (reply(429), "robots_http_429"),
        (FetchFailed("timeout", transient=True), "robots_timeout"),
        (FetchFailed("dns", transient=True), "dns"),
    ],
)
def test_what_cannot_be_had_is_unknown_for_a_while(answer, reason):
    assert rules_of(answer) == Unknown(reason, NOW + 2.0)


def test_a_wish_to_wait_is_granted():
    assert rules_of(reply(503, headers=[("Retry-After", "100")])) == Unknown("robots_http_503", NOW + 102)


def test_unknown_becomes_known_when_it_answers_again():
    async def run() -> None:
        asked, web, clock = asking({ROBOTS: [reply(500), text("User-agent: *\nDisallow: /no")]})
        assert isinstance(await asked.of(HOST), Unknown)
        assert isinstance(await asked.of(HOST), Unknown)
        assert web.count(ROBOTS) == 1
        clock.now += 3
        assert isinstance(await asked.of(HOST), Rules)
        clock.now += 23 * 3600
        assert isinstance(await asked.of(HOST), Rules)
        assert web.count(ROBOTS) == 2

    asyncio.run(run())


def test_rules_are_asked_for_again_after_a_day_and_hold_on_while_they_cannot_be_had():
    async def run() -> None:
        asked, web, clock = asking({ROBOTS: [text("User-agent: *\nDisallow: /no"), reply(500)]})
        first = await asked.of(HOST)
        clock.now += 25 * 3600
        assert asked.known(HOST) is None
        again = await asked.of(HOST)
        assert again.parsed is first.parsed
        assert again.until > clock.now
        assert web.count(ROBOTS) == 2

    asyncio.run(run())


def test_one_question_at_a_time_even_if_the_first_to_ask_is_gone():
    async def run() -> None:
        asked, web, _ = asking({ROBOTS: text("")})
        first = asyncio.ensure_future(asked.of(HOST))
        others = [asyncio.ensure_future(asked.of(HOST)) for _ in range(5)]
        await asyncio.sleep(0)
        first.cancel()
        assert all(isinstance(rules, Rules) for rules in await asyncio.gather(*others))
        assert web.count(ROBOTS) == 1

    asyncio.run(run())


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(robots, "MAX_ORIGINS", 3)

    async def run() -> None:
        asked, web, _ = asking({})
        for n in range(10):
            await asked.of(f"https://h{n}.example")
        assert len(asked._known) == 3
        await asked.of("https://h9.example")
        assert len(web.asked) == 10

    asyncio.run(run())


def test_long_files_of_rules_are_bounded_together(monkeypatch):
    monkeypatch.setattr(robots, "MAX_CHARS", 1000)

    async def run() -> None:
        rules = text("User-agent: *\nDisallow: /" + "x" * 270)
        asked, _web, _ = asking({f"https://h{n}.example/robots.txt": rules for n in range(10)})
        for n in range(10):
            await asked.of(f"https://h{n}.example")
        assert asked._chars == sum(one.chars for one in asked._known.values()) <= 1000
        assert list(asked._known) == [f"https://h{n}.example" for n in (7, 8, 9)]

    asyncio.run(run())


LINES = st.sampled_from(
    [
        "User-agent: *",
        "User-agent: holdfast",
        "Disallow: /",
        "Allow: /a*$",
        "Disallow:",
        "Crawl-delay: x",
        "%zz",
        "\x00",
    ]
) | st.text(max_size=20)


@given(
    st.binary(max_size=200)
    | st.lists(LINES, max_size=15).map(lambda lines: "\n".join(lines).encode("utf-8", "replace"))
)
def test_no_robots_txt_is_too_broken(body):
    rules = rules_of(text(body))
    assert isinstance(rules, Rules)
    assert isinstance(rules.allows(HOST + "/a?b=%20"), bool)
    assert rules.delay_s is None or 0 < rules.delay_s <= MAX_CRAWL_DELAY_S


OURS = """User-agent: Other
Disallow: /a/very/long/path
Allow: /

User-agent: *
Disallow: /a
Disallow : /a/very   # twice
Allow: /a/very/good
Disallow: /*.pdf$
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/a/x", "Disallow: /a"),
        ("/a/very/long/path", "Disallow : /a/very   # twice"),
        ("/a/very/good", None),
        ("/b/x.pdf", "Disallow: /*.pdf$"),
        ("/b", None),
    ],
)
def test_the_line_that_shuts_an_address_out_is_the_one_that_decides(path, line):
    assert deciding_line(OURS.encode(), "Holdfast/1.0 (+x)", HOST + path) == line
    assert rules_of(text(OURS)).allows(HOST + path) == (line is None)
