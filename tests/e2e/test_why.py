"""`holdfast why`: what became of a URL, as the user reads it."""

from itertools import pairwise

import pytest
from tests.kit.process import until
from tests.kit.server import Answer, Site, serving

from holdfast.engine.trace import MAX_READ


def page(title, *links):
    anchors = "".join(f"<a href='{link}'>x</a>" for link in links)
    return Answer(200, f"<title>{title}</title>{anchors}".encode())


PAGES = {
    "/": page(
        "Home", "a/", "/old", "/private/x", "/gone", "//elsewhere.example/", "s;jsessionid=1", "/robots.txt"
    ),
    "/a/": page("A", "%7Eb?#top", "a/a/a/a/", "/copy", "no.pdf"),
    "/a/~b": page("B"),
    "/copy": page("B"),
    "/s": page("Sessionless"),
    "/old": Answer(301, b"", (("Location", "older"),)),
    "/older": Answer(302, b"", (("Location", "/a/~b#x"),)),
    "/robots.txt": Answer(
        200,
        b"User-agent: Other\nDisallow: /private/x\n\nUser-agent: *\nDisallow: /priv\n",
        (("Content-Type", "text/plain"),),
    ),
}


@pytest.fixture
def site(tmp_path):
    with serving(Site(PAGES), tmp_path / "access.log") as server:
        yield server


@pytest.fixture
def crawled(holdfast, site):
    ended = holdfast.run("crawl", site.start, "--exclude", r"\.pdf$", "-d", "3", "--quiet")
    assert ended.code == 0, ended
    return holdfast


def why(holdfast, *words):
    """The answer as one object, and as lines; asking writes nothing and asks nobody."""
    before = holdfast.everything()
    told = holdfast.run("why", *words)
    assert told.code == 0, told
    assert told.out.isascii()
    assert not told.err
    answer = holdfast.run("why", *words, "--json").json
    assert holdfast.everything() == before
    return answer, told.out


def found(answer, site):
    return [(step["url"].removeprefix(site.base), step["written"]) for step in answer["found"]]


def test_the_way_to_a_page_with_each_link_as_it_is_written(crawled, site):
    answer, told = why(crawled, f"{site.base}/a/%7eb")
    assert (answer["known"], answer["status"], answer["reason"]) == (True, "done", "http_200")
    assert found(answer, site) == [("/", None), ("/a/", "a/"), ("/a/~b", "%7Eb?#top")]
    assert [step["url"].removeprefix(site.base) for step in answer["normalised"]] == ["/a/%7eb", "/a/~b"]
    assert [rule["rule"] for rule in answer["judged"]] == ["scope", "length", "--exclude", "traps", "depth"]
    assert answer["verdict"] is None
    stored = answer["stored"]
    assert (stored["kind"], stored["data"]["title"], stored["data"]["status"]) == ("page", "B", 200)
    for said in ("as '%7Eb?#top'", "a start URL", f"fingerprint {answer['fingerprint']}", "page, HTTP 200"):
        assert said in told


@pytest.mark.parametrize(
    ("path", "reason", "says"),
    [
        ("/a/no.pdf", "excluded", r"\.pdf$ fits '.pdf'"),
        ("/a/a/a/a/a/", "trap_repeated", "a stands 4 times in a row"),
        ("/s;jsessionid=1", "trap_session", "it carries a session id: jsessionid=1"),
        ("//elsewhere.example/", "external", "elsewhere.example against"),
    ],
)
def test_what_was_left_out_names_the_rule_and_what_fits(crawled, site, path, reason, says):
    answer, told = why(crawled, f"http:{path}" if path.startswith("//") else site.base + path)
    assert (answer["status"], answer["reason"], answer["verdict"]) == ("skipped", reason, reason)
    assert says in answer["judged"][-1]["says"]
    assert f"shut out ({reason}): " in told
    assert "never: it was left out when it was found" in told


def test_the_page_without_its_session_id_was_found_by_the_link_with_it(crawled, site):
    answer, _ = why(crawled, f"{site.base}/s")
    assert (answer["status"], found(answer, site)) == ("done", [("/", None), ("/s", "s;jsessionid=1")])


def test_the_line_of_robots_txt_is_named_where_the_file_was_crawled(crawled, site):
    answer, told = why(crawled, f"{site.base}/private/x")
    assert (answer["status"], answer["reason"]) == ("skipped", "robots")
    assert answer["robots_line"] == "Disallow: /priv"
    assert "robots.txt of its host forbids it: Disallow: /priv" in told


def test_redirects_are_followed_to_their_end(crawled, site):
    answer, told = why(crawled, f"{site.base}/old")
    ends = [(step["url"].removeprefix(site.base), step["status"]) for step in answer["redirects"]]
    assert ends == [("/older", "redirected"), ("/a/~b", "done")]
    assert "redirected  to " in told
    onward, _ = why(crawled, f"{site.base}/older")
    assert found(onward, site) == [("/", None), ("/old", "/old"), ("/older", "older")]


