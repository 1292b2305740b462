"""A wall clock that jumps by an hour costs no lease, and nothing waits for a time that was never meant."""

import time

import pytest
from tests.kit.process import Fault, assert_promise, until
from tests.kit.server import Answer

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

HOUR_S = 3600.0


@pytest.fixture
def clock(tmp_path):
    """The file that says by how much the crawler's clock is off."""
    path = tmp_path / "clock"
    path.write_text("0")
    return path


def set_clock(clock, offset_s):
    # Renamed into place: whoever reads meanwhile finds one or the other.
    new = clock.with_suffix(".new")
    new.write_text(str(offset_s))
    new.replace(clock)


@pytest.mark.parametrize("offset_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])
def test_a_jump_during_a_crawl(holdfast, server, clock, offset_s):
    # given a crawl at work, beside a process that waits for its lease
    server.delay_s = 0.04
    running = holdfast.crawl(server.start, fault=Fault(clock=clock))
    until(lambda: holdfast.commits() >= 5, "five commits", running=running)
    waiting = holdfast.crawl(server.start, "--wait", fault=Fault(clock=clock))
    until(lambda: holdfast.commits() >= 12, "seven more", running=running)

    # when the clock jumps, and back, and the other way
    for jump, commits in ((offset_s, 20), (0.0, 26), (-offset_s, 32)):
        set_clock(clock, jump)
        until(lambda: holdfast.commits() >= commits, f"{commits} commits", running=running)  # noqa: B023

    # then the lease stands, the crawl ends, and who waited finds it done
    assert running.ended().code == 0
    assert waiting.ended().code == 0
    assert holdfast.read("SELECT epoch FROM chunks") == [(1,)]
    assert_promise(holdfast, server)


@pytest.mark.parametrize("offset_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])
def test_a_jump_between_two_runs(holdfast, server, clock, offset_s):
    # given a crawl that was killed
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=12, clock=clock))

    # then it goes on in another hour
    set_clock(clock, offset_s)
    ended = holdfast.crawl(server.start, fault=Fault(clock=clock)).ended()
    assert ended.code == 0, ended
    assert 0 <= ended.json["seconds"] < HOUR_S / 2
    assert_promise(holdfast, server)


@pytest.mark.parametrize(
    "offset_s",
    [pytest.param(HOUR_S, id="forward"), pytest.param(-HOUR_S, id="back")],
)
@pytest.mark.parametrize("restarted", [False, True], ids=["during a run", "between two runs"])
def test_a_page_that_waits_to_be_tried_again_while_the_clock_jumps(
    holdfast, server, clock, offset_s, restarted
):
    # given a page that asks for two seconds, which alone keeps the crawl from its end
    path = "/p/300.html"
    asked: list[float] = []

    def busy_at_first(path):
        asked.append(time.monotonic())
        if len(asked) == 1:
            return Answer(503, b"", (("Retry-After", "2"),))
        return server.site.answers[path]

    server.misbehaving[path] = busy_at_first
    fault = Fault(clock=clock)
    running = holdfast.crawl(server.start, fault=fault)

    def waits():
        return holdfast.read("SELECT 1 FROM items WHERE due_at IS NOT NULL")

    until(waits, "the page waited", running=running)

    # when the clock jumps meanwhile
    if restarted:
        holdfast.kill(running)
    set_clock(clock, offset_s)
    if restarted:
        running = holdfast.crawl(server.start, fault=fault)

    # then it is asked again soon, and not in an hour
    ended = running.ended(patience_s=6)
    assert ended.code == 0, ended
    assert len(asked) == 2
    assert_promise(holdfast, server, again=1)
