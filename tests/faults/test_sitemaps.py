"""kill -9 while a sitemap index with several packed sitemaps is read: every page in them is crawled, each once."""

import gzip
import random

import pytest
from tests.kit.process import PER_KILL, Fault, assert_rows, exported, until
from tests.kit.server import Answer, Site

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

SITEMAPS, PAGES = 8, 60
XML = (("Content-Type", "application/xml"),)
PACKED = (("Content-Type", "application/x-gzip"),)
LASTMOD = "2024-05-01"


def orphan(sitemap: int, number: int) -> str:
    return f"/orphans/{sitemap}/{number}"


@pytest.fixture
def orphans(server):
    """A home page that links nowhere; all other pages stand only in packed sitemaps behind an index in robots.txt."""
    answers = {"/": Answer(200, b"<title>Home</title>")}
    answers["/robots.txt"] = Answer(
        200, f"Sitemap: {server.base}/maps/index.xml\n".encode(), (("Content-Type", "text/plain"),)
    )
    names = [f"/maps/{sitemap}.xml.gz" for sitemap in range(SITEMAPS)]
    index = "".join(f"<sitemap><loc>{server.base}{name}</loc></sitemap>" for name in names)
    answers["/maps/index.xml"] = Answer(200, f"<sitemapindex>{index}</sitemapindex>".encode(), XML)
    for sitemap, name in enumerate(names):
        paths = [orphan(sitemap, number) for number in range(PAGES)]
        urls = "".join(
            f"<url><loc>{server.base}{path}</loc><lastmod>{LASTMOD}</lastmod></url>" for path in paths
        )
        answers[name] = Answer(200, gzip.compress(f"<urlset>{urls}</urlset>".encode()), PACKED)
        answers |= {path: Answer(200, f"<title>{path}</title><p>{path}".encode()) for path in paths}
    server.site = Site(answers)
    return server


def pages_of(server):
    return {path for path in server.site.pages if path == "/" or path.startswith("/orphans/")}


def assert_all_there(holdfast, server):
    """What was asked for stands in the server's own log, which no death of a crawler can touch."""
    paths = pages_of(server)
    rows = exported(holdfast)
    assert_rows(rows, {server.base + path for path in paths})
    assert {row["lastmod"] for row in rows if row["depth"] == 1} == {LASTMOD}
    counts = server.counts()
    assert all(counts[path] >= 1 for path in paths)
    assert server.fetched_again() <= holdfast.kills * PER_KILL
    verified = holdfast.run("verify", "--json")
    assert verified.code == 0, verified
    assert holdfast.read("SELECT count(*) FROM items WHERE status = 'consulted'") == [(SITEMAPS + 2,)]


@pytest.mark.parametrize(
    "point",
    [FaultPoint.HANDLING, FaultPoint.AFTER_SEGMENT, FaultPoint.IN_TRANSACTION, FaultPoint.AFTER_COMMIT],
)
def test_a_kill_within_the_sitemaps_loses_no_page_that_they_list(holdfast, orphans, point):
    # given a crawl that dies again and again where it has sitemaps in hand
    for nth in (1, 2, 3, 4, 5, 6):
        if point is FaultPoint.HANDLING:
            url = f"{orphans.base}/maps/{nth - 1}.xml.gz"
            holdfast.crawl_and_die(orphans.start, "-c", "2", fault=Fault(at=point, url=url))
        else:
            holdfast.crawl_and_die(
                orphans.start, "-c", "2", "--checkpoint-items", "2", fault=Fault(at=point, nth=min(nth, 3))
            )

    # then the same command ends with all of them
    ended = holdfast.crawl(orphans.start).ended()
    assert ended.code == 0, ended
    assert_all_there(holdfast, orphans)


def test_kills_at_any_time_lose_none_either(holdfast, orphans):
    rng = random.Random(7)
    orphans.delay_s = 0.03
    for _ in range(5):
        goal = orphans.served + rng.randrange(3, 25)
        running = holdfast.crawl(orphans.start, "-c", "4")
        until(lambda goal=goal: orphans.served >= goal, f"{goal} requests", running=running)
        holdfast.kill(running)
    orphans.delay_s = 0.0
    ended = holdfast.crawl(orphans.start).ended()
    assert ended.code == 0, ended
    assert ended.json["pages"] == 1 + SITEMAPS * PAGES
    assert_all_there(holdfast, orphans)
