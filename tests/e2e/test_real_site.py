"""A real site, crawled to its end: Debian's python3-doc behind nginx, held against the files on the disk.

What should come out is found without any of our code: by walking the files with the standard library's HTML parser.
"""

import hashlib
import json
import subprocess
import sys
from collections import Counter, deque
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from tests.kit.homes import verified_job
from tests.kit.nginx import program, serving

DOCS = Path("/usr/share/doc")
START = "/index.html"
LINKS = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


class Hrefs(HTMLParser):
    """The links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        name = LINKS.get(tag)
        if tag == "link" and {"next", "prev"} & set((given.get("rel") or "").lower().split()):
            name = "href"
        if name and given.get(name) is not None:
            self.found.append(given[name] or "")


def documentation() -> Path | None:
    """The folder of the Python documentation, if the package is installed."""
    places = [DOCS / "python3-doc" / "html", *sorted(DOCS.glob("python3*/html"))]
    return next((place.resolve() for place in places if (place / "library" / "index.html").is_file()), None)


def reachable(root: Path) -> tuple[dict[str, Path], set[str]]:
    """Paths that links lead to from the start: those with a file, and those without."""
    files: dict[str, Path] = {}
    dead: set[str] = set()
    queue = deque([START])
    known = {START}
    while queue:
        path = queue.popleft()
        file = root / unquote(path).lstrip("/")
        if not file.is_file():
            dead.add(path)
            continue
        files[path] = file
        if file.suffix == ".html":
            for href in Hrefs(file.read_text("utf-8", "replace")).found:
                target = urlsplit(urldefrag(urljoin(f"http://here{path}", href.strip())).url)
                if target.netloc == "here" and target.path not in known:
                    known.add(target.path)
                    queue.append(target.path)
    return files, dead


def holdfast(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


@pytest.fixture(scope="module")
def docs():
    root = documentation()
    if root is None:
        pytest.skip("the Python documentation is not installed (Debian: apt install python3-doc)")
    if program() is None:
        pytest.skip("nginx is not installed (Debian: apt install nginx-light)")
    return root


@pytest.fixture(scope="module")
def expected(docs):
    return reachable(docs)


@pytest.mark.parametrize("gzip", [False, True], ids=["plain", "gzip"])
def test_a_whole_real_site_comes_out_as_it_lies_on_the_disk(docs, expected, tmp_path, gzip):
    files, dead = expected
    assert len([path for path in files if path.endswith(".html")]) > 400
    home, output = tmp_path / "home", tmp_path / "pages.jsonl"

    with serving(docs, tmp_path, gzip=gzip) as nginx:
        ended = holdfast("crawl", nginx.url + START, "--home", str(home), "--json", "-c", "16")
        hits = nginx.hits()
    assert ended.returncode == 0, ended.stderr

    told = json.loads(ended.stdout)
    assert told["status"] == "completed"
    assert told["pages"] == len(files)
    assert told["queued"] == 0

    exported = holdfast("export", "--home", str(home), "-o", str(output))
    assert exported.returncode == 0, exported.stderr
    rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]

    # Everything there is, once, and nothing else.
    assert Counter(row["url"] for row in rows) == Counter(nginx.url + path for path in files)
    for row in rows:
        body = files[row["url"].removeprefix(nginx.url)].read_bytes()
        assert (row["sha256"], row["size"]) == (hashlib.sha256(body).hexdigest(), len(body)), row["url"]
        assert row["status"] == 200

    # nginx's own count: each page was asked for once, and each dead link.
    asked = Counter(
        {uri: count for (status, uri), count in hits.items() if uri not in {"/robots.txt", "/sitemap.xml"}}
    )
    assert asked == Counter([*files, *dead])
    assert {uri for (status, uri) in hits if status == 200} == set(files)

    found = verified_job(home)
    assert found.discrepancies == ()
    assert found.pages == len(files)