def test_an_exact_duplicate_names_whose_body_it_shares(crawled, site):
    answers = [why(crawled, site.base + path)[0] for path in ("/copy", "/a/~b")]
    (copy,) = (one for one in answers if one["stored"]["revisit_of"])
    (original,) = (one for one in answers if not one["stored"]["revisit_of"])
    assert copy["stored"]["same_as"] == original["url"]
    assert copy["stored"]["revisit_of"] == original["stored"]["place"]


def test_what_failed_has_its_evidence(crawled, site):
    answer, told = why(crawled, f"{site.base}/gone")
    assert (answer["status"], answer["reason"], answer["attempts"]) == ("failed", "http_404", 1)
    assert answer["stored"]["kind"] == "error"
    assert "tried       1 time, last: http_404; settled by checkpoint " in told


def test_an_unknown_url_is_judged_as_if_it_were_found_now(crawled, site):
    answer, told = why(crawled, f"{site.base}/nowhere")
    assert (answer["known"], answer["verdict"], answer["found"], answer["stored"]) == (False, None, [], None)
    assert "followed, if a page that is read names it" in told
    answer, told = why(crawled, f"{site.base}/nowhere.pdf")
    assert (answer["known"], answer["verdict"]) == (False, "excluded")
    answer, told = why(crawled, f"{site.base}/a")
    assert [one["url"] for one in answer["lookalikes"]] == [f"{site.base}/a/"]
    assert f"known is    {site.base}/a/ (done (http_200))" in told


def test_parameters_that_the_crawl_strips_are_left_out_as_in_its_links(holdfast, site):
    site.site = Site(
        {"/": page("Home", "/a?utm_source=mail&id=5&ref=x", "/a?ref=y&id=5"), "/a?id=5": page("A")}
    )
    ended = holdfast.run(
        "crawl", site.start, "--strip-param", "utm_*", "--strip-param", "ref", "--json", "--quiet"
    )
    assert (ended.code, ended.json["pages"]) == (0, 2)
    assert holdfast.read("SELECT count(*) FROM items WHERE kind = 'page'") == [(2,)]
    answer, _ = why(holdfast, f"{site.base}/a?id=5&ref=z")
    assert (answer["status"], found(answer, site)[-1]) == (
        "done",
        ("/a?id=5", "/a?utm_source=mail&id=5&ref=x"),
    )
    assert answer["normalised"][-1]["url"] == f"{site.base}/a?id=5"
    assert holdfast.run("verify").code == 0
    wrong = holdfast.run("crawl", site.start, "--strip-param", "a=b", "--fresh")
    assert wrong.code == 2
    assert "'a=b' is no name of a parameter" in wrong.sentence


def test_links_that_were_only_counted_are_spoken_of(holdfast, site):
    site.site = Site({"/": page("Home", *(f"http://elsewhere.example/{n}" for n in range(10_005)))})
    assert holdfast.run("crawl", site.start, "--quiet").code == 0
    _, told = why(holdfast, "http://elsewhere.example/10004")
    assert "one of 5 links out of scope that were only counted" in told


def test_a_long_way_is_cut_in_the_middle_and_only_so_much_of_it_is_read_again(holdfast, site):
    steps = [f"/step/{n}/{'x' * (n % 7)}" for n in range(130)]
    onward = {path: page(path, following) for path, following in pairwise(steps)}
    site.site = Site({"/": page("Home", steps[0]), steps[-1]: page("End"), **onward})
    assert holdfast.run("crawl", site.start, "--quiet").code == 0
    answer, told = why(holdfast, site.base + steps[-1])
    assert [step["url"].removeprefix(site.base) for step in answer["found"]] == ["/", *steps]
    assert [step["written"] for step in answer["found"]][-MAX_READ:] == steps[-MAX_READ:]
    assert {step["written"] for step in answer["found"][:-MAX_READ]} == {None}
    assert "... 111 pages between ..." in told
    assert len(told.splitlines()) < 45


def test_a_damaged_body_costs_only_what_it_said(crawled, site):
    (segment,) = crawled.segments()
    with segment.open("r+b") as file:
        file.seek(40)
        file.write(b"\0" * (segment.stat().st_size - 40))
    answer, told = why(crawled, f"{site.base}/a/~b")
    assert found(answer, site) == [("/", None), ("/a/", None), ("/a/~b", None)]
    assert "how it is named there is not to be read" in told
    assert answer["stored"]["data"]["title"] == "B"


def test_it_is_told_while_the_job_runs(holdfast, site):
    site.delay_s = 0.2
    running = holdfast.crawl(site.start, "--delay", "60", "--ignore-robots", "--no-sitemaps")
    until(
        lambda: holdfast.read("SELECT 1 FROM items WHERE url LIKE '%/old'"),
        "the first page is there",
        running=running,
    )
    told = holdfast.run("why", f"{site.base}/old")
    assert "pending: it waits for its turn" in told.out
    assert running.alive


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ftp://example.com/"], "only http:// and https:// URLs can"),
        (["docs"], "is not a URL; did you mean https://docs/ ?"),
        (["one", "two", "http://example.com/"], "why takes a job and one URL"),
        (["nosuchjob", "http://example.com/"], "no job is called 'nosuchjob'"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_gets_one_sentence(crawled, words, sentence):
    ended = crawled.run("why", *words)
    assert ended.code == 2
    assert sentence in ended.sentence
    assert not ended.out
