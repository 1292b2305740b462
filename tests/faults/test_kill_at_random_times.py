"""kill -9 at times that nobody chose. FAULTS_KILLS raises the number of kills, FAULTS_SEED repeats a run."""

import os
import random
import time

import pytest
from tests.kit.process import PER_KILL, Holdfast, assert_promise, until
from tests.kit.server import generated, serving

pytestmark = pytest.mark.failure

CRAWLS = 3
KILLS = max(CRAWLS, int(os.environ.get("FAULTS_KILLS", "27"))) // CRAWLS
SEED = int(os.environ.get("FAULTS_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
MOST_PAGES = 25
MOST_SECONDS = 0.6


@pytest.mark.timeout(60 + 10 * KILLS)
@pytest.mark.parametrize("crawl", range(CRAWLS))
@pytest.mark.parametrize("durability", ["process"])
def test_kills_at_random_times_lose_nothing(tmp_path, crawl, durability):
    print(f"FAULTS_SEED={SEED} FAULTS_KILLS={KILLS * CRAWLS} repeats this")
    rng = random.Random(SEED * CRAWLS + crawl)
    # given a crawl that can't end before its last kill
    site = generated((KILLS + 4) * (MOST_PAGES + PER_KILL) // 2, seed=SEED)
    with serving(site, tmp_path / "access.log") as server, Holdfast(tmp_path / "home") as holdfast:
        command = (server.start, "--durability", durability)
        server.delay_s = 0.02

        # kill at any time after its start, or after any number of pages
        for _ in range(KILLS):
            running = holdfast.crawl(*command)
            if rng.random() < 0.3:
                time.sleep(rng.uniform(0.0, MOST_SECONDS))
            else:
                goal = server.served + rng.randrange(1, MOST_PAGES)
                until(lambda: server.served >= goal, f"{goal} requests", running=running)  # noqa: B023 - used at once
                time.sleep(rng.uniform(0.0, 0.02))
            assert running.alive, running.ended()
            holdfast.kill(running)
            assert server.fetched_again() <= holdfast.kills * PER_KILL

        # then the same command once more ends
        server.delay_s = 0.0
        ended = holdfast.crawl(*command).ended()
        assert ended.code == 0, ended
        assert_promise(holdfast, server)
