"""Addresses beyond links: sitemaps, robots.txt, feeds, llms.txt, and what pages ask of robots."""

import asyncio
import gzip
from dataclasses import replace

import pytest
from tests.unit.site.test_relink import relinked
from tests.unit.site.web_of_dict import START, crawl, handle, item, moved, page, reply

from holdfast.domain.item import Consulted, Done, Failed, Redirected, Skipped
from holdfast.domain.job import Limits
from holdfast.pipelines.site.discovery import Discovery
from holdfast.pipelines.site.handler import LISTS_AT_A_TIME
from holdfast.pipelines.site.pipeline import SitePipeline
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.fetcher import FetchFailed

SPEC = SiteSpec((START,))
ROBOTS = START + "robots.txt"
SITEMAP = START + "sitemap.xml"


def source(url=SITEMAP, kind="sitemap", depth=1, attempts=0):
    return replace(item(url, depth, attempts), kind=kind)


def sitemap(*urls, lastmod=""):
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    body = "<urlset>" + "".join(f"<url><loc>{url}</loc>{date}</url>" for url in urls) + "</urlset>"
    return reply(body=body.encode(), content_type="application/xml")


def index(*urls):
    body = (
        "<sitemapindex>" + "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls) + "</sitemapindex>"
    )
    return reply(body=body.encode(), content_type="text/xml")


def found(outcome):
    return [(one.url.removeprefix(START), one.kind, one.depth, one.skip) for one in outcome.found]


def consulted(answer, one, spec=SPEC, **limits):
    """The outcome of consulting; reading it again must lead to the same."""
    outcome = handle({one.url: answer}, one, spec=spec, **limits)
    assert isinstance(outcome, Consulted)
    assert outcome.records[0].kind == "source"
    again = relinked(spec, {}, one, outcome, **limits)
    assert again == list(outcome.found)
    return outcome


# -- what is looked for


@pytest.mark.parametrize(
    ("discovery", "ignore_robots", "expected"),
    [
        (Discovery(), False, ["robots.txt", "sitemap.xml"]),
        (Discovery(), True, ["sitemap.xml"]),
        (Discovery(sitemaps=False), False, []),
        (Discovery(sitemaps=False, llms=True), False, ["llms.txt", "llms-full.txt"]),
    ],
)
def test_what_is_looked_for_on_each_start_host(discovery, ignore_robots, expected):
    urls = (START, START + "b", "http://o.org:8000/x")
    spec = SiteSpec(urls, discovery=discovery, ignore_robots=ignore_robots)
    seeds = SitePipeline().seeds(spec.to_json(), Limits())
    assert [seed.url for seed in seeds[:3]] == list(urls)
    looked_for = [base + path for base in (START, "http://o.org:8000/") for path in expected]
    assert [(seed.url, seed.depth, seed.skip) for seed in seeds[3:]] == [(url, 1, None) for url in looked_for]


def test_what_is_looked_for_leads_nowhere_where_only_start_urls_count():
    seeds = SitePipeline().seeds(SPEC.to_json(), Limits(max_depth=0))
    assert [seed.skip for seed in seeds] == [None, "depth", "depth"]


def test_a_start_url_stays_one_whatever_it_is():
    seeds = SitePipeline().seeds(SiteSpec((SITEMAP,)).to_json(), Limits())
    assert [(seed.url, seed.kind) for seed in seeds] == [(SITEMAP, "page"), (ROBOTS, "robots")]


# -- sitemaps


def test_a_sitemap_is_no_page_and_what_it_lists_is_as_deep_as_itself():
    one = source()
    outcome = consulted(sitemap(START + "a", "/b", "https://o.org/", lastmod="2024-05-01"), one)
    assert found(outcome) == [
        ("a", "page", 1, None),
        ("b", "page", 1, None),
        ("https://o.org/", "page", 1, "external"),
    ]
    assert {one.lastmod for one in outcome.found} == {"2024-05-01"}
    assert outcome.reason == "http_200"
    data = outcome.records[0].data
    assert (data["kind"], data["links"], data["cut"]) == ("sitemap", 3, False)


def test_what_a_sitemap_lists_is_judged_like_a_link():
    spec = SiteSpec((START,), exclude=("secret",))
    outcome = consulted(sitemap(START + "secret", START + "a"), source(), spec)
    assert [one.skip for one in outcome.found] == ["excluded", None]
    deeper = consulted(sitemap(START + "a"), source(depth=4), max_depth=3)
    assert found(deeper) == [("a", "page", 4, "depth")]


