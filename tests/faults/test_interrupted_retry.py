"""Failed pages that are tried again, killed between any two slices of it: each is tried, none is counted twice."""

import pytest
from tests.kit.process import Fault, assert_rows, exported
from tests.kit.server import Answer

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

BROKEN = 40
"""So many pages give an error, until they are mended."""


@pytest.mark.parametrize("nth", [1, 2, 5])
def test_a_retry_that_is_killed_is_carried_on_by_whatever_command_comes(holdfast, server, nth):
    # given a completed crawl in which forty pages failed
    paths = sorted(server.site.pages - {"/"})[:BROKEN]
    for path in paths:
        server.misbehaving[path] = lambda _: Answer(410, b"not now")
    assert holdfast.crawl(server.start).ended().code == 0
    server.misbehaving.clear()

    # kill the retry between two slices, and the command that carries it on as well
    for words in (["retry", "--where", "status=410"], ["crawl", server.start]):
        fault = Fault(at=FaultPoint.MID_CHANGE, nth=nth, slice=30)
        died = holdfast.run(*words, fault=fault)
        assert died.code == -9, died
        assert holdfast.run("verify").code == 2, "half of a change is no state to judge"

    # then the same crawl goes on, and all of the pages are there, each once
    ended = holdfast.crawl(server.start).ended()
    assert ended.code == 0, ended
    assert {one["reason"] for one in holdfast.show()["outcomes"] if one["status"] == "failed"} == {"http_404"}
    assert_rows(exported(holdfast), server.urls)
    verified = holdfast.run("verify")
    assert verified.code == 0, verified
    counts = server.counts()
    assert {counts[path] for path in paths} == {2}, "each was asked for once more, and nothing else was"
    assert {counts[path] for path in server.site.pages - set(paths)} == {1}
