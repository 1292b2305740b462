"""Which pages a browser is needed for: told from what was served, and hardly ever of an ordinary page."""

from pathlib import Path

import pytest
from tests.kit.scripted import SHELL

from holdfast.crawl.hollow import is_hollow, may_change
from holdfast.crawl.readers import read

PYTHON = Path("/usr/share/doc/python3/html")

SRC = '<script src="/static/js/main.8f2e1.js"></script>'
NOSCRIPT = "<noscript>You need to enable JavaScript to run this app.</noscript>"
WORDS = "<p>" + "An ordinary sentence. " * 40

HOLLOW = {
    "create-react-app": f"<!doctype html><html lang=en><head><title>React App</title>"
    f"<script defer src=/static/js/main.js></script></head><body>{NOSCRIPT}<div id=root></div></body></html>",
    "vite": "<!doctype html><html><head><script type=module crossorigin src=/assets/index-4d2.js></script></head>"
    "<body><div id=app></div></body></html>",
    "angular": "<!doctype html><html><head><base href=/></head><body><app-root></app-root>"
    f"<script src=runtime.js type=module></script>{SRC}</body></html>",
    "vue cli": f"<body><noscript><strong>We're sorry but this doesn't work properly without JavaScript enabled. Please "
    f"enable it to continue.</strong></noscript><div id=app></div>{SRC}",
    "nuxt": f'<body><div id="__nuxt"></div><script>window.__NUXT__={{serverRendered:false}}</script>{SRC}',
    "a splash": f"<body><div id=root><div class=spinner>Loading, please wait ...</div></div>{SRC}",
    "a footer beside it": f"<body><div id=app></div><footer><p>Example Ltd, 12 Harbour Street. All rights reserved."
    f"<a href=/imprint>Imprint</a></footer>{SRC}",
    "a script that moves on": "<body><script>window.location.replace('/elsewhere')</script>",
    "a remark": f"<body><h1>Harbour</h1>{NOSCRIPT}<main></main>{SRC}",
    "in another language": f"<body><noscript>Vous devez activer Javascript.</noscript><div class=hote></div>{SRC}",
    "a shell of the tests": SHELL.decode(),
}
ORDINARY = {
    "no script": "<body><p>Hi.",
    "empty": "",
    "empty and without scripts": "<body><div id=root></div>",
    "short, with a tracker": f"<body><h1>It works!</h1><p>This is the default page of this server.{SRC}",
    "a picture, with a tracker": f"<body><img src=logo.png>{SRC}",
    "a form": f"<body><form><input name=q></form>{SRC}",
    "a redirect that has a link": f"<body><p>Redirecting to <a href=/b>/b</a>{SRC}",
    "served whole, for a framework to take over": f"<body>{NOSCRIPT}<div id=root><h1>Title</h1>{WORDS}</div>{SRC}",
    "an empty root in a full page": f"<body>{WORDS}<div id=app></div>{SRC}",
    "many links": "<body><div id=app></div>" + "".join(f"<a href=/{n}>{n}</a>" for n in range(6)) + SRC,
    "data in a script": '<body><script type="application/ld+json">{"@type": "WebPage", "name": "a page"}</script>',
    "a script too short to do anything": "<body><script>var a=1;</script>",
    "plain text, in a page": f"<body><pre></pre>{SRC}",
}  # fmt: skip


def hollow(text: str, content_type: str = "text/html") -> bool:
    body = text.encode()
    return is_hollow(body, read(body, content_type))


@pytest.mark.parametrize("name", HOLLOW)
def test_a_page_that_shows_nothing_without_scripts_is_hollow(name):
    assert hollow(HOLLOW[name])


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_page_is_not(name):
    assert not hollow(ORDINARY[name])


def test_what_is_no_html_is_not():
    assert not hollow(HOLLOW["vite"], "text/plain")
    assert not hollow(HOLLOW["vite"], "application/json")


@pytest.mark.integration
@pytest.mark.skipif(not PYTHON.exists(), reason="python3-doc is not installed (`make test-system` does that)")
def test_of_a_real_site_whose_every_page_has_scripts_none_is():
    pages = [path.read_bytes() for path in PYTHON.resolve().rglob("*.html")]
    assert sum(b"<script" in page for page in pages) > 400
    assert not [page[:200] for page in pages if is_hollow(page, read(page, "text/html"))]


@pytest.mark.parametrize(
    "alive",
    [
        "<SCRIPT>x()</SCRIPT>", "<script src=x>", "<body onload='x()'>", '<a href="javascript:x()">',
        "<meta http-equiv=refresh content=0>", '<meta content=0 HTTP-EQUIV="Refresh">', "<svg/onload=x()>",
        "<template shadowrootmode=open>",
    ],
)  # fmt: skip
def test_what_runs_or_unfolds_may_change_a_page(alive):
    assert may_change(f"<p>text{alive}".encode())


@pytest.mark.parametrize(
    "still", ["", "<p>text", "<p>on = off", "<noscript>JavaScript, please</noscript>", "<scripture>"]
)
def test_what_does_not_run_changes_nothing(still):
    assert not may_change(still.encode())
