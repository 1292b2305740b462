"""The report in a real Chromium, at the width of a telephone and of a desk, in light and dark."""

import pytest
from tests.kit.chromium import program, tab
from tests.kit.homes import crawl
from tests.kit.process import Fault, Holdfast
from tests.kit.server import Answer, Site, generated, serving

from holdfast.ports.faults import FaultPoint

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if program() is None:
        pytest.skip("there is no Chromium (Debian: apt install chromium)")
    with tab(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Of a crawl of a site with broken links, redirects and duplicates that was killed once."""
    folder = tmp_path_factory.mktemp("report")
    with serving(generated(300), folder / "access.log") as server, Holdfast(folder / "home") as holdfast:
        holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=5))
        assert holdfast.crawl(server.start).ended().code == 0
        assert holdfast.run("report", "-o", folder / "report.html").code == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """Of a job that got nothing."""
    folder = tmp_path_factory.mktemp("empty")
    crawl("http://127.0.0.1:9/", folder / "home")
    with Holdfast(folder / "home") as holdfast:
        assert holdfast.run("report", "-o", folder / "report.html").code == 0
    return folder / "report.html"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("which", ["report", "empty"])
def test_it_shows_without_a_complaint_and_nothing_sticks_out(browser, request, which, width, dark):
    path = request.getfixturevalue(which)
    browser.open(path.as_uri(), width=width, dark=dark)
    assert browser.complaints == []
    assert browser.requests == [path.as_uri()], "it asks for nothing but itself"
    assert browser.evaluate("document.documentElement.clientWidth") == width
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    # Only the drawings of one width are shown.
    shown = (
        "[...document.querySelectorAll('svg.time')].filter((one) => one.getBoundingClientRect().width).length"
    )
    assert browser.evaluate(shown) == 1
    dark_now = browser.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(251, 250, 246)"
    assert dark_now is dark


def test_what_is_not_the_pages_own_is_refused_by_its_policy(browser, report):
    browser.open(report.as_uri(), width=1280)
    browser.complaints.clear()
    browser.evaluate(
        "{ document.title = 'whole'; const bad = document.createElement('script'); bad.text = 'document.title = 1';"
        " document.body.append(bad); const image = document.createElement('img'); image.src = 'http://127.0.0.1:9/x';"
        " document.body.append(image); }"
    )
    assert browser.evaluate("document.title") == "whole"
    assert len([one for one in browser.complaints if "Content Security Policy" in one]) == 2


def test_words_in_drawings_keep_their_size_and_stay_inside(browser, report):
    for width in (390, 1280):
        browser.open(report.as_uri(), width=width)
        outside = browser.evaluate(
            "[...document.querySelectorAll('svg.drawing text')].filter((one) => {"
            " const box = one.getBoundingClientRect();"
            f" return box.width && (box.left < 0 || box.right > {width} || box.height < 9);"
            "}).map((one) => one.textContent)"
        )
        assert outside == []


def test_a_table_is_sorted_by_a_click_and_filtered_by_a_word(browser, report):
    browser.open(report.as_uri(), width=1280)
    column = "[...document.querySelectorAll('#biggest tbody td:nth-child(3)')].map((one) => Number(one.dataset.key))"
    before = browser.evaluate(column)
    assert before == sorted(before, reverse=True)
    press = "document.querySelector('#biggest th:nth-child(3) button').click()"
    browser.evaluate(press)
    browser.evaluate(press)
    assert browser.evaluate(column) == sorted(before)
    assert browser.evaluate("document.querySelector('#biggest th:nth-child(3)').ariaSort") == "ascending"

    browser.evaluate(
        "{ const field = document.querySelector('.filter'); field.value = '/gone/1.html';"
        " field.dispatchEvent(new Event('input')); }"
    )
    visible = "[...document.querySelectorAll('#broken-links tbody tr')].filter((row) => !row.hidden).length"
    assert browser.evaluate(visible) == 1


def test_light_and_dark_change_by_a_button(browser, report):
    browser.open(report.as_uri(), width=1280)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser.evaluate(ground)
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate(ground) != light
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate(ground) == light


def test_a_part_of_the_map_opens(browser, tmp_path):
    with serving(_nested(), tmp_path / "access.log") as server, Holdfast(tmp_path / "home") as holdfast:
        assert holdfast.crawl(server.start).ended().code == 0
        assert holdfast.run("report", "-o", tmp_path / "report.html").code == 0
    browser.open((tmp_path / "report.html").as_uri(), width=1280)
    zoomed = "getComputedStyle(document.getElementById('part-0')).display"
    whole = "getComputedStyle(document.querySelector('.unzoomed')).display"
    assert (browser.evaluate(zoomed), browser.evaluate(whole)) == ("none", "block")
    browser.evaluate("location.hash = document.querySelector('svg.map.wide a').getAttribute('href')")
    assert (browser.evaluate(zoomed), browser.evaluate(whole)) == ("block", "none")
    assert browser.complaints == []


def _nested():
    paths = [f"/guide/{part}/{page}.html" for part in ("north", "south") for page in range(4)]
    links = "".join(f"<a href='{path}'>x</a>" for path in paths)
    pages = {path: Answer(200, f"<title>{path}</title>".encode()) for path in paths}
    return Site({"/": Answer(200, f"<title>Start</title>{links}".encode())} | pages)
