"""A WACZ: what its specification asks for, and each response in it, read by others' code, is what was served."""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest
from tests.kit.server import Answer, Site, generated, serving
from warcio.archiveiterator import ArchiveIterator

pytestmark = pytest.mark.integration

WAYBACK = shutil.which("wayback")
"""pywb's server, if somebody has it: `pip install pywb`."""


def site():
    """Pages with duplicates, redirects, dead links, and one that comes compressed."""
    packed = gzip.compress(b"<title>Packed</title>" + b"<p>Packed. " * 200, mtime=0)
    headers = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"))
    home = generated(80)
    answers = dict(home.answers)
    start = answers["/"]
    answers["/"] = Answer(
        200, start.body + b"<a href=/packed>packed</a><a href=/twin>twin</a>", start.headers
    )
    answers["/packed"] = answers["/twin"] = Answer(200, packed, headers)
    return Site(answers)


@pytest.fixture(scope="module")
def archived(tmp_path_factory):
    """The archive, and what was served under which address."""
    from tests.kit.process import Holdfast

    folder = tmp_path_factory.mktemp("archived")
    with serving(site(), folder / "log") as server, Holdfast(folder / "home") as holdfast:
        # two claims, so that there are two segments
        assert holdfast.crawl(server.start, "-n", "30").ended().code == 0
        assert holdfast.crawl(server.start).ended().code == 0
        # a second run, for which most pages are what they were
        target = folder / "site.wacz"
        assert holdfast.run("rescan", "-o", target).code == 0
        for name in ("site.cdxj", "site.warc.gz"):
            assert holdfast.run("export", "-o", folder / name).code == 0
        served = {server.base + path: answer for path, answer in server.site.answers.items()}
        return target, served


def entries(lines):
    for line in lines.decode().splitlines():
        key, at, said = line.split(" ", 2)
        yield key, at, json.loads(said)


def record_at(file, said):
    """The one record there, read by warcio from just those bytes."""
    file.seek(int(said["offset"]))
    records = ArchiveIterator(io.BytesIO(file.read(int(said["length"]))), check_digests="raise")
    record = next(records)
    body = record.raw_stream.read()
    assert next(records, None) is None
    return record, body


