"""kill -9 at times that nobody chose. FAULTS_KILLS raises the number of kills, FAULTS_SEED repeats a run."""

import os
import random
import time

import pytest
from tests.kit.process import PER_KILL, Holdfast, assert_promise, until
from tests.kit.server import generated, serving

from holdfast.domain.recovery import DEADLY_SILENT

pytestmark = pytest.mark.failure

CRAWLS = 3
KILLS = max(CRAWLS, int(os.environ.get("FAULTS_KILLS", "27"))) // CRAWLS
SEED = int(os.environ.get("FAULTS_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
MOST_PAGES = 25
MOST_SECONDS = 0.6
PATIENT = DEADLY_SILENT - 2
"""So many kills in a row may come before any progress; more could give a page up (see test_poison), so the next kill
waits for some."""
MOST_AT_A_KILL = 200
"""More pages than a claim can be served before it is killed, at the server's pace."""


def kill_sometime(rng, holdfast, server, command, *, careful):
    """Start it, kill it; gives whether that claim got anywhere."""
    before, served = holdfast.commits(), server.served
    running = holdfast.crawl(*command)
    if not careful and rng.random() < 0.4:
        time.sleep(rng.uniform(0.0, MOST_SECONDS))
    else:
        goal = served + rng.randrange(1, MOST_PAGES) + careful * PER_KILL
        until(lambda: server.served >= goal, f"{goal} requests", running=running)
        time.sleep(rng.uniform(0.0, 0.02))
    assert running.alive, running.ended()
    holdfast.kill(running)
    return holdfast.commits() > before


@pytest.mark.timeout(60 + 10 * KILLS)
@pytest.mark.parametrize("crawl", range(CRAWLS))
def test_kills_at_random_times_lose_nothing(tmp_path, crawl):
    print(f"FAULTS_SEED={SEED} FAULTS_KILLS={KILLS * CRAWLS} repeats this")
    rng = random.Random(SEED * CRAWLS + crawl)
    # given a crawl that can't end before its last kill
    site = generated((KILLS + 1) * MOST_AT_A_KILL, seed=SEED)
    with serving(site, tmp_path / "access.log") as server, Holdfast(tmp_path / "home") as holdfast:
        command = (server.start, "--durability", "power" if crawl == 1 else "process")
        server.delay_s = 0.05

        # kill at any time after its start, or after any number of pages
        fruitless = 0
        for _ in range(KILLS):
            progress = kill_sometime(rng, holdfast, server, command, careful=fruitless >= PATIENT)
            fruitless = 0 if progress else fruitless + 1
            assert server.fetched_again() <= holdfast.kills * PER_KILL

        # then the same command once more ends
        server.delay_s = 0.0
        ended = holdfast.crawl(*command).ended()
        assert ended.code == 0, ended
        assert_promise(holdfast, server)
