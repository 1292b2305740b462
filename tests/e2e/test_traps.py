"""Sites without end: the crawl ends by itself, and the site's own log says how little it asked for."""

import itertools

import pytest
from tests.kit.endless import CALENDAR, REAL, Endless, calendar, page
from tests.kit.process import assert_rows, exported
from tests.kit.server import Answer, Site, serving


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
    return dict(
        holdfast.read(
            "SELECT reason, count(*) FROM items WHERE status = 'skipped' AND reason <> 'absent' GROUP BY 1"
        )
    )


def told_of(holdfast, reason):
    """What `why` says of an address that was left out for that reason."""
    url = holdfast.read(f"SELECT url FROM items WHERE reason = '{reason}' LIMIT 1")[0][0]
    told = holdfast.run("why", url)
    assert told.code == 0, told
    assert f"skipped ({reason})" in told.out
    return told.out


def test_relative_links_on_every_page_below_end(holdfast, endless):
    # given a server that answers every path alike, with links that lead ever deeper
    endless.site = Site(Endless(lambda path: page(f"soft 404 of {path}", "more/", "about/"), "more/"))
    crawled(holdfast, endless)
    assert set(skipped(holdfast)) == {"trap_repeated", "trap_loop"}
    assert endless.served < 200


def test_many_relative_links_on_one_page_for_every_path_end_before_they_multiply(holdfast, endless):
    # given the same page for whatever is asked for, with ten links relative to wherever that is
    names = "about news team shop blog jobs help terms press contact"
    words = [f"{word}/" for word in names.split()]
    endless.site = Site(Endless(lambda _: page("soft 404", *words), *words))
    crawled(holdfast, endless)
    assert {"trap_loop"} <= set(skipped(holdfast)) <= {"trap_loop", "trap_repeated"}
    assert endless.served < 700
    assert "names, below itself, the very directories" in told_of(holdfast, "trap_loop")


def test_a_calendar_without_end_ends(holdfast, endless):
    endless.site = Site(Endless(calendar, CALENDAR))
    crawled(holdfast, endless)
    assert set(skipped(holdfast)) == {"trap_barren"}
    assert 40 < endless.served < 700
    assert "50 pages in a row like" in told_of(holdfast, "trap_barren")


def test_a_list_that_goes_on_behind_its_end_ends_and_is_there_whole(holdfast, endless):
    # given 300 pages of posts, and the same empty page for every number behind them
    def answer(path):
        if path.startswith("/post/"):
            return page(f"All about {path}")
        if not path.startswith("/list?page="):
            return None
        number = int(path.rpartition("=")[2])
        posts = [f"/post/{8000 - 2 * number - n}" for n in range(2)] if number <= 300 else []
        return page("A list" if posts else "Nothing here", *posts, f"/list?page={number + 1}")

    endless.site = Site(Endless(answer, "/list?page=1"))
    crawled(holdfast, endless)
    urls = {row["url"].removeprefix(endless.base) for row in exported(holdfast)}
    assert {f"/list?page={n}" for n in range(1, 301)} <= urls
    assert sum(url.startswith("/post/") for url in urls) == 600
    assert 300 + 600 + len(REAL) + 50 <= endless.served < 300 + 600 + len(REAL) + 80


def test_a_comic_is_there_whole_though_only_its_pictures_change(holdfast, endless):
    def answer(path):
        number = int(path.rpartition("/")[2]) if path.startswith("/comic/") else 0
        if not 1 <= number <= 250:
            return None
        ways = "".join(f"<a href='/comic/{n}'>{n}</a>" for n in (number - 1, number + 1) if 1 <= n <= 250)
        return Answer(
            200, f"<title>Comic</title><h1>{number}</h1><img src='/img/{number}.png'>{ways}".encode()
        )

    endless.site = Site(Endless(answer, "/comic/1"))
    crawled(holdfast, endless)
    assert skipped(holdfast) == {}
    assert endless.served == len(REAL) + 250


def test_every_choice_and_order_of_parameters_is_not_asked_for(holdfast, endless):
    # given a shop in which each of eight filters may be set, in any order
    names = [f"f{n}" for n in range(8)]

    def answer(path):
        if not path.startswith("/shop"):
            return None
        chosen = [pair for pair in path.partition("?")[2].split("&") if pair]
        more = [name for name in names if f"{name}=1" not in chosen]
        links = [
            "/shop?" + "&".join([*chosen[:at], f"{name}=1", *chosen[at:]])
            for name in more
            for at in (0, len(chosen))
        ]
        return page(" ".join(sorted(chosen)), *links)

    endless.site = Site(Endless(answer, "/shop"))
    crawled(holdfast, endless)
    assert set(skipped(holdfast)) == {"trap_order", "trap_facets"}
    assert "in another order had been asked for" in told_of(holdfast, "trap_order")
    assert "32 other choices of 3 or more parameters" in told_of(holdfast, "trap_facets")
    asked = [path.partition("?")[2].split("&") for path in endless.counts() if path.startswith("/shop?")]
    assert len(asked) == 8 + 28 + 32
    assert len({tuple(sorted(pairs)) for pairs in asked}) == len(asked)


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
    again = crawled(holdfast, endless, "--no-traps", "--yes")
    assert (again["job"], again["pages"], skipped(holdfast)) == (first["job"], 5, {})
    assert endless.served - served == 3
    assert_rows(exported(holdfast), endless.urls)
    assert endless.fetched_again() == 0
