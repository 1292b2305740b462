"""Pages that need JavaScript, crawled by the real command with the real browser."""

import json
import sys
import time
from pathlib import Path

import pytest
from tests.kit.browsers import needs_browser
from tests.kit.process import Holdfast, exported
from tests.kit.scripted import JS, SHELL, pages, scripted
from tests.kit.server import Answer, Site, serving
from warcio.archiveiterator import ArchiveIterator

from holdfast.web.browser.program import find_program

pytestmark = needs_browser


def html(text: str, *more: tuple[str, str]) -> Answer:
    return Answer(200, text.encode(), (("Content-Type", "text/html; charset=utf-8"), *more))


def script(text: str) -> Answer:
    return html(f"<!doctype html><title>tricks</title><body><script>{text}</script>")


def links(*paths: str) -> str:
    return f"document.body.insertAdjacentHTML('beforeend', '{''.join(f'<a href={path}>x</a>' for path in paths)}')"


@pytest.fixture
def app(tmp_path):
    with serving(scripted(), tmp_path / "access.log") as server:
        yield server


def crawled(site: Site, tmp_path, holdfast: Holdfast, *words: str, **environment: str):
    """What came of a site: rows by path, and how often each path was asked for."""
    with serving(site, tmp_path / "access.log") as server:
        ended = holdfast.crawl(server.start, "--no-sitemaps", *words, **environment).ended(170)
        assert ended.code == 0, ended
        rows = {row["url"].removeprefix(server.base): row for row in exported(holdfast)}
        verified = holdfast.run("verify")
        assert verified.code == 0, verified
        return rows, server.counts()


def test_a_site_that_only_scripts_write_is_crawled_whole_and_each_thing_is_asked_for_once(holdfast, app):
    streamed = holdfast.home.parent / "pages.jsonl"
    ended = holdfast.crawl(app.start, "--render", "auto", "-o", str(streamed)).ended(170)
    assert ended.code == 0, ended
    rows = exported(holdfast)
    lines = [json.loads(line) for line in streamed.read_text().splitlines()]
    assert sorted(row["text"] for row in lines) == sorted(row["text"] for row in rows)
    assert {row["url"] for row in rows} == {app.base + path for path in pages()}
    assert all(row["rendered"] and row["duplicate_of"] is None for row in rows)
    assert all(f"words of page {row['url'].rpartition('/')[2] or 0}." in row["text"] for row in rows)
    assert set(app.counts().values()) == {1}
    assert "/favicon.ico" not in app.counts()
    assert holdfast.run("verify").code == 0
    # Without a browser there is the shell of the first page, once.
    plain = holdfast.run("crawl", app.start, "--fresh", "--json")
    assert plain.json["pages"] == 1
    assert "--render auto" in plain.err


def test_what_scripts_made_is_read_from_the_store_for_ever_after(holdfast, app, tmp_path):
    assert holdfast.crawl(app.start, "--render", "always", "-d", "1").ended(170).code == 0
    asked = app.served
    first = exported(holdfast)
    assert [row["url"] for row in first if row["depth"] == 1] == [f"{app.base}/view/{n}" for n in (1, 2, 3)]
    why = holdfast.run("why", f"{app.base}/view/2")
    assert "by a browser" in why.out
    report = tmp_path / "report.html"
    assert holdfast.run("report", "-o", report).code == 0
    assert holdfast.run("verify").code == 0
    archive = tmp_path / "out.warc.gz"
    assert holdfast.run("export", "-o", archive).code == 0
    assert app.served == asked
    # A greater depth goes on from the links that only scripts had made, without showing those pages again.
    assert holdfast.crawl(app.start, "--render", "always", "-d", "2", "--yes").ended(170).code == 0
    assert {row["url"] for row in exported(holdfast)} == {app.base + path for path in pages()}
    # Scripts and styles are remembered as long as the process lives.
    assert {path for path, count in app.counts().items() if count > 1} == {"/app.js", "/app.css"}


def test_auto_leaves_ordinary_pages_alone(tmp_path, holdfast):
    tracker = '<script src="/tracker.js"></script>'
    site = Site(
        {
            "/": html(
                f"<title>Ordinary</title>{tracker}<h1>A site</h1><a href=/one>One</a><a href=/app>The app</a>"
            ),
            "/one": html(
                f"<title>Short</title><body>{tracker}<p>One line and a picture.<img src=/picture.png>"
            ),
            "/app": html("<title>App</title><div id=app></div><script src=/app.js></script>"),
            "/app.js": Answer(
                200, b"document.getElementById('app').innerHTML = '<a href=/made>made</a>'", JS
            ),
            "/made": html("<p>Only a script leads here.</p>"),
            "/tracker.js": Answer(200, b"new Image().src = '/tracked'", JS),
            "/picture.png": Answer(200, b"", (("Content-Type", "image/png"),)),
        }
    )
    rows, counts = crawled(site, tmp_path, holdfast, "--render", "auto")
    assert {path: row["rendered"] for path, row in rows.items()} == {
        "/": False, "/one": False, "/app": True, "/made": False,
    }  # fmt: skip
    assert set(counts) == {"/", "/one", "/app", "/app.js", "/made"}


