"""Kills and crashes while a browser shows pages: they cost what every kill costs, and leave no browser behind."""

import os
import signal

import pytest
from tests.kit.browsers import descendants, names, needs_browser
from tests.kit.process import Fault, assert_promise, exported, until
from tests.kit.scripted import pages, scripted
from tests.kit.server import Answer, Site, serving

pytestmark = [*needs_browser, pytest.mark.failure]
SCRIPTS = {"/app.js", "/app.css"}
PAGES = 24


@pytest.fixture
def app(tmp_path):
    with serving(scripted(PAGES), tmp_path / "access.log") as server:
        yield server


def whole(holdfast, app) -> None:
    """Every page once, as its scripts made it, and few were asked for again."""
    rows = exported(holdfast)
    assert sorted(row["url"] for row in rows) == sorted(app.base + path for path in pages(PAGES))
    assert all(row["rendered"] and "Only a script wrote" in row["text"] for row in rows)
    verified = holdfast.run("verify")
    assert verified.code == 0, verified
    again = [
        path for path, count in app.counts().items() if count > 1 + holdfast.kills and path not in SCRIPTS
    ]
    assert again == []


@pytest.mark.timeout(400)
def test_kill_9_while_pages_are_shown_costs_what_was_in_flight_and_leaves_no_browser(holdfast, app):
    for nth in (3, 8, 15):
        fault = Fault(at="while a page is shown", do="stop", nth=nth)
        running = holdfast.crawl(app.start, "--render", "auto", fault=fault)
        until(lambda running=running: running.stopped or not running.alive, "the fault", patience_s=120)
        assert running.alive
        browser = descendants(running.pid)
        assert any("chrom" in name for name in names(browser).values())
        holdfast.kill(running)
        until(lambda browser=browser: not names(browser), "the end of the browser", patience_s=30)
    assert holdfast.crawl(app.start, "--render", "auto").ended(170).code == 0
    whole(holdfast, app)
    settled = holdfast.read("SELECT count(*) FROM items WHERE status = 'done'")
    assert settled == [(PAGES,)]


@pytest.mark.timeout(300)
def test_a_browser_that_is_killed_is_started_anew_and_its_pages_are_tried_again(holdfast, app):
    quick = {"HOLDFAST_RETRY_BASE_S": "0.05"}
    running = holdfast.crawl(app.start, "--render", "auto", **quick)

    def browser() -> list[int]:
        called = names(descendants(running.pid))
        return sorted(pid for pid, name in called.items() if name.startswith("chrom"))

    until(lambda: len(shown_so_far(holdfast)) >= 3 and browser(), "three pages", patience_s=120)
    os.kill(browser()[0], signal.SIGKILL)
    ended = running.ended(200)
    assert ended.code == 0, ended
    holdfast.kills = 2  # two pages were shown at the time
    whole(holdfast, app)


def shown_so_far(holdfast) -> list[object]:
    return holdfast.read("SELECT 1 FROM records WHERE kind = 'rendered'")


@pytest.mark.timeout(300)
def test_ctrl_c_lets_go_of_the_browser_and_the_same_command_goes_on(holdfast, app):
    running = holdfast.crawl(app.start, "--render", "auto")
    until(lambda: len(shown_so_far(holdfast)) >= 3, "three pages", patience_s=120)
    browser = descendants(running.pid)
    running.send(signal.SIGINT)
    assert running.ended(60).code == 3
    until(lambda: not names(browser), "the end of the browser", patience_s=30)
    holdfast.kills = 1
    assert holdfast.start("resume").ended(170).code == 0
    whole(holdfast, app)


@pytest.mark.timeout(300)
def test_a_page_that_takes_all_memory_ends_its_browser_and_not_the_crawl(holdfast, tmp_path):
    eats = b"""<title>Eats</title><div id=root></div><script>
      const held = []; while (held.length < 400) { held.push(new Uint8Array(16e6).fill(held.length)); }
    </script>"""
    answers = {"/": Answer(200, b"<a href=/eats>x</a><a href=/fine>y</a>"), "/eats": Answer(200, eats)}
    with serving(Site(answers | {"/fine": Answer(200, b"<p>fine")}), tmp_path / "access.log") as server:
        limits = {"HOLDFAST_BROWSER_MB": "900", "HOLDFAST_MAX_TRIES": "2", "HOLDFAST_RETRY_BASE_S": "0.05"}
        ended = holdfast.crawl(server.start, "--render", "auto", **limits).ended(200)
        assert ended.code == 0, ended
        assert {row["rendered"] for row in exported(holdfast)} == {False}
        assert_promise(holdfast, server, again=1)
