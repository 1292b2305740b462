"""The report of a real crawl: its figures are the ledger's and the server's own, and strangers' text stays text."""

import json
import re
import signal
from collections import Counter
from urllib.parse import urljoin

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.kit.process import Fault, until
from tests.kit.server import Answer, Site, serving

from holdfast.ports.faults import FaultPoint

HTML = (("Content-Type", "text/html; charset=utf-8"),)
VOID = {"meta", "br", "hr", "input", "link"}


def figures_of(holdfast, *words):
    ended = holdfast.run("report", "--json", "--quiet", *words)
    assert ended.code == 0, ended
    return ended.json


def page_of(holdfast, path, *words):
    ended = holdfast.run("report", "-o", path, *words)
    assert ended.code == 0, ended
    return path.read_text(encoding="utf-8")


def assert_sound(text):
    """HTML that a browser reads as it was meant: unique ids, nothing from elsewhere, no script but our own."""
    tree = LexborHTMLParser(text)
    assert text.startswith("<!doctype html>")
    ids = [node.attributes["id"] for node in tree.css("[id]")]
    assert [one for one, count in Counter(ids).items() if count > 1] == []
    for node in tree.css("a[href^='#']"):
        assert (node.attributes["href"] or "")[1:] in ids, node.html
    for node in tree.css("[aria-labelledby]"):
        assert node.attributes["aria-labelledby"] in ids
    assert (
        tree.css(
            "link, img, iframe, object, embed, video, audio, source, form, base, foreignObject, image, use"
        )
        == []
    )
    assert len(tree.css("script")) == len(tree.css("style")) == 1
    for node in tree.css("body *"):
        assert not [name for name in node.attributes if name.startswith("on") or name == "style"], node.html
    for node in tree.css("a[href]"):
        assert re.match(r"https?://|#", node.attributes["href"]), node.html
    assert "@import" not in text
    assert "url(" not in text
    # Each element that was opened is closed where it should be: written again, it is the same.
    opened = Counter(re.findall(r"<([a-zA-Z][\w-]*)(?=[\s>])(?![^>]*/>)", _without_code(text)))
    closed = Counter(re.findall(r"</([a-zA-Z][\w-]*)>", _without_code(text)))
    assert {name: count for name, count in opened.items() if name not in VOID} == closed
    return tree


def _without_code(text):
    return re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)


@pytest.fixture
def killed(holdfast, server):
    """A crawl of the whole site that was killed twice and paused once."""
    for nth in (3, 2):
        holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=nth))
    server.delay_s = 0.02
    running = holdfast.crawl(server.start)
    before = holdfast.commits()
    until(lambda: holdfast.commits() > before + 1, "it commits", running=running)
    running.send(signal.SIGINT)
    assert running.ended().code == 3
    server.delay_s = 0.0
    assert holdfast.crawl(server.start).ended().code == 0
    return holdfast


def test_the_figures_are_those_of_the_ledger_and_of_the_servers_log(killed, server):
    figures = figures_of(killed)
    ((counters,),) = killed.read(
        "SELECT json_array(found, queued, done, failed, skipped, redirected, bytes) FROM chunks"
    )
    names = ("found", "queued", "done", "failed", "skipped", "redirected", "bytes")
    assert [figures["counters"][name] for name in names] == json.loads(counters)

    # The site knows what it has: pages, where it redirects, and what is not there.
    pages = server.site.pages
    moved = Counter(str(a.status) for a in server.site.answers.values() if 300 <= a.status < 400)
    asked = server.counts()
    dead = {path for path in asked if path not in server.site.answers}
    assert figures["counters"]["done"] == len(pages)
    assert {one["label"]: one["count"] for one in figures["redirects"]["by_status"]} == moved
    assert {one["label"]: one["count"] for one in figures["statuses"]} == {
        "200": len(pages),
        "404": len(dead),
    } | moved
    assert [(one["label"], one["count"]) for one in figures["failures"]] == [("http_404", len(dead))]
    assert figures["sections"]["pages"] == len(pages)
    assert figures["sections"]["bytes"] == sum(len(server.site.answers[path].body) for path in pages)
    assert sum(one["count"] for one in figures["content_types"]) == len(pages)
    assert sum(figures["times"]["counts"]) == sum(figures["sizes"]["counts"]) == len(pages)
    sizes = sorted((len(server.site.answers[path].body) for path in pages), reverse=True)
    assert [one["size"] for one in figures["biggest"]] == sizes[:20]
    slowest = killed.read(
        "SELECT data ->> 'elapsed_ms' FROM records WHERE kind = 'page' ORDER BY 1 DESC LIMIT 20"
    )
    assert [one["elapsed_ms"] for one in figures["slowest"]] == [ms for (ms,) in slowest]


