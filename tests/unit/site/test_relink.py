"""A stored exchange leads to exactly what handling it found."""

import asyncio
import hashlib
import random
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.site.web_of_dict import NOW, START, crawl, handle, item, job, moved, page, reply

from holdfast.domain.commit import Location
from holdfast.domain.item import Done, Found, Item, Redirected
from holdfast.domain.job import Limits
from holdfast.pipelines.site import links
from holdfast.pipelines.site.discovery import Discovery
from holdfast.pipelines.site.pipeline import SitePipeline
from holdfast.pipelines.site.rows import COLUMNS, Whence, page_row
from holdfast.pipelines.site.spec import Scope, SiteSpec
from holdfast.ports.segments import Reading


def stored(response, url=START):
    digest = hashlib.sha256(response.payload).digest()
    return Reading(
        Location("s", 0, 1),
        url,
        response.status,
        tuple(response.headers),
        response.payload,
        response.body,
        revisit=False,
        digest=digest,
    )


def relinked(spec, cursor, one, outcome, **limits):
    [record] = outcome.records
    reading = stored(record.exchange.response, one.url)
    return list(SitePipeline().relink(job(spec, **limits), cursor, one, record, reading))


HREFS = st.sampled_from(
    [
        "/a",
        "/b",
        "/b#x",
        "/b?",
        "a",
        "d/a",
        "../a",
        "?q=1",
        "#top",
        "",
        "//example.com/a",
        "https://example.com/a",
        "HTTPS://EXAMPLE.com:443/a",
        "http://example.com/%61",
        "http:a",
        "https:a",
        "https:#x",
        "https:?y",
        "\x01#x",
        "\x01?x",
        "/\t/other.org/",
        "\\a",
        "mailto:a@b.c",
        "javascript:x",
        "https://other.org/",
        "https://other.org/x.pdf",
        "/x.pdf",
        "/%",
        "/é",
        "http://[",
        "/" + "long" * 2100,
        "a/a/a/a/a",
        "news/",
        "team/x",
        "a;jsessionid=1",
        "/a;jsessionid=2?q=1",
        "?PHPSESSID=3",
        "https://other.org/;jsessionid=4",
    ]
) | st.text(st.sampled_from("ab/.:?#%\\ 41\t"), max_size=8)
PAGES = st.lists(
    st.tuples(
        st.sampled_from(["", "d/", "d/p", "d/p?x", "d/e/p", "p", "news/team/", "team/news/p"]),
        st.lists(st.tuples(HREFS, st.sampled_from(["", "", "", "nofollow"])), max_size=12),
        st.integers(0, 4),
        st.sampled_from(["", "/base/", "q?r", "https://other.org/z", "mailto:x"]),
        st.sampled_from(["", "", "nofollow"]),
    ),
    min_size=1,
    max_size=6,
)


def quoted(href: str) -> str:
    return href.replace("&", "&amp;").replace('"', "&quot;")


@given(PAGES, st.sampled_from(list(Scope)), st.integers(0, 4), st.booleans())
@example([("d/p", [("\x01#x", "")], 1, "", ""), ("d/q", [("\x01#x", "")], 1, "", "")], Scope.HOST, 3, False)
@example([("p", [("/a", "nofollow")], 1, "", ""), ("p", [("/a", "")], 1, "", "")], Scope.HOST, 3, False)
def test_relinking_gives_what_handling_gave(pages, scope, max_depth, follow):
    """Over any run of pages: least depth, verdict and parents agree with a reading that remembers nothing."""
    spec = SiteSpec(
        (START,),
        scope,
        exclude=("pdf",),
        strip_params=("q", "r*"),
        discovery=Discovery(follow_nofollow=follow),
    )

    async def run() -> tuple[dict[str, Found], dict[str, Found]]:
        handled: dict[str, Found] = {}
        reread: dict[str, Found] = {}
        handler, web = crawl({}, spec, max_depth=max_depth)
        for path, hrefs, depth, base, asked in pages:
            one = item(START + path, depth)
            anchors = "".join(f'<a rel="{rel}" href="{quoted(href)}">x</a>' for href, rel in hrefs)
            tag = (("X-Robots-Tag", asked),)
            web.answers[one.url] = reply(body=f'<base href="{base}">{anchors}'.encode(), headers=tag)
            outcome = await handler.handle(one)
            assert isinstance(outcome, Done)
            meet_all(handled, outcome.found)
            again = relinked(spec, {}, one, outcome, max_depth=max_depth)
            meet_all(reread, again)
            # What handling reports is never more than what rereading gives.
            assert set(outcome.found) <= set(again)
        return handled, reread

    handled, reread = asyncio.run(run())
    assert {url: found for url, found in handled.items() if found.skip != "external"} == {
        url: found for url, found in reread.items() if found.skip != "external"
    }
    assert handled.keys() == reread.keys()


@given(st.lists(HREFS, max_size=12), st.randoms(), st.sampled_from(["", "d/p", "news/team/", "a/b/a/b/a"]))
@example(["news/", "team/", "x/", "/news/team/x/", "/x;jsessionid=1"], random.Random(1), "news/team/")
def test_the_order_of_the_links_on_a_page_decides_nothing(hrefs, rng, path):
    spec = SiteSpec((START,), exclude=("pdf",))
    shuffled = rng.sample(hrefs, len(hrefs))

    async def found_on(order: list[str]) -> dict[str, str | None]:
        handler, web = crawl({}, spec, max_depth=3)
        one = item(START + path, 2)
        web.answers[one.url] = reply(
            body="".join(f'<a href="{quoted(href)}">x</a>' for href in order).encode()
        )
        outcome = await handler.handle(one)
        assert isinstance(outcome, Done)
        return {found.url: found.skip for found in outcome.found}

    assert asyncio.run(found_on(hrefs)) == asyncio.run(found_on(shuffled))


