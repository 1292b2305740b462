"""Traps that an address shows by itself: families that never end, and sites that look like them and do."""

import itertools
import time
import timeit
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crawl.document import Document, Kind
from holdfast.domain.url import canonical
from holdfast.output.report.reasons import meaning
from holdfast.pipelines.site.judge import Judge, SkipReason
from holdfast.pipelines.site.leads import Leads
from holdfast.pipelines.site.links import all_findings
from holdfast.pipelines.site.pipeline import SitePipeline
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.pipelines.site.traps import MAX_SEGMENTS, Trap, TrapRules, caught, loop_below, sessionless

SITE = "https://example.com"
HEX = "0123456789abcdef0123456789abcdef"


def trap(path):
    shown = caught(canonical(SITE + path))
    return None if shown is None else shown.trap


# Real ways to write addresses, which must be crawled whole.
GOOD = [
    "/",
    "/3/library/asyncio-task.html",
    "/3/library/test.html",
    "/doc/python3/html/library/library/index.html",
    "/2024/05/",
    "/2024/05/11/11/11/a-post",
    "/2011/11/11/11/",
    "/1/1/1/1/1/1.png",
    "/tiles/0/0/0/0.png",
    "/quad/0/3/0/3/0/3/1/0/0/t.png",
    "/archive/1873/05/02/",
    "/events/2031-05-01",
    "/events/2099-12-31",
    "/cal?year=2031&month=5",
    "/cal?date=20310501",
    "/wiki/New_York/New_York/New_York",
    "/wiki/Duran_Duran_(Duran_Duran_album)",
    "/apidocs/com/foo/foo/foo/Foo.html",
    "/a/a/a/",
    "/a/b/a/b/",
    "/en/docs/en/",
    "/src/main/java/org/example/example/service/impl/example/ExampleServiceImpl.java",
    "/index.php?title=Special:Log&type=move&user=&page=&year=2024&month=-1",
    "/viewtopic.php?f=1&t=2&start=20",
    "/shop?page=250",
    "/shop?color[]=red&color[]=blue&color[]=green",
    "/shop?a=1&b=1&c=1&d=1",
    "/shop?size[]=&size[]=&size[]=&size[]=",
    "/search?q=a+a+a+a",
    "/search?sid=42&session=spring",
    "/story?sid=8812",
    "/talks?session=keynote-on-the-third-day-of-the-conference-2",
    "/s?s=winter",
    "/parts/4400-12",
    "/models/2500-10-99",
    "/files/8412/11/23.pdf",
    "/web/20200101/https://example.org/a",
    "/login?return=%2Fa%3Fb%3D%252Fc",
    "/q?u=https%3A%2F%2Fa.example%2F&v=https%3A%2F%2Fb.example%2F",
    "/a;v=1/b;w=2",
    "/x(y)/z",
    "/" + "/".join(f"s{n}" for n in range(MAX_SEGMENTS)),
    "/1//2//3/",
]

BAD = [
    (Trap.REPEATED, "/a/b/a/b/a/b"),
    (Trap.REPEATED, "/a/b/a/b/a/b/index.html"),
    (Trap.REPEATED, "/x/y/about/team/about/team/about/team/"),
    (Trap.REPEATED, "/about/about/about/about/"),
    (Trap.REPEATED, "/a/b/c/a/b/c/a/b/c/d"),
    (Trap.REPEATED, "/css/css/img/css/js/img/css/js/x.css"),
    (Trap.REPEATED, "/1/a/1/a/1/a"),
    (Trap.REPEATED, "/blog" + "/2" * 11),
    (Trap.REPEATED, "/1/2/3/1/2/4/1/2/3/1/2/4"),
    (Trap.DEEP, "/" + "/".join(f"s{n}" for n in range(MAX_SEGMENTS + 1))),
    (Trap.GROWING, "/login?to=%252525252Flogin"),
    (Trap.GROWING, "/p?u=" + "http://e.example/?u=" * 4),
    (Trap.GROWING, "/list?f=a&f=a&x=1&f=a"),
    (Trap.DATE, "/cal/2100-01-01"),
    (Trap.DATE, "/cal?date=2100-01"),
    (Trap.DATE, "/cal?month=210001"),
    (Trap.DATE, "/cal?m=1&year=9999"),
    (Trap.SESSION, "/a;jsessionid=0A1B"),
    (Trap.SESSION, "/a;jsessionid=0A1B.node1?x=1"),
    (Trap.SESSION, "/a?PHPSESSID=abc"),
    (Trap.SESSION, f"/a?x=1&sid={HEX}"),
    (Trap.SESSION, f"/a?s={HEX}&t=5"),
    (Trap.SESSION, "/a?session_id=q5r7c0m1i1k3s5t7u9w1y3z5a7"),
    (Trap.SESSION, "/a?CFID=1234&CFTOKEN=5678"),
    (Trap.SESSION, "/a?ASPSESSIONIDQABC=XYZ"),
    (Trap.SESSION, "/(S(lit3py55t21z5v55vlm25s55))/a.aspx"),
]


