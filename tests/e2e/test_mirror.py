"""A mirror opens from the disk: each of its links leads to a file of it or out, and a real browser follows them."""

import json
import os
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from tests.kit.server import Answer, Site, serving

pytestmark = pytest.mark.integration

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LATIN = "<html><head><title>Été</title></head><p>à <a href='caf%C3%A9?q=1&amp;r=2#là'>ça</a></html>".encode(
    "cp1252"
)
PAGES = {
    "/": (
        b"<!doctype html><title>Start</title><link rel=stylesheet href=/style.css>"
        b"<a href=sub/>sub</a> <a href='moved'>moved</a> <a href=gone>gone</a> <a href=latin>latin</a>"
        b"<a href='//elsewhere.example/x'>out</a> <a href=#here id=here>here</a> <a href=mailto:a@b>mail</a>"
        b"<a href=paper>paper</a> <a href=style.css>css</a> <img src=logo.png> <a href=logo.png>logo</a>"
        b"<a href='./Special:A B'>odd</a> <a href=index.html>again</a> <a href=CON>con</a> <a href=based>based</a>"
    ),
    "/sub/": b"<title>Sub</title><a href=..>up</a><a href=page>page</a><a href=page.html>other</a><a href='?a=1'>q</a>",
    "/sub/page": b"<title>Page</title><a href='../latin#x'>latin</a>",
    "/sub/page.html": b"<title>Another page</title><a href=./>sub</a>",
    "/sub/?a=1": b"<title>Query</title><a href='?a=1'>self</a><a href=/>top</a>",
    "/latin": LATIN,
    "/caf%C3%A9?q=1&r=2": "<title>Café</title><meta charset=utf-8><a href=/latin>zurück</a>".encode(),
    "/Special:A%20B": b"<title>Odd</title><a href=/>top</a>",
    "/CON": b"<title>Con</title><a href=/>top</a>",
    "/based": b"<title>Based</title><base href=/sub/><a href=page>page</a><a href=#x>is in sub</a>",
}
TYPES = {"/latin": "text/html; charset=iso-8859-1", "/style.css": "text/css", "/paper": "application/pdf"}
FILES = {
    "/style.css": b"body { background: url(logo.png) } p { background: url('none.png') }",
    "/logo.png": b"\x89PNG\r\n\x1a\n",
    "/paper": b"%PDF-1.4 <a href=no>",
}
PAGES["/index.html"] = PAGES["/"]


def site():
    answers = {
        path: Answer(200, body, (("Content-Type", TYPES.get(path, "text/html")),))
        for path, body in (PAGES | FILES).items()
    }
    answers["/logo.png"] = Answer(200, FILES["/logo.png"], (("Content-Type", "image/png"),))
    answers["/moved"] = Answer(302, b"", (("Location", "/sub/page"),))
    return Site(answers)


@pytest.fixture
def mirrored(holdfast, tmp_path):
    """The folder, and where the site was: it is gone by now."""
    with serving(site(), tmp_path / "log") as server:
        target = tmp_path / "mirror"
        ended = holdfast.crawl(server.start, "-o", str(target), "--format", "mirror").ended()
        assert ended.code == 0, ended
        return target, server.base


class References(HTMLParser):
    """What a page refers to, by the standard library's parser."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in {"href", "src"} and value is not None]


def broken(folder):
    """References of all pages that lead to no file of the folder, though they are relative."""
    missing = []
    for page in folder.rglob("*.html"):
        for written in References(page.read_bytes().decode("utf-8", "replace")).found:
            path = urldefrag(written)[0]
            if not path or urlsplit(path).scheme:
                continue
            target = (page.parent / unquote(path)).resolve()
            if not target.is_file() or folder.resolve() not in target.parents:
                missing.append((str(page), written))
    return missing


def test_every_relative_link_is_a_file(mirrored):
    folder, _ = mirrored
    assert broken(folder) == []
    assert len(list(folder.rglob("*.html"))) == len(PAGES)  # `/` is `/index.html`; and the page at the top


def test_files_bear_the_names_that_the_documentation_says(mirrored):
    folder, base = mirrored
    host = folder / base.removeprefix("http://").replace(":", "@")
    names = {str(path.relative_to(host)) for path in host.rglob("*") if path.is_file()}
    plain = {name for name in names if "~" not in name}
    assert plain == {
        *("index.html", "style.css", "logo.png", "paper.pdf", "latin.html", "based.html"),
        *("sub/index.html", "sub/page.html"),
    }
    marked = sorted(name.partition("~")[0] for name in names - plain)
    assert marked == ["CON_", "Special_A B", "café-q-1-r-2", "sub/index-a-1", "sub/page"]
    assert (host / "sub/page.html").read_bytes().startswith(b"<title>Another page")


def test_bytes_that_are_no_addresses_stay_as_they_came(mirrored):
    folder, base = mirrored
    host = folder / base.removeprefix("http://").replace(":", "@")
    page = (host / "index.html").read_bytes()
    assert page.startswith(
        b"<!doctype html><title>Start</title><link rel=stylesheet href=style.css><a href=sub/index.html>"
    )
    for same in (b"<a href=#here id=here>", b"<a href=mailto:a@b>"):
        assert same in page
    for absolute in (f"<a href={base}/gone>", "<a href='http://elsewhere.example/x'>"):
        assert absolute.encode() in page
    assert (host / "paper.pdf").read_bytes() == FILES["/paper"]
    assert (host / "logo.png").read_bytes() == FILES["/logo.png"]
    assert (host / "style.css").read_bytes() == FILES["/style.css"].replace(
        b"none.png", f"{base}/none.png".encode()
    )
    latin = (host / "latin.html").read_bytes()
    assert latin.startswith('<html><head><meta charset="windows-1252"><title>Été</title>'.encode("cp1252"))
    assert "<p>à <a href='caf%C3%A9-q-1-r-2~".encode("cp1252") in latin
    assert b"#l%C3%A0'" in latin


def test_a_folder_with_a_space_and_a_percent_sign_works_as_well(holdfast, server, tmp_path):
    target = tmp_path / "100% of it"
    assert holdfast.crawl(server.start).ended().code == 0
    ended = holdfast.run("export", "--format", "mirror", "-o", target)
    assert ended.code == 0
    assert broken(target) == []
    files = [path for path in target.rglob("*") if path.is_file()]
    assert len(files) == len(server.urls) + 2  # the page at the top, and the marker
    about = json.loads((target / ".holdfast-export").read_text())
    assert about["form"] == "mirror"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_real_browser_opens_it_and_follows_its_links(mirrored, tmp_path):
    folder, _ = mirrored
    assert CHROMIUM is not None

    def dom(page: Path) -> str:
        """The page as the browser has it, with each link made absolute by itself."""
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        command += [
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=3000",
            "--dump-dom",
            page.as_uri(),
        ]
        environment = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, check=True, timeout=120, env=environment)
        return done.stdout.decode()

    # the page at the top leads on by itself, and all that the pages say is read in the right encoding
    assert "<title>Start</title>" in dom(folder / "index.html")
    (latin,) = folder.rglob("latin.html")
    page = dom(latin)
    assert "<title>Été</title>" in page
    (link,) = References(page).found
    target = (latin.parent / unquote(urldefrag(link)[0])).resolve()
    assert "zurück" in dom(target)
    # a page with a base of its own leads to where that leads
    (based,) = folder.rglob("based.html")
    page = dom(based)
    assert References(page).found[0] == ""
    assert "<title>Page</title>" in dom((based.parent / unquote(References(page).found[1])).resolve())
