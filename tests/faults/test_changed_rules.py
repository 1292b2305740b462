"""A job whose rules change, killed between any two slices of that: nothing is lost, nothing that is out is fetched."""

import re

import pytest
from tests.kit.process import Fault, assert_promise, assert_rows, exported
from tests.kit.server import Answer, Site, serving

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

SHUT_OUT = "/p/[1-4]"


def killed_between_slices(holdfast, nth, *commands):
    """Each command dies as it moves the queue, and none leaves a state that could be judged."""
    for words in commands:
        died = holdfast.run(*words, fault=Fault(at=FaultPoint.MID_CHANGE, nth=nth, slice=8))
        assert died.code == -9, died
        verified = holdfast.run("verify")
        assert (verified.code, "interrupted" in verified.sentence) == (2, True), (
            "half of a change is no state"
        )


@pytest.mark.parametrize("nth", [1, 2, 5, 9])
def test_a_change_that_is_killed_is_carried_on_by_whatever_command_comes(holdfast, server, nth):
    # given a crawl that stopped at its page limit, with much of it queued
    assert holdfast.run("crawl", server.start, "-n", "80").code == 0
    before = server.counts()
    known = holdfast.read("SELECT url FROM items")

    # when a pattern is added, and the command that brings it is killed as it moves the queue, and the next one too
    narrower = ("crawl", server.start, "--exclude", SHUT_OUT, "--yes")
    killed_between_slices(holdfast, nth, narrower, ["resume"])

    # then the same command ends by the new rules: the server was asked for nothing that they shut out
    ended = holdfast.crawl(server.start, "--exclude", SHUT_OUT, "--yes").ended()
    assert (ended.code, ended.json["status"]) == (0, "completed")
    asked = server.counts() - before
    assert asked
    assert not [path for path in asked if re.search(SHUT_OUT, path)]
    assert set(holdfast.read("SELECT url FROM items")) >= set(known), (
        "nothing that was discovered is forgotten"
    )
    assert holdfast.run("verify").code == 0

    # and without the pattern, killed likewise, all pages are there, each fetched once
    killed_between_slices(holdfast, nth, ("crawl", server.start, "--yes"), ["resume"])
    assert holdfast.crawl(server.start, "--yes").ended().code == 0
    assert_promise(holdfast, server)
    counts = server.counts()
    assert {counts[path] for path in server.site.pages} == {1}


@pytest.mark.parametrize("nth", [1, 3])
def test_links_that_were_only_counted_are_found_by_a_wider_scope_whoever_is_killed(holdfast, tmp_path, nth):
    """Ten thousand others were out of scope before them, so that nobody wrote their addresses down."""
    with serving(Site({}), tmp_path / "one.log") as one, serving(Site({}), tmp_path / "two.log") as two:
        crowd = "".join(f"<a href='http://elsewhere.invalid/{n}'>x</a>" for n in range(10_000))
        hidden = [f"{two.base}/{n}" for n in range(30)]
        links = "".join(f"<a href='{url}'>x</a>" for url in hidden)
        one.site = Site(
            {"/": Answer(200, f"{crowd}<a href='/a'>x</a>".encode()), "/a": Answer(200, links.encode())}
        )
        two.site = Site({f"/{n}": Answer(200, b"<title>x</title>") for n in range(30)})
        assert holdfast.run("crawl", one.start, "--name", "wide").code == 0
        assert two.served == 0

        # the other site is named as a start URL: its scope is drawn in, and the change is killed
        words = ("crawl", one.start, f"{two.base}/0", "--name", "wide", "--yes")
        killed_between_slices(holdfast, nth, words, ["resume"])
        ended = holdfast.run(*words, "--json")
        assert (ended.code, ended.json["status"]) == (0, "completed")
        assert_rows(exported(holdfast), one.urls | two.urls)
        assert {two.counts()[f"/{n}"] for n in range(30)} == {1}
        verified = holdfast.run("verify")
        assert verified.code == 0, verified