def test_each_kill_and_pause_is_told_with_what_stood_then(killed):
    line = figures_of(killed)["timeline"]
    assert [stop["kind"] for stop in line["stops"]] == ["killed", "killed", "paused", "completed"]
    for stop in line["stops"]:
        ((noted,),) = killed.read(f"SELECT counters FROM commits WHERE number = {stop['checkpoint']}")
        _, queued, done, *_ = json.loads(noted)
        assert (stop["pages"], stop["queued"]) == (done, queued)
    assert all(stop["carried_on"] for stop in line["stops"][:-1])
    ((commits,),) = killed.read("SELECT count(*) FROM commits")
    assert sum(line["commits"]) == sum(span["commits"] for span in line["spans"]) == commits
    assert round(sum(line["pages"])) == figures_of(killed)["counters"]["done"]


def test_every_page_that_holds_a_broken_link_is_counted(killed, server):
    """Against the site's own HTML, read by nothing of ours."""
    figures = figures_of(killed)
    moves = {
        path: urljoin(server.start, dict(answer.headers)["Location"])
        for path, answer in server.site.answers.items()
        if 300 <= answer.status < 400
    }
    assert moves
    holders: dict[str, set[str]] = {}
    for path in server.site.pages:
        for href in re.findall(rb"""href=["']([^"']+)""", server.site.answers[path].body):
            target = urljoin(server.base + path, href.decode())
            holders.setdefault(target, set()).add(server.base + path)
    assert figures["links_read"] is True
    assert figures["broken"]
    for one in figures["broken"]:
        assert one["held_by"] == len(holders[one["url"]])
        assert {holder["url"] for holder in one["holders"]} == holders[one["url"]]

    # Without reading the pages: the one on which it was found first.
    quick = figures_of(killed, "--first-parents")
    assert quick["links_read"] is False
    assert {one["url"] for one in quick["broken"]} == {one["url"] for one in figures["broken"]}
    for one in quick["broken"]:
        assert one["held_by"] == 1
        assert one["holders"][0]["url"] in holders[one["url"]]


def test_duplicates_are_counted_by_their_bytes(killed, server):
    bodies = Counter(server.site.answers[path].body for path in server.site.pages)
    same = {body: count for body, count in bodies.items() if count > 1}
    found = figures_of(killed)["duplicates"]
    assert found["pages"] == sum(count - 1 for count in same.values())
    assert found["bytes"] == sum(len(body) * (count - 1) for body, count in same.items())
    assert sorted(group["count"] for group in found["groups"]) == sorted(count - 1 for count in same.values())