def test_patterns_are_about_pages_and_not_about_sitemaps():
    spec = SiteSpec((START,), include=("/docs/",))
    outcome = consulted(index(START + "sitemap-1.xml"), source(), spec)
    assert found(outcome) == [("sitemap-1.xml", "sitemap:1", 1, None)]


def test_an_index_names_sitemaps_of_its_host_and_of_the_crawl():
    outcome = consulted(index("/1.xml.gz", "https://o.org/2.xml", "http://example.com/3.xml"), source())
    assert found(outcome) == [
        ("1.xml.gz", "sitemap:1", 1, None),
        ("https://o.org/2.xml", "sitemap:1", 1, "external"),
        ("http://example.com/3.xml", "sitemap:1", 1, None),
    ]
    elsewhere = source("https://o.org/index.xml")
    assert found(consulted(index("https://o.org/2.xml"), elsewhere)) == [
        ("https://o.org/2.xml", "sitemap:1", 1, None)
    ]


def test_indexes_of_indexes_end():
    assert found(consulted(index("/2.xml"), source(kind="sitemap:1"))) == [("2.xml", "sitemap:2", 1, None)]
    assert found(consulted(index("/3.xml"), source(kind="sitemap:2"))) == [
        ("3.xml", "sitemap:3", 1, "nesting")
    ]
    assert found(consulted(sitemap("/a"), source(kind="sitemap:2"))) == [("a", "page", 1, None)]


def test_a_packed_sitemap_is_unpacked():
    body = gzip.compress(b"<urlset><url><loc>https://example.com/a</loc></url></urlset>")
    for content_type in ("application/x-gzip", "application/octet-stream", "text/xml", ""):
        answer = reply(body=body, content_type=content_type)
        assert found(consulted(answer, source(START + "s.xml.gz"))) == [("a", "page", 1, None)]


def test_a_page_in_the_place_of_a_sitemap_leads_nowhere():
    assert found(consulted(page("/x"), source())) == []


def test_a_text_sitemap_is_read_whatever_its_type():
    answer = reply(body=b"https://example.com/a\n", content_type="text/plain")
    assert found(consulted(answer, source())) == [("a", "page", 1, None)]


@pytest.mark.parametrize("status", [401, 403, 404, 410])
@pytest.mark.parametrize("kind", ["sitemap", "sitemap:1", "robots", "llms", "feed"])
def test_what_is_not_there_is_no_failure(status, kind):
    one = source(kind=kind)
    assert handle({one.url: reply(status)}, one) == Skipped("absent")


def test_what_the_server_can_not_give_is_a_failure():
    assert isinstance(handle({SITEMAP: reply(501)}, source()), Failed)
    assert isinstance(handle({SITEMAP: FetchFailed("too_large", transient=False)}, source()), Failed)
    assert isinstance(handle({SITEMAP: reply(503)}, source(attempts=20)), Failed)


def test_a_sitemap_that_moved_is_followed_to_wherever_it_is():
    one = source()
    outcome = handle({SITEMAP: moved("https://cdn.org/s.xml")}, one)
    assert isinstance(outcome, Redirected)
    assert found(outcome) == [("https://cdn.org/s.xml", "sitemap", 1, None)]
    assert outcome.cursor is None
    assert tuple(relinked(SPEC, {}, one, outcome)) == outcome.found


def test_dates_are_told_of_pages_that_are_known_already():
    async def both():
        handler, _ = crawl({START: page("/a", "/b"), SITEMAP: sitemap(START + "a", lastmod="2024-05-01")})
        await handler.handle(item())
        outcome = await handler.handle(source())
        assert isinstance(outcome, Consulted)
        return [(one.url, one.lastmod) for one in outcome.found]

    assert asyncio.run(both()) == [(START + "a", "2024-05-01")]


def test_external_pages_of_a_sitemap_count_against_the_cap():
    spec = SiteSpec((START,), max_external=2)
    outcome = handle({SITEMAP: sitemap(*(f"https://o.org/{n}" for n in range(5)))}, source(), spec=spec)
    assert isinstance(outcome, Consulted)
    assert (len(outcome.found), outcome.unkept) == (2, 3)
    outcome = handle({SITEMAP: index(*(f"https://o.org/{n}" for n in range(5)))}, source(), spec=spec)
    assert isinstance(outcome, Consulted)
    assert (len(outcome.found), outcome.unkept) == (2, 3)