def test_the_package_is_what_the_specification_asks_for(archived):
    target, _ = archived
    with zipfile.ZipFile(target) as package:
        assert package.testzip() is None
        names = package.namelist()
        assert {
            "datapackage.json",
            "datapackage-digest.json",
            "indexes/index.cdxj",
            "pages/pages.jsonl",
        } <= set(names)
        assert sum(name.startswith("archive/") and name.endswith(".warc.gz") for name in names) == 3
        for entry in package.infolist():
            assert (entry.compress_type == zipfile.ZIP_STORED) == entry.filename.startswith("archive/")
        text = package.read("datapackage.json")
        described = json.loads(text)
        digest = json.loads(package.read("datapackage-digest.json"))
        assert digest == {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        assert (described["profile"], described["wacz_version"]) == ("data-package", "1.1.1")
        assert {one["path"] for one in described["resources"]} == set(names) - {
            "datapackage.json",
            "datapackage-digest.json",
        }
        assert len({one["name"] for one in described["resources"]}) == len(described["resources"])
        for one in described["resources"]:
            data = package.read(one["path"])
            assert (one["bytes"], one["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")


def test_pages_are_listed_with_the_start_first(archived):
    target, served = archived
    with zipfile.ZipFile(target) as package:
        start, *others = (
            [json.loads(line) for line in package.read(f"pages/{name}.jsonl").splitlines()]
            for name in ("pages", "extraPages")
        )
        main = json.loads(package.read("datapackage.json"))["mainPageUrl"]
    assert start[0]["format"] == others[0][0]["format"] == "json-pages-1.0"
    assert [page["url"] for page in start[1:]] == [main]
    listed = start[1:] + others[0][1:]
    assert {page["url"] for page in listed} == {url for url, answer in served.items() if answer.status == 200}
    assert len({page["id"] for page in listed}) == len(listed)
    assert all(page["title"] and page["ts"].endswith("Z") for page in listed)


def test_each_line_of_the_index_leads_to_a_record_that_holds_what_was_served(archived):
    target, served = archived
    with zipfile.ZipFile(target) as package:
        lines = package.read("indexes/index.cdxj")
        assert lines.splitlines() == sorted(lines.splitlines())
        seen: dict[str, Answer] = {}
        bodies, revisits = {}, []
        for key, at, said in entries(lines):
            assert key.startswith("1,0,0,127:")
            with package.open(f"archive/{said['filename']}") as segment:
                record, body = record_at(segment, said)
            head = record.rec_headers
            assert head.get_header("WARC-Target-URI") == said["url"]
            assert head.get_header("WARC-Date").replace("-", "").replace("T", "").replace(":", "")[:14] == at
            assert record.http_headers.get_statuscode() == said["status"]
            answer = served.get(said["url"])
            assert int(said["status"]) == (answer.status if answer else 404)
            seen[said["url"]] = answer
            if record.rec_type == "revisit":
                assert said["mime"] == "warc/revisit"
                revisits.append((said, head.get_header("WARC-Refers-To-Target-URI"), answer))
            else:
                bodies[said["url"], said["digest"]] = body
                assert answer is None or body == answer.body
    assert set(served) <= set(seen)
    assert revisits
    for said, original, answer in revisits:
        assert answer is None or bodies[original, said["digest"]] == answer.body


def test_the_index_alone_is_of_the_warc_export_of_the_same_name(archived):
    target, served = archived
    index, warc = target.with_name("site.cdxj"), target.with_name("site.warc.gz")
    count = 0
    with warc.open("rb") as file:
        for _, _, said in entries(index.read_bytes()):
            assert said["filename"] == warc.name
            record, body = record_at(file, said)
            assert record.rec_headers.get_header("WARC-Target-URI") == said["url"]
            if record.rec_type == "response" and said["url"] in served:
                assert body == served[said["url"]].body
            count += 1
    assert count >= len(served)


def test_the_same_job_gives_the_same_bytes(archived, tmp_path):
    target, _ = archived
    from tests.kit.process import Holdfast

    with Holdfast(target.parent / "home") as holdfast:
        assert holdfast.run("export", "-o", tmp_path / "again.wacz").code == 0
    assert (tmp_path / "again.wacz").read_bytes() == target.read_bytes()


@pytest.mark.skipif(WAYBACK is None, reason="pywb is not installed (pip install pywb)")
def test_pywb_replays_it(archived, tmp_path):
    """Pages, compressed ones and revisits: what a browser gets from pywb is what it would have got from the site."""
    target, served = archived
    archive, indexes = tmp_path / "collections/c/archive", tmp_path / "collections/c/indexes"
    archive.mkdir(parents=True)
    indexes.mkdir()
    with zipfile.ZipFile(target) as package:
        for name in package.namelist():
            if name.startswith("archive/"):
                (archive / Path(name).name).write_bytes(package.read(name))
        (indexes / "index.cdxj").write_bytes(package.read("indexes/index.cdxj"))
    assert WAYBACK is not None
    replay = subprocess.Popen([WAYBACK, "-b", "127.0.0.1", "-p", "18763"], cwd=tmp_path, stdout=sys.stderr)
    try:
        for url, answer in served.items():
            if answer.status != 200:
                continue
            request = urllib.request.Request(f"http://127.0.0.1:18763/c/2026id_/{url}")
            body = _fetched(request)
            packed = ("Content-Encoding", "gzip") in answer.headers
            assert body in ({answer.body, gzip.decompress(answer.body)} if packed else {answer.body}), url
    finally:
        replay.terminate()
        replay.wait(30)


def _fetched(request: urllib.request.Request) -> bytes:
    give_up = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - our own server
                body: bytes = response.read()
                return body
        except ConnectionError:
            raise
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.1)