TRICKS = {
    "/alert": script(f"alert(1); confirm('x'); prompt('y'); {links('/after-alert')}"),
    "/open": script("window.open('/opened'); window.open('/opened-too', '_blank')"),
    "/jump": script("location.href = '/jumped'"),
    "/replace": script("location.replace('/replaced')"),
    "/refresh": html("<meta http-equiv=refresh content='2;url=/refreshed'><script>'a script of some length'</script>"),
    "/push": script(f"history.pushState({{}}, '', '/deep/home'); {links('next')}"),
    "/late": script(f"setTimeout(() => {{ {links('/after-three-seconds')} }}, 3000)"),
    "/rest": script(f"setInterval(() => 1, 0); setInterval(() => fetch('/tick'), 1000); {links('/restless')}"),
    "/shadow": script(
        "const host = document.body.appendChild(document.createElement('x-menu'));"
        "host.attachShadow({mode: 'open'}).innerHTML = '<nav><a href=/in-the-shadow>menu</a></nav>'"
    ),
    "/submit": script("document.body.innerHTML = '<form action=/searched><input name=q value=1></form>';"
                      "document.forms[0].submit()"),
    "/tampered": script(f"Element.prototype.querySelectorAll = () => []; JSON.stringify = () => ''; {links('/safe')}"),
}  # fmt: skip
LED_TO = {
    "/after-alert", "/opened", "/opened-too", "/jumped", "/replaced", "/refreshed", "/deep/next",
    "/after-three-seconds", "/restless", "/in-the-shadow", "/searched?q=1", "/safe",
}  # fmt: skip


def test_wherever_scripts_lead_is_followed_and_no_page_waits_in_vain(tmp_path, holdfast):
    start = html("".join(f"<a href={path}>x</a>" for path in TRICKS))
    site = Site({"/": start, **TRICKS, **{path: html("<p>Here.</p>") for path in LED_TO}})
    rows, counts = crawled(site, tmp_path, holdfast, "--render", "always", "--render-at-once", "4")
    assert set(rows) == {"/", *TRICKS, *LED_TO}
    assert {path for path, row in rows.items() if row["rendered"]} == set(TRICKS)
    assert 1 <= counts["/tick"] <= 6
    counts.pop("/tick")
    assert set(counts.values()) == {1}


def test_pages_know_nothing_of_each_other(tmp_path, holdfast):
    keep = "localStorage.x = 'kept'; document.cookie = 'x=kept'; indexedDB.open('kept')"
    recall = "document.body.append(`had: ${localStorage.x} ${document.cookie} ${window.name}`)"
    pages = {f"/{n}": script(f"{recall}; {keep}; window.name = 'kept'") for n in range(3)}
    start = html("".join(f"<a href={path}>x</a>" for path in pages))
    rows, _ = crawled(
        Site({"/": start, **pages}), tmp_path, holdfast, "--render", "always", "--render-at-once", "1"
    )
    assert [rows[path]["text"] for path in pages] == ["had: undefined"] * 3


def test_a_page_that_never_lets_go_is_a_reason_of_its_own_and_stays_as_it_was_served_in_auto(
    tmp_path, holdfast
):
    loop = html("<title>Loop</title><div id=root></div><script>while (true) { /* for ever */ }</script>")
    site = Site(
        {"/": html("<a href=/loop>x</a><a href=/fine>y</a>"), "/loop": loop, "/fine": html("<p>fine")}
    )
    patience = {"HOLDFAST_RENDER_S": "3", "HOLDFAST_MAX_TRIES": "2", "HOLDFAST_RETRY_BASE_S": "0.01"}
    rows, counts = crawled(site, tmp_path, holdfast, "--render", "auto", **patience)
    assert (rows["/loop"]["title"], rows["/loop"]["rendered"]) == ("Loop", False)
    assert counts["/loop"] == 2
    (tmp_path / "access.log").unlink()
    rows, _ = crawled(site, tmp_path, holdfast, "--fresh", "--render", "always", **patience)
    assert set(rows) == {"/", "/fine"}
    failed = holdfast.read("SELECT url, reason FROM items WHERE status = 'failed' ORDER BY id DESC")
    assert [reason for _, reason in failed] == ["render_timeout"]


