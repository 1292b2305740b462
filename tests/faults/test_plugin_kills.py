"""kill -9 of somebody's own pipeline: each of its records stands once, and what it cost is counted by the shop."""

import random
import signal
import time
from functools import partial

import pytest
from tests.kit.process import PER_KILL, Fault, exported, until
from tests.kit.server import serving
from tests.kit.shops import PER_LISTING, expected, installed, shop

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

PRODUCTS = 300
STEPS = [
    (FaultPoint.BEFORE_SEGMENT, "kill"),
    (FaultPoint.MID_RECORD, "half"),
    (FaultPoint.AFTER_SEGMENT, "kill"),
    (FaultPoint.IN_TRANSACTION, "kill"),
    (FaultPoint.AFTER_COMMIT, "kill"),
]


@pytest.fixture
def server(tmp_path):
    with serving(shop(PRODUCTS), tmp_path / "access.log") as server:
        yield server


@pytest.fixture
def run(holdfast, server, tmp_path):
    """Begins the command that is repeated until it is done."""
    holdfast.environment = {"PYTHONPATH": installed(tmp_path / "packages")}

    def run(*words, fault=None):
        words = ("run", "shop", "--set", f"url={server.start}", "--json", "--quiet", *words)
        return holdfast.start(*words, fault=fault)

    return run


def assert_exact(holdfast, server):
    assert sorted(exported(holdfast), key=lambda row: row["price"]) == expected(server.base, PRODUCTS)
    assert holdfast.run("verify").code == 0
    assert server.fetched_again() <= holdfast.kills * PER_KILL
    # The last page of the catalogue was asked for before the first product was.
    paths = [line.split()[1] for line in server.log.read_text(encoding="utf-8").splitlines()]
    products = [place for place, path in enumerate(paths) if path.startswith("/p/")]
    assert paths.index(f"/c/{PRODUCTS - PER_LISTING}") < products[0]
    assert not [path for path in paths[products[0] :] if path.startswith("/c/")]


def more_commits(holdfast, than):
    return holdfast.commits() > than


@pytest.mark.parametrize("nth", [2, 20, 40])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: "-".join(step).replace(" ", "-"))
def test_a_kill_at_a_step_of_the_commit_costs_what_was_in_flight(holdfast, server, run, step, nth):
    # given a run, kill it at the step
    point, action = step
    assert run(fault=Fault(at=point, do=action, nth=nth)).ended().code == -signal.SIGKILL
    holdfast.kills += 1

    # then the same command ends with every record, once
    assert run().ended().code == 0
    assert_exact(holdfast, server)


def test_kills_at_random_leave_every_record_once_in_a_file_that_grows_as_well(
    holdfast, server, run, tmp_path
):
    server.delay_s = 0.01
    rng = random.Random(7)
    rows = tmp_path / "rows.jsonl"
    for _ in range(6):
        running = run("-o", str(rows))
        until(partial(more_commits, holdfast, holdfast.commits()), "there is a commit", running=running)
        time.sleep(rng.random() * 0.3)
        if not running.alive:
            break
        holdfast.kill(running)
    assert run("-o", str(rows)).ended().code == 0
    assert_exact(holdfast, server)
    assert sorted(rows.read_text(encoding="utf-8").splitlines()) == sorted(
        (tmp_path / f"{holdfast.home.name}-latest.jsonl").read_text(encoding="utf-8").splitlines()
    )