@pytest.mark.parametrize("path", GOOD)
def test_what_real_sites_write_is_no_trap(path):
    assert trap(path) is None


@pytest.mark.parametrize(("expected", "path"), BAD)
def test_what_never_ends_is_a_trap_by_name(expected, path):
    assert trap(path) is expected


@pytest.mark.parametrize(
    ("path", "bare"),
    [
        ("/a;jsessionid=X?x=1", "/a?x=1"),
        ("/a;jsessionid=X", "/a"),
        ("/a;jsessionid=X/b", "/a/b"),
        ("/a?PHPSESSID=abc", "/a"),
        ("/a?PHPSESSID=abc&x=1", "/a?x=1"),
        ("/a?x=1&PHPSESSID=abc&y=2", "/a?x=1&y=2"),
        ("/a?x=1&PHPSESSID=abc", "/a?x=1"),
        ("/a?CFID=1&CFTOKEN=2", "/a"),
        ("/a?CFID=1&CFTOKEN=2&x=1", "/a?x=1"),
        ("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "/a.aspx"),
        ("/a;jsessionid=X?PHPSESSID=y", "/a"),
        ("/a?x=1", "/a?x=1"),
        ("/a", "/a"),
    ],
)
def test_the_address_without_its_session_id(path, bare):
    assert sessionless(SITE + path) == SITE + bare
    assert trap(bare) is None


def test_archives_and_long_lists_are_crawled_whole():
    for year, month, day in itertools.product(range(1990, 2040), range(1, 13), range(1, 29)):
        assert trap(f"/{year}/{month:02}/{day:02}/") is None
        assert trap(f"/log?day={year}-{month:02}-{day:02}") is None
    for page in range(2000):
        assert trap(f"/shop/page/{page}/?sort=price&page={page}") is None
    for x, y in itertools.product(range(64), range(64)):
        assert trap(f"/tiles/6/{x}/{y}.png") is None


@given(st.lists(st.sampled_from(["a", "b", "cc"]), min_size=MAX_SEGMENTS + 1, max_size=60))
def test_no_family_of_paths_is_endless(words):
    assert trap("/" + "/".join(words)) is not None


@given(
    st.sets(
        st.sampled_from(["about", "news", "team", "shop", "blog", "jobs", "help", "terms", "press"]),
        min_size=1,
    )
    | st.sets(st.sampled_from(["a", "b", "2"]), min_size=1, max_size=2),
    st.sampled_from(["", "index.html", "?page=2"]),
    st.randoms(),
)
def test_one_page_for_every_path_leads_to_a_finite_family(words, ending, rng):
    """Links relative to wherever it is asked for, followed as a crawl follows them, until none is left."""
    spec = SiteSpec((f"{SITE}/",))
    judge = Judge(spec, None, spec.start_urls)
    known, queue = {f"{SITE}/"}, [f"{SITE}/"]
    while queue:
        url = queue.pop(rng.randrange(len(queue)))
        hrefs = [f"{word}/{ending}" for word in words]
        for found in all_findings(
            Leads(Document(Kind.HTML), url, listing=False, links=hrefs), judge, (1, url), 1
        ):
            if found.skip is None and found.url not in known:
                known.add(found.url)
                queue.append(found.url)
        assert len(known) < 5000


PIECES = st.sampled_from(
    [
        "a",
        "b",
        "a",
        "0",
        "11",
        "2024",
        "",
        ".",
        ".;jsessionid=1",
        "a.html",
        "x;jsessionid=1",
        "(S(" + "a" * 24 + "))",
    ]
)
URLS = st.builds(
    lambda segments, pairs: canonical(
        f"{SITE}/{'/'.join(segments)}" + (f"?{urlencode(pairs)}" if pairs else "")
    ),
    st.lists(PIECES, max_size=12),
    st.lists(
        st.tuples(st.sampled_from(["a", "sid", "PHPSESSID", "year"]), st.sampled_from(["1", HEX, "2150"])),
        max_size=5,
    ),
)


@given(URLS)
def test_taking_session_ids_away_leaves_a_canonical_address_without_any(url):
    bare = sessionless(url)
    assert canonical(bare) == bare
    shown = caught(bare)
    assert shown is None or shown.trap is not Trap.SESSION
    assert (bare == url) == (caught(url) is None or caught(url).trap is not Trap.SESSION)


@given(URLS, st.integers(0, 5), st.booleans())
def test_what_explains_a_verdict_is_what_gave_it(url, depth, avoid):
    spec = SiteSpec((f"{SITE}/",), exclude=("b",), traps=TrapRules(avoid=avoid))
    judge = Judge(spec, 3, spec.start_urls)
    rulings = judge.explain(url, depth)
    assert rulings[-1].verdict == judge.judge(url, depth)
    assert all(ruling.verdict is None for ruling in rulings[:-1])
    assert all(ruling.says for ruling in rulings)


def test_traps_are_followed_when_they_are_not_avoided_and_patterns_come_first():
    start = f"{SITE}/"
    for _, path in BAD:
        url = canonical(SITE + path)
        assert Judge(SiteSpec((start,), traps=TrapRules(avoid=False)), None, [start]).judge(url, 1) is None
        assert Judge(SiteSpec((start,), exclude=(".",)), None, [start]).judge(url, 1) is SkipReason.EXCLUDED
        assert Judge(SiteSpec((url,)), None, [url]).judge(url, 1) is None, "a start URL is no trap"


def test_a_redirect_may_hand_out_a_session_id_but_lead_into_no_other_trap():
    spec = SiteSpec((f"{SITE}/",))
    judge = Judge(spec, 2, spec.start_urls)
    session = f"{SITE}/a;jsessionid=1"
    assert judge.judge(session, 1) is Trap.SESSION
    assert judge.judge_target(session, 1) is None
    assert judge.judge_target(session, 3) is SkipReason.DEPTH
    assert judge.judge_target(f"{SITE}/a/b/a/b/a/b", 1) is Trap.REPEATED


def test_what_was_taken_for_a_trap_is_readmitted_when_traps_are_followed():
    avoiding, following = (
        SiteSpec((f"{SITE}/",), traps=TrapRules(avoid=avoid)).to_json() for avoid in (True, False)
    )
    pipeline = SitePipeline()
    assert pipeline.revised(avoiding, following).readmitted == set(Trap)
    assert pipeline.revised(following, avoiding).readmitted == frozenset()
    assert pipeline.revised(avoiding, avoiding).readmitted == frozenset()


@pytest.mark.parametrize(
    ("base", "hrefs"),
    [
        ("/news/team/", ["news/", "team/", "about/"]),
        ("/x/news/team/index.html?a=/b/", ["team", "news?page=2"]),
        ("/y/team/news/", ["news/a.html", "team/b.html"]),
    ],
)
def test_a_page_that_names_its_own_directories_below_itself_leads_round_in_circles(base, hrefs):
    directory = base.partition("?")[0].rpartition("/")[0] + "/"
    urls = [SITE + directory + href for href in hrefs]
    assert loop_below(SITE + base, urls) == SITE + directory
    assert loop_below(SITE + base, reversed(urls)) == SITE + directory
    for left_out in urls[:2]:
        assert loop_below(SITE + base, [url for url in urls if url != left_out]) is None


@pytest.mark.parametrize(
    ("base", "urls"),
    [
        (
            "/news/team/",
            ["/news/", "/team/", "/news/team/members/", "/news/team/newsletter/", "/news/team/teams/"],
        ),
        ("/src/test/", ["/src/test/java/", "/src/test/resources/", "/src/test/test/"]),
        ("/foo/foo/", ["/foo/foo/foo/", "/foo/foo/bar/"]),
        ("/0f/3c/", ["/0f/3c/0f/", "/0f/3c/3c/", "/0f/3c/aa/"]),
        ("/2024/2025/", ["/2024/2025/2024/", "/2024/2025/2025/"]),
        ("/team/", ["/team/team/", "/team/news/"]),
        ("/", ["/news/", "/team/"]),
    ],
)
def test_directories_of_real_sites_do_not(base, urls):
    assert loop_below(SITE + base, [SITE + url for url in urls]) is None


def test_the_report_knows_what_each_trap_means():
    assert all(meaning(trap.value) for trap in Trap)


@pytest.mark.performance
@pytest.mark.parametrize(
    "query",
    [
        "&".join(f"{n:x}" for n in range(1900)),
        "sid=" * 2000,
        "&sid=".join(["a" * 30] * 230),
        "&date" * 1600,
        "sid=" + "a1" * 4000,
        "-2100-01-" * 900,
    ],
)
def test_no_address_takes_long_to_judge(query):
    """Four times as long takes about four times as long; what went back and forth in it would take sixteen times."""
    url = f"{SITE}/{query[:100]}?{query}"[:8000]

    def took(address):
        return min(timeit.repeat(lambda: caught(address), timer=time.process_time, number=5, repeat=5))

    assert took(url) < 8 * took(url[: len(url) // 4]) + 0.005
