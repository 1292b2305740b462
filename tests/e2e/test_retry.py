"""`retry`, and the dead letters that it is about."""

import json

from tests.kit.process import exported
from tests.kit.server import Answer


def test_dead_letters_are_listed_and_tried_again_by_cause(holdfast, server):
    # given a crawl in which some pages failed for two causes
    teapots = sorted(server.site.pages - {"/"})[:3]
    for path in teapots:
        server.misbehaving[path] = lambda _: Answer(418, b"teapot")
    crawled = holdfast.crawl(server.start).ended()
    assert crawled.code == 0
    shown = holdfast.run("show")
    assert "http_418" in shown.out
    assert "holdfast retry" in shown.out
    listed = [json.loads(line) for line in holdfast.run("show", "--failed", "--json").out.splitlines()]
    assert len(listed) == crawled.json["failed"]
    assert sorted(one["url"] for one in listed if one["reason"] == "http_418") == [
        server.base + path for path in teapots
    ]
    assert f"http_418  {server.base}{teapots[0]}" in holdfast.run("show", "--failed").out.splitlines()

    # when those of one cause are tried again
    server.misbehaving.clear()
    retried = holdfast.run("retry", "--where", "status=418", "--json")

    # then they alone are fetched, and are pages now
    assert (retried.code, retried.json["failed"]) == (0, len(listed) - 3), retried
    assert "trying 3 failed pages" in retried.err
    assert {row["url"] for row in exported(holdfast)} == server.urls
    assert {server.counts()[path] for path in teapots} == {2}
    assert holdfast.run("verify").code == 0


def test_a_retry_without_anything_to_try_changes_nothing(holdfast, server):
    assert holdfast.crawl(server.start).ended().code == 0
    before = holdfast.everything()
    ended = holdfast.run("retry", "--where", "reason=timeout")
    assert ended.code == 0
    assert "fits reason=timeout" in ended.err
    assert holdfast.everything() == before


def test_a_condition_that_makes_no_sense_is_refused_with_what_does(holdfast, server):
    assert holdfast.crawl(server.start, "-n", "1").ended().code == 0
    ended = holdfast.run("retry", "--where", "cause=timeout")
    assert ended.code == 2
    assert "reason=WORD" in ended.sentence