def slow(_path: str) -> Answer:
    time.sleep(2)
    return Answer(200, b"")


def trusting_browser(folder: Path) -> Path:
    """A Chromium that doesn't itself keep pages from reaching loopback: nobody but we do."""
    checks = (
        "LocalNetworkAccessChecks",
        "LocalNetworkAccessChecksWebSockets",
        "LocalNetworkAccessChecksWebRTC",
    )
    program = folder / "chromium"
    program.write_text(f'#!/bin/sh\nexec {find_program(None)} "$@" --disable-features={",".join(checks)}\n')
    program.chmod(0o755)
    return program


def test_the_browser_has_no_way_out_but_ours(tmp_path, holdfast):
    """All that a page may try is answered by the crawl's own fetcher, or by nobody."""
    with serving(Site({}), tmp_path / "other.log") as other:
        port = other.base.rpartition(":")[2]
        attempts = f"""
          const other = '{other.base}';
          fetch('/slow');
          new Image().src = other + '/image'; new Audio(other + '/audio');
          navigator.sendBeacon(other + '/beacon'); navigator.sendBeacon('/beacon');
          try {{ new WebSocket('ws://127.0.0.1:{port}/socket') }} catch (e) {{}}
          try {{ new EventSource(other + '/events') }} catch (e) {{}}
          fetch('/post', {{method: 'POST', body: 'x'}}).catch(() => 0);
          fetch('/delete', {{method: 'DELETE'}}).catch(() => 0);
          navigator.serviceWorker?.register('/worker.js').catch(() => 0);
          new Worker('/worker.js'); try {{ new SharedWorker('/shared.js') }} catch (e) {{}}
          for (const rel of ['prefetch', 'preconnect', 'dns-prefetch', 'prerender', 'icon', 'manifest']) {{
            const link = document.createElement('link');
            link.rel = rel; link.href = other + '/' + rel; document.head.append(link);
          }}
          const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});
          peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer));
          const frame = document.createElement('iframe'); frame.src = other + '/frame'; document.body.append(frame);
          const file = document.createElement('a'); file.href = other + '/file'; file.download = 'x';
          document.body.append(file); file.click(); file.remove(); frame.remove();
          document.body.append('tried it all');
        """
        site = Site({"/": script(attempts), "/worker.js": Answer(200, b"fetch('/from-a-worker')", JS)})
        with serving(site, tmp_path / "access.log") as server:
            # What it waits for gives all the rest the time to get somewhere.
            server.misbehaving["/slow"] = slow
            trusting = {"HOLDFAST_BROWSER": str(trusting_browser(tmp_path))}
            ended = holdfast.crawl(server.start, "--no-sitemaps", "--render", "always", **trusting).ended(170)
            assert ended.code == 0, ended
            assert exported(holdfast)[0]["text"] == "tried it all"
            assert set(server.counts()) <= {"/", "/slow", "/worker.js", "/from-a-worker", "/shared.js"}
        # Out of scope and found only by the script: nobody was asked, by whatever way.
        assert other.counts() == {}


def test_scripts_lead_into_no_network_of_ones_own(tmp_path, holdfast):
    """The start host is loopback, so that is allowed; the metadata service of a cloud is not."""
    metadata = "http://169.254.169.254/latest/meta-data/"
    text = f"fetch('{metadata}').then(() => 'had', () => 'refused').then(said => document.body.append(said))"
    rows, _ = crawled(Site({"/": script(text)}), tmp_path, holdfast, "--render", "always")
    assert rows["/"]["text"] == "refused"


def test_what_robots_txt_forbids_scripts_do_not_get_either(tmp_path, holdfast):
    site = scripted(2, robots__txt=Answer(200, b""))
    answers = dict(site.answers) | {"/robots.txt": Answer(200, b"User-agent: *\nDisallow: /api/view")}
    rows, counts = crawled(Site(answers), tmp_path, holdfast, "--render", "auto")
    assert "words of page 0" in rows["/"]["text"]
    assert "words" not in rows["/view/1"]["text"]
    assert not any(path.startswith("/api/view") for path in counts)


