"""Crawls that stand in a file."""

import json

from tests.kit.process import ROOT

EXAMPLE = ROOT / "examples" / "holdfast.toml"


def test_the_example_crawls_the_sample_site(holdfast, harbour, tmp_path):
    path = tmp_path / "holdfast.toml"
    text = EXAMPLE.read_text()
    assert text.count("http://127.0.0.1:8771/") == 1
    path.write_text(text.replace("http://127.0.0.1:8771/", harbour))
    ended = holdfast.run("crawl", "harbour", "--config", path, "--json")
    assert ended.code == 0, ended
    assert f"options from [crawl] and [crawls.harbour] in {path}." in ended.err
    assert (ended.json["name"], ended.json["pages"]) == ("harbour", 50)
    rows = [json.loads(line) for line in (tmp_path / "harbour.jsonl").read_text().splitlines()]
    assert len(rows) == 50
    start = next(row for row in rows if row["url"] == harbour)
    assert (start["heading"], start["cells"], start["metres"]) == ("Holdfast Harbour", 0.0, 283.0)
    assert "/lights/" in start["links_in_main"]
    assert not any("/live" in row["url"] for row in rows)


def test_the_same_name_is_the_same_job(holdfast, server, tmp_path):
    path = tmp_path / "holdfast.toml"
    path.write_text(f"[crawls.docs]\nurls = ['{server.start}']\nmax_pages = 5\n")
    first = holdfast.run("crawl", "docs", "--config", path, "--json")
    path.write_text(f"[crawls.docs]\nurls = ['{server.start}']\nmax_pages = 9\n")
    again = holdfast.run("crawl", "docs", "--config", path, "--json")
    assert (again.json["job"], again.json["pages"]) == (first.json["job"], 9)


def test_a_wrong_file_begins_nothing(holdfast, tmp_path):
    path = tmp_path / "holdfast.toml"
    path.write_text("[crawls.docs]\nurls = ['http://127.0.0.1:1/']\ninclude = ['(']\n")
    ended = holdfast.run("crawl", "docs", "--config", path)
    assert (ended.code, ended.out) == (2, "")
    assert f"[crawls.docs] in {path}" in ended.sentence
    assert not holdfast.home.exists()