def test_the_page_is_sound_and_needs_nothing_else(killed, tmp_path):
    tree = assert_sound(page_of(killed, tmp_path / "report.html"))
    assert len(tree.css("svg[role=img][aria-label]")) >= 4
    policy = tree.css_first("meta[http-equiv=Content-Security-Policy]").attributes["content"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "killed twice" in tree.css_first(".standfirst").text()


SCRIPT = "<script>document.title = 'taken'</script>"


@pytest.fixture
def hostile(holdfast, tmp_path):
    """A site whose titles, addresses and answers are written to break whoever shows them."""
    title = f"</title></svg></table>{SCRIPT}<img src=x onerror=alert(1)>\u202egnp.exe\x07"
    escaped = title.replace("&", "&amp;").replace("<", "&lt;")
    links = [
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        f"/{SCRIPT}",
        "/'onmouseover='alert(1)",
        "/%22%3E%3Cscript%3E",
        "/\u202egnp",
        f"/{'long/' * 300}",
        "/moved",
        "/loop",
        "/a&amp;lt;b",
    ]
    anchors = "".join(f'<a href="{link.replace("<", "&lt;")}">x</a>' for link in links)
    body = f"<!doctype html><title>{escaped}</title>{anchors}".encode()
    evil_type = (("Content-Type", 'text/html; charset="><script>alert(1)</script>'),)
    answers = {
        "/": Answer(200, body, HTML),
        "/moved": Answer(302, b"", (("Location", "/%3Cscript%3Ealert(2)%3C/script%3E"),)),
        "/loop": Answer(302, b"", (("Location", "/loop2"),)),
        "/loop2": Answer(302, b"", (("Location", "/loop"),)),
        "/a&lt;b": Answer(200, body + b"x", evil_type),
    }
    with serving(Site(answers), tmp_path / "hostile.log") as server:
        assert holdfast.run("crawl", server.start, "--quiet", "--name", "</title><script>x").code == 0
        yield holdfast


def test_hostile_titles_and_addresses_stay_text(hostile, tmp_path):
    text = page_of(hostile, tmp_path / "report.html", "--quiet")
    tree = assert_sound(text)
    assert "onerror" not in {name for node in tree.css("*") for name in node.attributes}
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", text)
    titles = [node.text() for node in tree.css(".title")]
    assert any(title.startswith(f"</title></svg></table>{SCRIPT[:20]}") for title in titles), "shown as it is"
    assert tree.css_first("h1").text() == "</title><script>x"
    ends = {chain["ends"] for chain in figures_of(hostile)["redirects"]["chains"]}
    assert ends == {"loop", "failed: http_404"}


def test_a_job_that_failed_or_has_nothing_yet_has_a_report(holdfast, tmp_path):
    assert holdfast.run("crawl", "http://127.0.0.1:9/", "--quiet").code == 1
    text = page_of(holdfast, tmp_path / "failed.html")
    assert_sound(text)
    assert "nobody listens there" in text
    assert "No page yet" in text


def test_a_job_that_runs_has_a_report_of_what_it_has_so_far(holdfast, server, tmp_path):
    server.delay_s = 1.0
    running = holdfast.crawl(server.start)
    until(lambda: holdfast.commits() >= 2, "two commits", running=running)
    text = page_of(holdfast, tmp_path / "report.html")
    assert running.alive, "the crawl ended too early for this test to mean anything"
    assert_sound(text)
    assert "The crawl is still running" in text
    assert "still running" in text
    server.delay_s = 0.0
    assert running.ended().code == 0
    assert "The crawl is still running" not in page_of(holdfast, tmp_path / "report.html")


def test_a_report_is_there_whole_or_not_at_all(holdfast, server, tmp_path):
    assert holdfast.run("crawl", server.start, "-n", "20", "--quiet").code == 0
    path = tmp_path / "report.html"
    path.write_text("the old one")
    killed = holdfast.run("report", "-o", path, fault=Fault(at=FaultPoint.MID_EXPORT))
    assert killed.code == -signal.SIGKILL
    assert path.read_text() == "the old one"


def test_a_damaged_body_costs_only_its_own_links(holdfast, server, tmp_path):
    assert holdfast.run("crawl", server.start, "--quiet").code == 0
    (segment,) = holdfast.segments()
    data = bytearray(segment.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4096] = bytes(4096)
    segment.write_bytes(data)
    assert 0 < figures_of(holdfast)["unread"] < 40
    assert "holdfast verify" in page_of(holdfast, tmp_path / "report.html")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "-o report.html"),
        (("-o", "report.pdf"), "report.html"),
        (("-o", "nowhere/report.html"), "no directory"),
    ],
)
def test_what_can_not_be_written_is_said_before_any_work(holdfast, words, sentence):
    ended = holdfast.run("report", *words)
    assert ended.code == 2
    assert sentence in ended.sentence


def test_a_job_whose_process_is_gone_is_interrupted_and_the_kill_is_told(holdfast, server, tmp_path):
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=3))
    text = page_of(holdfast, tmp_path / "report.html")
    assert_sound(text)
    assert LexborHTMLParser(text).css_first(".state").text() == "interrupted"
    figures = figures_of(holdfast)
    assert figures["about"]["running"] is False
    (stop,) = figures["timeline"]["stops"]
    assert (stop["kind"], stop["resumed_at"], stop["pages"]) == ("killed", None, figures["counters"]["done"])
