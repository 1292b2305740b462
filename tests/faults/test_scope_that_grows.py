"""A start URL moves to another site after others were crawled: what they link to there is not lost, whoever dies."""

import signal
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from tests.kit.process import Fault, assert_rows, exported, until
from tests.kit.server import Answer, Site, SiteServer, serving

from holdfast.pipelines.site.spec import MAX_EXTERNAL
from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure


def page(*links: str) -> Answer:
    return Answer(200, ("<title>x</title>" + "".join(f"<a href='{link}'>x</a>" for link in links)).encode())


@dataclass
class Movers:
    """A site that stays, two that move to a third and a fourth as soon as they are told to."""

    stays: SiteServer
    moving: list[SiteServer]
    targets: list[SiteServer]
    move: bool = False

    def answer(self, target: SiteServer) -> Answer:
        """Not yet, or moved."""
        if not self.move:
            return Answer(503, b"", (("Retry-After", "1"),))
        return Answer(301, b"", (("Location", target.start),))

    @property
    def urls(self) -> list[str]:
        """What the crawl must give."""
        return sorted(url for server in (self.stays, *self.targets) for url in server.urls)


@pytest.fixture
def movers(tmp_path):
    """Pages that only the site that stays names: the target sites don't link to them themselves."""
    with ExitStack() as stack:
        one, *others = (stack.enter_context(serving(Site({}), tmp_path / f"{n}.log")) for n in range(5))
        movers = Movers(one, others[:2], others[2:])
        for server, target in zip(movers.moving, movers.targets, strict=True):
            server.misbehaving["/"] = lambda _, target=target: movers.answer(target)
            target.site = Site(
                {"/": page("/seen"), "/seen": page(), "/hidden": page("/deeper"), "/deeper": page()}
            )
        yield movers


def crowd(count: int) -> list[str]:
    return [f"http://elsewhere.example/{n}" for n in range(count)]


@pytest.mark.parametrize("others", [0, MAX_EXTERNAL], ids=["kept", "over the cap"])
@pytest.mark.parametrize("dies", ["before", "after the move", "judging again"])
def test_what_was_out_of_scope_until_a_start_url_moved_is_crawled(holdfast, movers, others, dies):
    # given a page with links to where start URLs will move, fetched and committed before they do, and a kill
    hidden = [f"{target.base}/hidden" for target in movers.targets]
    movers.stays.site = Site({"/": page(*crowd(others), *hidden, "/more"), "/more": page()})
    starts = [movers.stays.start, *(server.start for server in movers.moving)]
    running = holdfast.crawl(*starts)
    until(
        lambda: len(holdfast.read("SELECT 1 FROM items WHERE status = 'done'")) == 2, "both pages are there"
    )
    holdfast.kill(running)

    # when they move, and it is killed again
    movers.move = True
    at = {"after the move": movers.targets[1].start, "judging again": movers.stays.start}.get(dies)
    if at is not None:
        holdfast.crawl_and_die(*starts, fault=Fault(at=FaultPoint.HANDLING, url=at))

    # then every page is there, each once, and all agrees
    ended = holdfast.crawl(*starts).ended()
    assert ended.code == 0, ended
    assert_rows(exported(holdfast), movers.urls)
    verified = holdfast.run("verify")
    assert verified.code == 0, verified


def test_a_home_whose_scope_has_just_grown_is_in_order(holdfast, movers):
    # given links beyond the cap that are in scope since a commit ago, and not looked at yet
    hidden = [f"{target.base}/hidden" for target in movers.targets]
    movers.stays.site = Site({"/": page(*crowd(MAX_EXTERNAL), *hidden)})
    starts = [movers.stays.start, *(server.start for server in movers.moving)]
    running = holdfast.crawl(*starts)
    until(lambda: holdfast.read("SELECT 1 FROM items WHERE status = 'done'"), "the first page is there")
    holdfast.kill(running)
    movers.move = True
    ended = holdfast.crawl(*starts, fault=Fault(at=FaultPoint.HANDLING, url=movers.stays.start)).ended()
    assert ended.code == -signal.SIGKILL

    # then verify finds nothing amiss
    assert holdfast.read("SELECT 1 FROM items WHERE rejudge = 1")
    verified = holdfast.run("verify")
    assert verified.code == 0, verified


def test_kills_use_up_nothing_of_the_cap(holdfast, server):
    # given the same external links on every page
    links = crowd(MAX_EXTERNAL // 3)
    pages = {f"/{n}": page(*links) for n in range(60)}
    server.site = Site({"/": page(*pages, *links), **pages})

    # when it is killed four times
    for _ in range(4):
        holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=2))
    ended = holdfast.crawl(server.start).ended()

    # then they were kept once, and none was taken for one too many
    assert ended.code == 0, ended
    kept = holdfast.read("SELECT count(*) FROM items WHERE status = 'skipped' AND reason = 'external'")
    assert (kept, ended.json["external"]) == ([(len(links),)], 0)