# -- robots.txt

RULES = b"User-agent: *\nDisallow: /\nSITEMAP: https://example.com/a.xml\r\n sitemap:/b.xml # here\nSitemap: https://cdn.org/c.xml"


def test_robots_txt_names_sitemaps_wherever_they_are_and_may_be_read_itself():
    one = source(ROBOTS, "robots")
    handler, web = crawl({ROBOTS: reply(body=RULES, content_type="text/plain")})
    outcome = asyncio.run(handler.handle(one))
    assert isinstance(outcome, Consulted)
    assert found(outcome) == [
        ("a.xml", "sitemap", 1, None),
        ("b.xml", "sitemap", 1, None),
        ("https://cdn.org/c.xml", "sitemap", 1, None),
    ]
    assert relinked(SPEC, {}, one, outcome) == list(outcome.found)
    assert web.count(ROBOTS) == 1, "what was asked for its rules is not asked for again"


def test_robots_txt_closes_sitemaps_too():
    outcome = handle({ROBOTS: reply(body=RULES, content_type="text/plain")}, source())
    assert outcome == Skipped("robots")


# -- feeds and llms.txt

FEED = b"<rss><channel><item><link>https://example.com/1</link></item></channel></rss>"
WITH_FEED = reply(
    body=b"<!doctype html><title>x</title><link rel=alternate type=application/rss+xml href=/feed><a href=/a>",
    headers=(("Link", '</other>; rel=alternate; type="application/atom+xml"'),),
)


def test_a_feed_that_a_page_names_is_read_where_that_is_wanted():
    assert found(handle({START: WITH_FEED})) == [("a", "page", 1, None)]
    spec = SiteSpec((START,), discovery=Discovery(feeds=True))
    outcome = handle({START: WITH_FEED}, spec=spec)
    assert found(outcome) == [("feed", "feed", 1, None), ("other", "feed", 1, None), ("a", "page", 1, None)]


def test_a_feed_is_reported_once_and_again_when_it_is_nearer():
    spec = SiteSpec((START,), discovery=Discovery(feeds=True))
    urls = [START + name for name in "abc"]

    async def three():
        handler, _ = crawl(dict.fromkeys(urls, WITH_FEED), spec)
        depths = (3, 3, 1)
        outcomes = [await handler.handle(item(url, depth)) for url, depth in zip(urls, depths, strict=True)]
        return [[one.url for one in outcome.found if one.kind == "feed"] for outcome in outcomes]

    feeds = [START + "feed", START + "other"]
    assert asyncio.run(three()) == [feeds, [], feeds]


def test_a_feed_lists_pages_as_deep_as_itself():
    one = source(START + "feed", "feed", depth=2)
    outcome = consulted(reply(body=FEED, content_type="application/rss+xml"), one)
    assert found(outcome) == [("1", "page", 2, None)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (reply(body=FEED, content_type="text/xml"), [("1", "page", 1, None)]),
        (sitemap(START + "1"), [("1", "page", 1, None)]),
        (index(START + "1.xml"), [("1.xml", "sitemap:1", 1, None)]),
        (replace(sitemap(), body=(packed := gzip.compress(sitemap(START + "1").body)), payload=packed,
                 headers=(("Content-Type", "application/gzip"),)), [("1", "page", 1, None)]),
    ],
    ids=["feed", "sitemap", "index", "packed"],
)  # fmt: skip
def test_a_start_url_that_lists_pages_is_read_for_them(answer, expected):
    assert found(consulted(answer, item())) == expected


def test_other_xml_is_a_page():
    outcome = handle({START: reply(body=b"<book><link>/x</link></book>", content_type="application/xml")})
    assert isinstance(outcome, Done)
    assert (outcome.records[0].data["kind"], outcome.found) == ("xml", ())


def test_llms_txt_lists_what_it_links_to():
    one = source(START + "llms.txt", "llms")
    answer = reply(body=b"# Site\n- [A](/a.md): x\n- [B](https://o.org/b)\n", content_type="text/plain")
    assert found(consulted(answer, one)) == [
        ("a.md", "page", 1, None),
        ("https://o.org/b", "page", 1, "external"),
    ]
    assert found(consulted(page("/x"), one)) == []


