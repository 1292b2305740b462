"""`rescan`, `diff`, `checkpoints`, `rollback` and `fork`, as a person uses them."""

import json

import pytest
from tests.kit.server import Answer, Site


def page(text, *links):
    anchors = "".join(f"<a href='{link}'>x</a>" for link in links)
    return Answer(200, f"<title>t</title><p>first</p><p>{text}</p>{anchors}".encode())


BEFORE = {"/": page("home", "/a", "/b", "/c", "/d"), "/a": page("one"), "/b": page("b"), "/c": page("c"),
          "/d": page("d")}  # fmt: skip
AFTER = BEFORE | {"/": page("home", "/a", "/b", "/c", "/new"), "/a": page("two"), "/new": page("new"),
                  "/c": Answer(301, b"", (("Location", "/b"),))}  # fmt: skip
del AFTER["/d"]


@pytest.fixture
def twice(holdfast, server):
    """A job that was crawled, and again after the site had changed."""
    server.validates = True
    server.site = Site(BEFORE)
    assert holdfast.crawl(server.start).ended().code == 0
    server.site = Site(AFTER)
    ended = holdfast.run("rescan", "--json")
    assert ended.code == 0, ended
    return ended


def test_a_rescan_says_what_changed(twice):
    changes = {change: count for change, count in twice.json["changes"].items() if count}
    assert changes == {"new": 1, "changed": 2, "unchanged": 1, "gone": 1, "moved": 1}
    assert "since run 1: 1 new, 2 changed, 1 unchanged, 1 gone, 1 moved" in twice.err
    assert "holdfast diff" in twice.err


def test_diff_shows_the_text_of_what_changed(holdfast, server, twice):
    out = holdfast.run("diff").out.splitlines()
    assert f"--- {server.base}/a  run 1" in out
    assert out[out.index(f"--- {server.base}/a  run 1") :][4:7] == [" ", "-one", "+two"]
    assert f"changed    {server.base}/  not in its text" in out
    assert f"new        {server.base}/new" in out
    assert f"gone       {server.base}/d (http_404)" in out
    assert f"moved      {server.base}/c (http_301)" in out
    assert out[-1] == "from run 1 to run 2: 1 new, 2 changed, 1 unchanged, 1 gone, 1 moved."
    by_url = {one["url"]: one for one in map(json.loads, holdfast.run("diff", "--json").out.splitlines())}
    assert by_url[f"{server.base}/a"]["diff"][-2:] == ["-one", "+two"]
    assert len(by_url) == 5
    stat = holdfast.run("diff", "--stat").out
    assert f"changed    {server.base}/a  +1 line -1 line" in stat


def test_runs_are_listed_and_each_is_readable(holdfast, server, twice, tmp_path):
    shown = holdfast.run("show")
    assert "rescan of run 1, completed" in shown.out
    assert "changes     1 new, 2 changed" in shown.out
    first = holdfast.run("show", "--run", "1", "--json").json
    assert (first["run"], first["pages"], first["status"]) == (1, 5, "completed")
    assert holdfast.run("verify", "--run", "1").code == 0
    assert holdfast.run("verify").code == 0
    target = tmp_path / "first.jsonl"
    assert holdfast.run("export", "--run", "1", "-o", target).code == 0
    texts = {row["url"]: row["text"] for row in map(json.loads, target.read_text().splitlines())}
    assert texts[f"{server.base}/a"].endswith("one")
    for words in (["show", "--run", "3"], ["verify", "--run", "3"], ["diff", "x", "1", "2"]):
        assert holdfast.run(*words).code == 2
    assert "these are there: 1, 2" in holdfast.run("show", "--run", "3").sentence


def test_a_job_goes_back_and_on_again(holdfast, server, tmp_path):
    server.site = Site(BEFORE)
    job = holdfast.crawl(server.start).ended().json["job"]
    listed = [json.loads(line) for line in holdfast.run("checkpoints", "--all", "--json").out.splitlines()]
    assert [one["number"] for one in listed] == list(range(1, len(listed) + 1))
    early = next(one for one in listed if one["counters"]["done"] == 1)
    back = holdfast.run("rollback", job, str(early["number"]), "--json")
    assert (back.code, back.json["pages"], back.json["status"], back.json["run"]) == (0, 1, "paused", 2)
    assert "holdfast resume" in back.err
    assert holdfast.run("verify").code == 0
    assert holdfast.run("resume", "--quiet").code == 0
    on = holdfast.run("rollback", job, str(listed[-1]["number"]), "--json")
    assert (on.json["pages"], on.json["run"]) == (5, 3), "later checkpoints are as good as ever"
    assert "run 1 as it was at checkpoint" in holdfast.run("show").out
    refused = holdfast.run("rollback", job, "9999")
    assert refused.code == 2
    assert "holdfast checkpoints" in refused.sentence


def test_a_fork_goes_its_own_way(holdfast, server):
    server.site = Site(BEFORE)
    job = holdfast.crawl(server.start).ended().json["job"]
    before = holdfast.run("show", job, "--json").json
    forked = holdfast.run("fork", job, "2", "--name", "other", "--json")
    assert (forked.code, forked.json["name"], forked.json["status"]) == (0, "other", "paused")
    assert holdfast.run("fork", job, "2", "--name", "other").code == 2
    assert holdfast.run("resume", "other", "--quiet").code == 0
    assert holdfast.run("verify", "other").code == 0
    assert holdfast.run("show", job, "--json").json == before
    assert holdfast.run("rm", job, "--yes").code == 0
    assert holdfast.run("verify", "other").code == 0


def test_what_makes_no_sense_is_refused_with_what_does(holdfast, server):
    server.site = Site(BEFORE)
    assert holdfast.crawl(server.start, "-n", "1").ended().code == 0
    assert "one run only" in holdfast.run("diff").sentence
    assert "name two runs" in holdfast.run("diff", "x", "1").sentence
    assert holdfast.run("rescan", "--keep", "1").code == 2
    assert holdfast.run("rescan", "--no-run").code == 0
    assert "can't rescan a job that is pending" in holdfast.run("rescan").sentence