def test_secrets_and_cookies_go_where_they_are_for_and_the_page_never_sees_them(tmp_path, holdfast):
    heard: list[bytes] = []

    def api(_path: str) -> Answer:
        return Answer(200, b"it is mine", (("Access-Control-Allow-Origin", "*"),))

    asks = """
      fetch('/api/mine').then(r => r.text()).then(said => document.body.append(said, ' cookies:' + document.cookie))
    """
    access = tmp_path / "access.toml"
    with serving(Site({"/": script(asks), "/api/mine": api("")}), tmp_path / "access.log") as server:
        host = server.base.removeprefix("http://")
        access.write_text(
            f'[sites."{host}"]\nbearer = "s3cr3t-token"\ncookies = {{ session = "s3cr3t-cookie" }}\n'
        )
        access.chmod(0o600)
        ended = holdfast.crawl(server.start, "--render", "always", "--access", str(access)).ended(170)
        assert ended.code == 0, ended
        (row,) = exported(holdfast)
    assert row["text"] == "it is mine cookies:"
    stored = b"".join(path.read_bytes() for path in holdfast.home.rglob("*") if path.is_file())
    assert b"s3cr3t" not in stored
    assert heard == []


def test_what_is_missing_is_said_in_one_sentence_before_anything_is_begun(holdfast, app, tmp_path):
    gone = holdfast.run("crawl", app.start, "--render", "auto", HOLDFAST_BROWSER=str(tmp_path / "none"))
    assert gone.code == 2
    assert "HOLDFAST_BROWSER" in gone.sentence
    none = holdfast.run("crawl", app.start, "--render", "auto", PATH=str(Path(sys.executable).parent))
    assert none.code == 2
    assert "chromium" in none.sentence
    assert app.served == 0
    assert holdfast.read("SELECT count(*) FROM jobs") in ([], [(0,)])


def test_a_browser_that_does_not_start_costs_no_page(holdfast, app, tmp_path):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    quick = {"HOLDFAST_RETRY_BASE_S": "0.01", "HOLDFAST_MAX_TRIES": "9"}
    ended = holdfast.run("crawl", app.start, "--render", "auto", HOLDFAST_BROWSER=str(broken), **quick)
    assert ended.code == 1
    assert "doesn't start" in ended.sentence
    assert holdfast.crawl(app.start, "--render", "auto").ended(170).code == 0
    assert len(exported(holdfast)) == len(pages())


def test_the_same_document_of_two_pages_is_stored_once(holdfast, tmp_path):
    missing = json.dumps({"title": "x", "text": "The same.", "links": ["/a", "/b"]}).encode()
    answers = {path: html(SHELL.decode()) for path in ("/", "/a", "/b")}
    answers |= {"/app.js": scripted(1).answers["/app.js"]}
    answers |= {f"/api/{path}": Answer(200, missing) for path in ("", "a", "b")}
    rows, _ = crawled(Site(answers), tmp_path, holdfast, "--render", "auto")
    first = rows["/"]["url"]
    assert [rows[path]["duplicate_of"] for path in ("/", "/a", "/b")] == [None, first, first]
    assert len({row["text"] for row in rows.values()}) == 1


def test_runs_forks_and_archives_carry_what_was_made(holdfast, tmp_path):
    site = scripted(4)
    with serving(site, tmp_path / "access.log") as server:
        assert (
            holdfast.crawl(server.start, "--render", "auto", "--checkpoint-items", "1").ended(170).code == 0
        )
        first = {row["url"]: row["text"] for row in exported(holdfast)}
        assert len(first) == 4
        # Served as before, and another script: what is shown is shown anew.
        router = site.answers["/app.js"].body.replace(b"page.text", b"page.text + ' Changed.'")
        server.misbehaving["/app.js"] = lambda _: Answer(200, router, JS)
        assert holdfast.run("rescan").code == 0
        second = {row["url"]: row["text"] for row in exported(holdfast)}
        assert set(second) == set(first)
        assert all("Changed." in text for text in second.values())
        asked = server.served
        ((job, commits),) = holdfast.read("SELECT public_id, commit_no FROM jobs")
        for words in (["verify"], ["verify", "--run", "1"], ["rollback", job, str(commits - 1)], ["verify"]):
            ended = holdfast.run(*words)
            assert ended.code == 0, (words, ended)
        for name in ("out.wacz", "out.cdxj", "out.warc.gz", "mirror", "text"):
            form = {"mirror": ["--format", "mirror"], "text": ["--format", "markdown"]}.get(name, [])
            ended = holdfast.run("export", "-o", tmp_path / name, *form)
            assert ended.code == 0, (name, ended)
        assert server.served == asked
    with (tmp_path / "out.warc.gz").open("rb") as file:
        archive = ArchiveIterator(file)
        kinds = {
            archive.get_record_offset(): (record.rec_type, bool(record.http_headers)) for record in archive
        }
    assert ("conversion", False) in kinds.values()
    index = [json.loads(line.split(" ", 2)[2]) for line in (tmp_path / "out.cdxj").read_text().splitlines()]
    assert {kinds[int(line["offset"])] for line in index} <= {("response", True), ("revisit", True)}
    assert any("Only a script wrote" in path.read_text() for path in (tmp_path / "text").rglob("*.md"))
