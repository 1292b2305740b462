"""Sites without end: the crawl ends by itself, and the site's own log says how little it asked for."""

import itertools

import pytest
from tests.kit.process import assert_rows, exported
from tests.kit.server import Answer, Site, serving

REAL = ["/", *(f"/page/{n}" for n in range(12))]


def page(title, *links):
    anchors = "".join(f"<li><a href='{link}'>{link}</a>" for link in links)
    return Answer(200, f"<!doctype html><title>{title}</title><p>{title}</p><ul>{anchors}</ul>".encode())


class Endless(dict[str, Answer]):
    """The real pages, each with a way into the trap; whatever else is asked for, the trap answers."""

    def __init__(self, trap, *ways):
        super().__init__({path: page(path, *REAL, *ways) for path in REAL})
        self._trap = trap

    def get(self, path, default=None):
        return super().get(path) or self._trap(path) or default


@pytest.fixture
def endless(tmp_path):
    with serving(Site({}), tmp_path / "access.log") as server:
        yield server


def crawled(holdfast, server, *words):
    """The crawl ended by itself, and all agrees."""
    ended = holdfast.run("crawl", server.start, "--json", "--quiet", *words)
    assert ended.code == 0, ended
    assert (ended.json["status"], ended.json["reason"], ended.json["queued"]) == ("completed", None, 0)
    verified = holdfast.run("verify")
    assert verified.code == 0, verified
    return ended.json


def skipped(holdfast):
    return dict(holdfast.read("SELECT reason, count(*) FROM items WHERE status = 'skipped' GROUP BY 1"))


def test_relative_links_on_every_page_below_end(holdfast, endless):
    # given a server that answers every path alike, with links that lead ever deeper
    endless.site = Site(Endless(lambda path: page(f"soft 404 of {path}", "more/", "about/"), "more/"))
    crawled(holdfast, endless)
    assert set(skipped(holdfast)) == {"trap_repeated"}
    assert endless.served < 800


def test_session_ids_in_every_link_lead_to_each_page_once(holdfast, endless):
    # given a server that puts a new id into every link, in two ways
    numbers = itertools.count(1)

    def answer(path):
        bare = path.partition(";")[0].partition("?")[0]
        ids = (f"{other};jsessionid={next(numbers)}" for other in REAL)
        more = (f"{other}?PHPSESSID={next(numbers):032x}" for other in REAL)
        return page(bare, *ids, *more) if bare in REAL else None

    endless.misbehaving = dict.fromkeys(REAL, answer)
    endless.site = Site(Endless(answer))
    crawled(holdfast, endless)
    assert set(skipped(holdfast)) == {"trap_session"}
    assert_rows(exported(holdfast), {endless.base + path for path in REAL})
    assert endless.served == len(REAL)


def test_a_site_that_redirects_everybody_into_a_session_is_crawled(holdfast, endless):
    # given a server that asks for an id in each address and gives one by a redirect
    numbers = itertools.count(1)

    def answer(path):
        bare, _, session = path.partition(";jsessionid=")
        if bare not in REAL:
            return None
        if not session:
            return Answer(302, b"", (("Location", f"{bare};jsessionid={next(numbers)}"),))
        return page(bare, *(f"{other};jsessionid={session}" for other in REAL))

    endless.misbehaving = dict.fromkeys(REAL, answer)
    endless.site = Site(Endless(answer))
    crawled(holdfast, endless)
    rows = [row["url"].removeprefix(endless.base).partition(";")[0] for row in exported(holdfast)]
    assert sorted(rows) == sorted(REAL)
    assert endless.served == 2 * len(REAL)


def test_what_was_taken_for_a_trap_is_crawled_when_traps_are_followed(holdfast, endless):
    # given a site that looks like a trap and is none
    deep = ["/a/b/a/b/a/b", "/a/b/a/b/a/b/c", "/x;jsessionid=1", "/x"]
    endless.site = Site(
        {"/": page("Home", *deep[:1], *deep[2:3])} | {path: page(path, *deep) for path in deep}
    )
    first = crawled(holdfast, endless)
    assert (first["pages"], skipped(holdfast)) == (2, {"trap_repeated": 2, "trap_session": 1})
    served = endless.served

    # then the same command with --no-traps gets what was left out, and nothing twice
    again = crawled(holdfast, endless, "--no-traps")
    assert (again["job"], again["pages"], again["skipped"]) == (first["job"], 5, 0)
    assert endless.served - served == 3
    assert_rows(exported(holdfast), endless.urls)
    assert endless.fetched_again() == 0
