"""`crawl --dry-run`: what would be done is told, and nothing is."""

from tests.kit.server import Answer, Site

ROBOTS = Answer(200, b"User-agent: *\nDisallow: /private\n", (("Content-Type", "text/plain"),))
SITEMAP = (
    "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    "<url><loc>{base}/listed</loc></url><url><loc>{base}/private/x</loc></url></urlset>"
)


def test_of_a_new_crawl_it_shows_what_would_be_followed_and_left_out_and_keeps_nothing(holdfast, server):
    links = "".join(
        f"<a href='{path}'>x</a>" for path in ("/a", "/b", "/old/c", "/private/y", "http://far.example/")
    )
    listing = Answer(200, SITEMAP.format(base=server.base).encode(), (("Content-Type", "application/xml"),))
    page = Answer(200, f"<title>x</title>{links}".encode())
    server.site = Site({"/": Answer(302, b"", (("Location", "/home"),)), "/home": page, "/a": page})
    server.misbehaving = {"/robots.txt": lambda _: ROBOTS, "/sitemap.xml": lambda _: listing}
    words = ("crawl", server.start, "--exclude", "/old/", "--dry-run")
    told = holdfast.run(*words, "--json", "--delay", "0.05")
    assert told.code == 0, told
    answer = told.json
    assert sorted(answer["first"]) == [f"{server.base}{path}" for path in ("/a", "/b", "/listed")]
    assert answer["follows"] == 3
    assert answer["leaves_out"] == {"excluded": 1, "robots": 2, "external": 1}
    assert answer["examples"]["external"] == ["http://far.example/"]
    assert [(one["url"].removeprefix(server.base), one["came"]) for one in answer["asked"]] == [
        ("/", f"redirects to {server.base}/home"),
        ("/robots.txt", "read: 0 addresses"),
        ("/sitemap.xml", "read: 2 addresses"),
        ("/home", "page"),
    ]
    assert 0.1 < answer["takes_s"] < 0.2
    assert set(server.counts()) <= {"/", "/robots.txt", "/sitemap.xml", "/home"}, "nothing else was asked for"
    assert not holdfast.home.exists(), "and nothing is written"
    plain = holdfast.run(*words)
    assert "would follow 3 of the addresses" in plain.out
    assert "excluded 1, such as" in plain.out


def test_of_a_job_that_is_there_it_shows_what_the_command_does_to_its_queue(holdfast, server):
    assert holdfast.run("crawl", server.start, "-n", "40").code == 0
    before, served = holdfast.everything(), server.served
    told = holdfast.run("crawl", server.start, "--exclude", "/p/[1-4]", "--dry-run", "--json")
    assert told.code == 0
    answer = told.json
    assert (answer["would"], answer["back"], len(answer["first"])) == ("extend", {}, 20)
    assert not [url for url in answer["first"] if "/p/1" in url]
    assert (holdfast.everything(), server.served) == (before, served)

    # and the very addresses that it names are asked for first
    limited = ("-n", "45", "--exclude", "/p/[1-4]", "--per-host", "1", "--yes")
    known = server.counts()
    assert holdfast.run("crawl", server.start, *limited).code == 0
    asked = server.counts() - known
    assert asked.keys() <= {url.removeprefix(server.base) for url in answer["first"]}
    ((excluded,),) = holdfast.read("SELECT count(*) FROM items WHERE reason = 'excluded'")
    assert excluded >= answer["leave"]["excluded"]
