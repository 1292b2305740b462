"""A site as Markdown: a file for each page, with what is known of it, and links that lead to the other files."""

import json
import re

import pytest
from tests.kit.server import Answer, Site, serving

pytestmark = pytest.mark.integration

HTML = (("Content-Type", "text/html; charset=utf-8"),)
SITE = Site({
    "/": Answer(
        200,
        b"<html lang=en><head><title>Start: \"here\"</title><meta name=description content='All of \xc3\xa9t\xc3\xa9'>"
        b"<link rel=canonical href=/canonical></head><nav><a href=/nav>nav</a></nav><main><h1>Welcome</h1>"
        b"<p>See <a href=docs/#top>docs</a>, <a href=moved>moved</a>, <a href=gone>gone</a>, <a href=#x>x</a>"
        b" and <a href=read.txt>text</a>.</p><img src=a.png alt=Pic><pre><code class=language-python>a = 1</code></pre>"
        b"</main><footer>no</footer>",
        HTML,
    ),
    "/docs/": Answer(200, b"<title>Docs</title><main><p>Back to <a href=..>start</a></p></main>", HTML),
    "/nav": Answer(200, b"<title>Nav</title><p>Body", HTML),
    "/read.txt": Answer(200, b"# as it is\n", (("Content-Type", "text/plain"),)),
    "/moved": Answer(301, b"", (("Location", "/docs/"),)),
})  # fmt: skip


def test_the_files(holdfast, tmp_path):
    target = tmp_path / "out"
    with serving(SITE, tmp_path / "log") as server:
        command = ("-o", str(target), "--format", "markdown")
        assert holdfast.crawl(server.start, *command).ended().code == 0
        base = server.base
    host = target / base.removeprefix("http://").replace(":", "@")
    names = {str(path.relative_to(host)) for path in host.rglob("*") if path.is_file()}
    assert names == {"index.md", "docs/index.md", "nav.md", "read.txt.md"}

    front, text = (host / "index.md").read_text(encoding="utf-8").removeprefix("---\n").split("---\n\n", 1)
    said = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in front.splitlines())}
    assert list(said) == [
        "url", "title", "description", "lang", "fetched_at", "sha256", "depth", "parent", "canonical",
    ]  # fmt: skip
    assert said["url"] == f"{base}/"
    assert (said["title"], said["description"], said["lang"]) == ('Start: "here"', "All of été", "en")
    assert (said["depth"], said["parent"], said["canonical"]) == (0, None, f"{base}/canonical")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said["fetched_at"])
    assert text == (
        "# Welcome\n\n"
        f"See [docs](docs/index.md#top), [moved](docs/index.md), [gone]({base}/gone), x and [text](read.txt.md).\n\n"
        f"![Pic]({base}/a.png)\n\n```python\na = 1\n```\n"
    )
    assert (host / "docs/index.md").read_text().endswith("\nBack to [start](../index.md)\n")
    assert (host / "read.txt.md").read_text().endswith("\n```\n# as it is\n```\n")
    listed = (target / "index.md").read_text()
    assert sorted(re.findall(r"\]\((.*)\)", listed)) == sorted(f"{host.name}/{name}" for name in names)


def test_a_front_matter_is_yaml_whatever_a_title_holds(holdfast, tmp_path):
    """Its values are JSON strings, which YAML reads, without the few characters that YAML allows only escaped."""
    title = "a: b # c 'd' \"e\" \\ {f} [g] \u0085 \u2028 \x7f \U0001f388 - | >"
    page = f"<title>{title}</title><p>x".encode()
    target = tmp_path / "out"
    with serving(Site({"/": Answer(200, page, HTML)}), tmp_path / "log") as server:
        command = ("-o", str(target), "--format", "markdown")
        assert holdfast.crawl(server.start, *command).ended().code == 0
    (file,) = target.glob("*/index.md")
    line = file.read_text(encoding="utf-8").split("\n")[2]
    assert json.loads(line.removeprefix("title: ")) == " ".join(title.split())
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", line)
