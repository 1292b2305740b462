"""What a person meets who crawls: a whole site, limits, the same command again."""

import json

from tests.kit.process import assert_promise, assert_rows, exported
from tests.kit.server import Answer


def test_the_sample_site_is_crawled_whole(holdfast, harbour, tmp_path):
    output = tmp_path / "pages.jsonl"
    ended = holdfast.run("crawl", harbour, "--json", "-o", output)
    assert ended.code == 0, ended
    assert ended.json["status"] == "completed"
    assert ended.json["queued"] == 0
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(rows) == ended.json["pages"] > 50
    assert_rows(rows, {row["url"] for row in rows})
    start = next(row for row in rows if row["url"] == harbour)
    assert (start["status"], start["depth"], start["parent"]) == (200, 0, None)
    assert "Holdfast" in start["title"] + start["text"]
    assert holdfast.run("verify").code == 0


def test_stdout_carries_only_what_was_asked_for(holdfast, server):
    ended = holdfast.run("crawl", server.start)
    assert (ended.code, ended.out) == (0, "")
    assert all(line.startswith("holdfast: ") for line in ended.err.splitlines())
    assert ended.err.isascii()
    assert "\x1b" not in ended.err
    assert "\r" not in ended.err


def test_quiet_says_nothing(holdfast, server):
    ended = holdfast.run("crawl", server.start, "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_quiet_still_says_what_failed_and_how_to_go_on(holdfast):
    ended = holdfast.run("crawl", "http://127.0.0.1:1/", "--quiet")
    assert (ended.code, ended.out) == (1, "")
    failed, resume = ended.err.splitlines()
    assert failed.startswith("holdfast: failed: no start URL gave a page")
    assert resume.startswith("holdfast: Resume with: holdfast resume ")


def test_json_is_one_object_on_one_line(holdfast, server):
    said = holdfast.run("crawl", server.start, "--json").json
    expected = {"job", "status", "reason", "pages", "failed", "queued", "skipped", "seconds"}
    assert expected <= set(said)
    assert isinstance(said["seconds"], float)
    assert said["pages"] == len(server.urls)
    shown = holdfast.show()
    assert {key: shown[key] for key in said} == said


def test_the_same_command_on_a_completed_job_fetches_nothing(holdfast, server):
    holdfast.run("crawl", server.start)
    served = server.served
    again = holdfast.run("crawl", server.start, "--json")
    assert again.code == 0
    assert "completed already" in again.err
    assert again.json["pages"] == len(server.urls)
    assert server.served == served
    assert_promise(holdfast, server)


def test_fresh_starts_a_new_job(holdfast, server):
    first = holdfast.run("crawl", server.start, "--json").json
    second = holdfast.run("crawl", server.start, "--fresh", "--json").json
    assert first["job"] != second["job"]
    assert first["pages"] == second["pages"]


def test_a_page_limit_is_exact_and_a_raised_one_goes_on(holdfast, server):
    first = holdfast.run("crawl", server.start, "-n", "17", "--json")
    assert (first.code, first.json["pages"], first.json["reason"]) == (0, 17, "page limit")
    assert "completed at its page limit" in first.err
    same = holdfast.run("crawl", server.start, "-n", "17", "--json")
    assert (same.code, same.json["pages"]) == (0, 17)
    assert len(exported(holdfast)) == 17
    more = holdfast.run("crawl", server.start, "-n", "40", "--json")
    assert (more.code, more.json["pages"]) == (0, 40)
    assert "beyond its old limit" in more.err
    rest = holdfast.run("crawl", server.start, "--json")
    assert (rest.code, rest.json["pages"]) == (0, len(server.urls))
    assert_promise(holdfast, server, again=16)


def test_depth_limit_and_patterns(holdfast, server):
    shallow = holdfast.run("crawl", server.start, "-d", "1", "--json").json
    assert 1 < shallow["pages"] < len(server.urls)
    picked = holdfast.run(
        "crawl", server.start, "--name", "picked", "--include", r"/p/\d\.html", "--exclude", "/p/3", "--json"
    ).json
    rows = {row["url"].removeprefix(server.base) for row in exported(holdfast, picked["job"])}
    assert "/" in rows
    assert "/p/3.html" not in rows
    assert all(path == "/" or len(path) == len("/p/1.html") for path in rows)


def test_what_robots_txt_shut_out_is_fetched_once_it_is_ignored(holdfast, server):
    rules = Answer(200, b"User-agent: *\nDisallow: /copies/", (("Content-Type", "text/plain"),))
    server.misbehaving["/robots.txt"] = lambda _: rules
    first = holdfast.run("crawl", server.start, "--json")
    assert first.code == 0
    assert 0 < first.json["pages"] < len(server.urls)
    served = server.served
    again = holdfast.run("crawl", server.start, "--json", "--ignore-robots", "--yes")
    assert (again.code, again.json["pages"]) == (0, len(server.urls))
    assert server.served - served == len(server.urls) - first.json["pages"]
    assert_promise(holdfast, server)


def test_the_order_of_start_urls_makes_no_other_job(holdfast, server):
    urls = [server.start, server.base + "/p/1.html"]
    first = holdfast.run("crawl", *urls, "--json")
    again = holdfast.run("crawl", *reversed(urls), "--json")
    assert (again.code, again.json["job"]) == (0, first.json["job"])


def test_what_changes_addresses_makes_another_job_and_fresh_is_named(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "3")
    for words in (["--strip-param", "x"], ["--feeds"], ["--no-sitemaps"]):
        refused = holdfast.run("crawl", server.start, *words, "--yes")
        assert refused.code == 2
        assert "--fresh" in refused.sentence


def test_other_patterns_are_previewed_and_applied_once_somebody_agrees(holdfast, server):
    # given a crawl that stopped at its page limit
    assert holdfast.run("crawl", server.start, "-n", "20").code == 0
    before = holdfast.show()
    served, asked_before = server.served, server.counts()

    # when the command is repeated with another pattern, and nobody is there to agree
    words = ("crawl", server.start, "-n", "60", "--exclude", "/p/[1-3]")
    refused = holdfast.run(*words)

    # then it says what would change, names --yes, and changes nothing
    assert refused.code == 2
    assert "leave the queue (excluded" in refused.sentence
    assert "--yes" in refused.sentence
    assert (holdfast.show(), server.served) == (before, served)

    # and with --yes it goes on by the new pattern, and back again without it
    ended = holdfast.run(*words, "--yes", "--json")
    assert (ended.code, ended.json["pages"]) == (0, 60)
    shut_out = {path for path in server.counts() if path.startswith(("/p/1", "/p/2", "/p/3"))}
    assert shut_out <= asked_before.keys()
    assert holdfast.run("verify").code == 0
    back = holdfast.run("crawl", server.start, "--yes", "--json")
    assert (back.code, back.json["pages"]) == (0, len(server.urls))
    assert_promise(holdfast, server)


def test_start_urls_are_added_to_a_named_job_and_none_is_taken_away(holdfast, server):
    first, other = server.start, f"{server.base}/p/1.html"
    assert holdfast.run("crawl", first, "--name", "one", "-n", "3").code == 0
    words = ("crawl", other, "--name", "one", "-n", "5", "--yes")
    assert holdfast.run(*words).code == 0
    assert holdfast.show()["spec"]["start_urls"] == [first, other]
    assert holdfast.run("verify").code == 0


def test_another_scope_finds_links_that_were_never_followed(holdfast, server):
    assert holdfast.run("crawl", f"{server.base}/p/1.html", "--scope", "prefix", "--json").code == 0
    wider = holdfast.run("crawl", f"{server.base}/p/1.html", "--scope", "host", "--yes", "--json")
    assert (wider.code, wider.json["pages"]) == (0, len(server.urls))
    assert holdfast.run("verify").code == 0


def test_a_start_page_that_can_not_be_had_fails(holdfast, server):
    failed = holdfast.run("crawl", f"{server.base}/nowhere", "--json")
    assert failed.code == 1
    assert (failed.json["status"], failed.json["pages"]) == ("failed", 0)
    assert "no start URL gave a page (http_404)" in failed.err
    assert "Resume with: holdfast resume" in failed.err


def test_every_format_has_every_page_once(holdfast, server, tmp_path):
    holdfast.run("crawl", server.start)
    for ending in ("jsonl", "jsonl.gz", "csv", "parquet", "warc.gz"):
        target = tmp_path / f"out.{ending}"
        ended = holdfast.run("export", "-o", target)
        assert ended.code == 0, ended
        assert target.stat().st_size
    import csv
    import gzip

    import pyarrow.parquet
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert_rows([json.loads(line) for line in lines], server.urls)
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == (tmp_path / "out.jsonl").read_bytes()
    with (tmp_path / "out.csv").open(newline="") as file:
        assert_rows(list(csv.DictReader(file)), server.urls)
    assert_rows(pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist(), server.urls)
    with (tmp_path / "out.warc.gz").open("rb") as file:
        kinds = WarcRecordType.response | WarcRecordType.revisit
        stored = [record.headers["WARC-Target-URI"] for record in ArchiveIterator(file, record_types=kinds)]
    assert server.urls <= set(stored)


def test_an_exact_duplicate_has_its_text_in_the_export(holdfast, server):
    holdfast.run("crawl", server.start)
    copies = [row for row in exported(holdfast) if "/copies/" in row["url"]]
    assert len(copies) > 1
    assert {row["text"] for row in copies} == {"Every copy of this page is the same. Home"}
    assert len({row["sha256"] for row in copies}) == 1
    (original,) = (row["url"] for row in copies if row["duplicate_of"] is None)
    assert {row["duplicate_of"] for row in copies} == {None, original}


def test_ls_lists_those_of_one_status(holdfast, server):
    whole = holdfast.run("crawl", server.start, "--json").json["job"]
    timed_out = holdfast.run(
        "crawl", server.start, "--name", "short", "--delay", "0.5", "--time-limit", "0.2", "--json"
    ).json["job"]
    for status, jobs in (("completed", [whole]), ("timeout", [timed_out]), ("Running", [])):
        listed = holdfast.run("ls", "--status", status, "--json")
        assert (listed.code, [json.loads(line)["job"] for line in listed.out.splitlines()]) == (0, jobs)
    assert "no job is in_progress" in holdfast.run("ls", "--status", "processing").sentence
    wrong = holdfast.run("ls", "--status", "done")
    assert wrong.code == 2
    assert "completed" in wrong.sentence