# -- what a page asks of robots

ASKED = b"<!doctype html><title>x</title><a href=/a>a</a><a rel='nofollow' href=/b>b</a><a rel=nofollow href=https://o.org/>o</a>"


def test_a_link_that_is_not_to_be_followed_is_an_item_that_says_so():
    one = item()
    outcome = handle({START: reply(body=ASKED)}, one)
    assert isinstance(outcome, Done)
    assert found(outcome) == [
        ("a", "page", 1, None),
        ("b", "page", 1, "nofollow"),
        ("https://o.org/", "page", 1, "external"),
    ]
    assert outcome.records[0].data["links"] == 3
    assert relinked(SPEC, {}, one, outcome) == list(outcome.found)


@pytest.mark.parametrize(
    "answer",
    [
        reply(body=b"<!doctype html><title>x</title><meta name=robots content=nofollow><a href=/a>a</a>"),
        reply(body=b"<a href=/a>a</a>", headers=(("X-Robots-Tag", "nofollow"),)),
        reply(body=b"<a href=/a>a</a>", headers=(("X-Robots-Tag", "holdfast: none"),)),
    ],
)
def test_a_page_may_ask_that_of_all_its_links(answer):
    one = item()
    outcome = handle({START: answer}, one)
    assert found(outcome) == [("a", "page", 1, "nofollow")]
    assert relinked(SPEC, {}, one, outcome) == list(outcome.found)
    heedless = SiteSpec((START,), discovery=Discovery(follow_nofollow=True))
    assert found(handle({START: answer}, spec=heedless)) == [("a", "page", 1, None)]


def test_another_page_may_let_in_what_one_does_not():
    a, b = START + "1", START + "2"

    async def both():
        handler, _ = crawl({a: reply(body=ASKED), b: page("/b")})
        return [found(await handler.handle(item(url, 3))) for url in (a, b, a)]

    first, second, third = asyncio.run(both())
    assert ("b", "page", 4, "nofollow") in first
    assert second == [("b", "page", 4, None)]
    assert third == []


def test_noindex_only_annotates():
    body = b"<!doctype html><title>x</title><meta name=robots content=noindex><a href=/a>a</a>"
    outcome = handle({START: reply(body=body)})
    assert isinstance(outcome, Done)
    assert outcome.records[0].data["noindex"] is True
    assert found(outcome) == [("a", "page", 1, None)]


# -- Link headers


def test_a_link_header_names_the_next_page_and_the_canonical_one():
    one = item(START + "list?page=1")
    headers = (
        ("Link", '</list?page=2>; rel="next", <https://example.com/list>; rel=canonical'),
        ("link", "<x.css>; rel=preload"),
    )
    outcome = handle({one.url: reply(body=b"<base href=/else/><a href=a>", headers=headers)}, one)
    assert isinstance(outcome, Done)
    assert found(outcome) == [("else/a", "page", 1, None), ("list?page=2", "page", 1, None)]
    assert outcome.records[0].data["canonical"] == START + "list"
    assert relinked(SPEC, {}, one, outcome) == list(outcome.found)


def test_markdown_links_are_links():
    outcome = handle({START: reply(body=b"# T\n[a](/a) <https://o.org/>", content_type="text/markdown")})
    assert isinstance(outcome, Done)
    assert found(outcome) == [("a", "page", 1, None), ("https://o.org/", "page", 1, "external")]
    assert (outcome.records[0].data["kind"], outcome.records[0].data["title"]) == ("markdown", "T")


def test_few_sitemaps_are_in_memory_at_a_time():
    busy = most = 0

    async def all_at_once():
        nonlocal busy, most
        handler, web = crawl({})
        fetch = web.fetch

        async def slowly(request):
            nonlocal busy, most
            if request.url.endswith(".xml"):
                busy += 1
                most = max(most, busy)
                await asyncio.sleep(0.001)
                busy -= 1
            return await fetch(request)

        web.fetch = slowly
        await asyncio.gather(*(handler.handle(source(f"{START}{n}.xml")) for n in range(20)))

    asyncio.run(all_at_once())
    assert most == LISTS_AT_A_TIME