def meet_all(known: dict[str, Found], findings) -> None:
    """Admitted if any finding is, at the least depth of all."""
    for found in findings:
        each = sorted((known.get(found.url, found), found), key=lambda one: (one.skip is not None, one.depth))
        known[found.url] = replace(each[0], depth=min(one.depth for one in each))


def test_the_memory_may_forget_but_never_claims_too_much(monkeypatch):
    monkeypatch.setattr(links, "MAX_REMEMBERED", 4)

    async def run() -> None:
        handler, web = crawl({})
        known = set()
        for n in range(30):
            one = item(f"{START}p{n}", 1)
            web.answers[one.url] = page(*(f"/x{(n * 3 + k) % 20}" for k in range(7)))
            outcome = await handler.handle(one)
            assert isinstance(outcome, Done)
            known |= {found.url for found in outcome.found}
            assert {f"{START}x{(n * 3 + k) % 20}" for k in range(7)} <= known

    asyncio.run(run())


def test_a_redirect_leads_to_its_target_again():
    one = item(START + "old", 2)
    outcome = handle({one.url: moved(" /new ")}, one)
    assert isinstance(outcome, Redirected)
    assert tuple(relinked(SiteSpec((START,)), {}, one, outcome)) == outcome.found
    [record] = outcome.records
    assert tuple(SitePipeline().relink(job(SiteSpec((START,))), {}, one, record, None)) == outcome.found


def test_a_redirect_to_raw_bytes_leads_there_again():
    one = item(START + "old", 2)
    outcome = handle({one.url: moved("/à".encode().decode("latin-1"))}, one)
    assert isinstance(outcome, Redirected)
    assert [found.url for found in outcome.found] == [START + "%C3%A0"]
    assert tuple(relinked(SiteSpec((START,)), {}, one, outcome)) == outcome.found


def test_the_cursors_seeds_count():
    outcome = handle({START: page("https://www.example.com/x")})
    found = relinked(SiteSpec((START,)), {"seeds": ["https://www.example.com/"]}, item(), outcome)
    assert [one.skip for one in found] == [None]


def test_links_beyond_the_external_cap_are_given_unless_rejudging():
    spec = SiteSpec((START,), max_external=0)
    one = item()
    outcome = handle({START: page("/a", "https://o.org/")}, one, spec=spec)
    assert isinstance(outcome, Done)
    assert outcome.unkept == 1
    assert [found.skip for found in relinked(spec, {}, one, outcome)] == [None, "external"]
    assert [found.skip for found in relinked(spec, {}, replace(one, rejudge=True), outcome)] == [None]


def test_errors_and_missing_bodies_lead_nowhere():
    one = item()
    outcome = handle({START: reply(404, b"<a href=/x>")}, one)
    assert list(relinked(SiteSpec((START,)), {}, one, outcome)) == []
    done = handle({START: page("/x")}, one)
    assert isinstance(done, Done)
    assert list(SitePipeline().relink(job(SiteSpec((START,))), {}, one, done.records[0], None)) == []


def test_seeds_are_the_start_urls():
    spec = SiteSpec((START, "https://o.org/x"), exclude=(".",))
    pages = [
        seed for seed in SitePipeline().seeds(spec.to_json(), Limits(max_depth=0)) if seed.kind == "page"
    ]
    assert [(seed.url, seed.depth, seed.skip, seed.host) for seed in pages] == [
        (START, 0, None, "https://example.com"),
        ("https://o.org/x", 0, None, "https://o.org"),
    ]


def row_of(response):
    outcome = handle({START: response})
    assert isinstance(outcome, Done)
    whence = Whence(START, 2, "https://example.com/parent", lastmod="2024-05-01")
    return page_row(whence, outcome.records[0].data, stored(response))


def test_a_row_says_all_there_is_to_say():
    row = row_of(page("/a", "/b"))
    assert tuple(row) == COLUMNS
    assert row | {"sha256": "", "size": 0} == {
        "url": START,
        "status": 200,
        "depth": 2,
        "parent": "https://example.com/parent",
        "title": "A page",
        "kind": "html",
        "content_type": "text/html",
        "fetched_at": "2027-01-15T08:00:00.000Z",
        "sha256": "",
        "size": 0,
        "text": "x\n\nx",
        "links": 2,
        "lang": "en",
        "description": "",
        "canonical": None,
        "noindex": False,
        "rendered": False,
        "lastmod": "2024-05-01",
        "charset": "utf-8",
        "http_version": "1.1",
        "elapsed_ms": 12.3,
        "duplicate_of": None,
        "json_ld": None,
        "open_graph": None,
        "microdata": None,
    }
    assert NOW == 1_800_000_000


def test_text_is_what_is_text():
    assert row_of(reply(body="é".encode("latin-1"), content_type="text/plain; charset=latin1"))["text"] == "é"
    assert row_of(reply(body=b"\x00\xff", content_type="application/pdf"))["text"] == ""


def test_big_pages_are_read_beside_the_loop():
    async def run() -> int:
        handler, _ = crawl({START: page(*(f"/x{n}" for n in range(20_000)))})
        outcome = await handler.handle(Item(1, START, 1, "https://example.com", 0))
        assert isinstance(outcome, Done)
        return len(outcome.found)

    assert asyncio.run(run()) == 20_000
