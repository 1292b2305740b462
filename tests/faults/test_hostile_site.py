"""A site that means harm is crawled to its end: each of its addresses comes to what it deserves, in bounded memory."""

import random
import signal
from pathlib import Path

import pytest
from tests.kit.hostile import COPIES, FATES, MANY_LINKS, TRAPS, hostile
from tests.kit.process import PER_KILL, Holdfast, exported, until

pytestmark = pytest.mark.failure

HASTY = {"HOLDFAST_FETCH_S": "1.5", "HOLDFAST_BODY_MB": "4", "HOLDFAST_MAX_TRIES": "2"}
WORDS = ("--scope", "any", "--exclude", "/leaf/")
MOST_MB = 400
"""A bomb alone would take 200 MB if it were let go off, and sixteen pages are in hand at a time."""
MOST_OF_A_TRAP = 1_000
"""Addresses that a trap without end may cost."""


@pytest.fixture
def holdfast(tmp_path):
    with Holdfast(tmp_path / "home", HASTY) as holdfast:
        yield holdfast


@pytest.fixture
def site():
    with hostile() as site:
        yield site


def peak_mb(running):
    """The most that the process ever had in memory, as the kernel counts it."""
    try:
        status = Path(f"/proc/{running.pid}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


def fates(holdfast, site):
    """What became of each address, but for those of traps."""
    rows = holdfast.read("SELECT url, status, reason FROM items")
    named = {url.removeprefix(site.origin): (status, reason) for url, status, reason in rows}
    return {url: fate for url, fate in named.items() if not url.startswith((*TRAPS, "/leaf/"))}


def assert_it_came_out_well(holdfast, site):
    assert fates(holdfast, site) == FATES
    assert holdfast.read("SELECT count(*) FROM items WHERE url LIKE '%/leaf/%' AND reason = 'excluded'") == [
        (MANY_LINKS,)
    ]
    assert holdfast.read("SELECT count(*) FROM items WHERE status = 'pending'") == [(0,)]
    for trap in TRAPS:
        assert site.below(trap) <= MOST_OF_A_TRAP, f"{trap}: {site.below(trap)}"
    # The copies are stored once, and each stands in the export with its text.
    bodies = holdfast.read("SELECT count(DISTINCT digest) FROM records r JOIN items i ON i.id = r.item_id"
                           " WHERE i.url LIKE '%/copies/%'")  # fmt: skip
    assert bodies == [(1,)]
    rows = {row["url"].removeprefix(site.origin): row for row in exported(holdfast)}
    assert {rows[f"/copies/{n}"]["text"] for n in range(COPIES)} == {rows["/copies/0"]["text"]}
    assert rows["/packed-not"]["title"] == "Not packed at all"
    assert rows["/longer-than-announced"]["size"] == 60
    assert holdfast.run("verify").code == 0


def test_a_hostile_site_comes_to_its_end_in_bounded_memory(holdfast, site):
    running = holdfast.crawl(f"{site.origin}/", *WORDS)
    most = 0.0

    def over():
        nonlocal most
        most = max(most, peak_mb(running))
        return not running.alive

    until(over, "the crawl has ended", patience_s=150)
    ended = running.ended()
    assert ended.code == 0, ended
    assert 0 < most < MOST_MB
    assert_it_came_out_well(holdfast, site)
    assert site.asked["/later"] == 2
    assert site.asked["/storm/1"] == 2


def test_kills_amid_all_that_change_nothing(holdfast, site):
    rng = random.Random(7)
    for _ in range(4):
        running = holdfast.crawl(f"{site.origin}/", *WORDS)
        goal = sum(site.asked.values()) + rng.randrange(15, 40)
        until(lambda goal=goal: sum(site.asked.values()) >= goal, "it asked for more", running=running)
        running.send(signal.SIGKILL)
        running.ended()
        holdfast.kills += 1
    ended = holdfast.crawl(f"{site.origin}/", *WORDS).ended(patience_s=150)
    assert ended.code == 0, ended
    assert_it_came_out_well(holdfast, site)
    once = {path for path, (status, _) in FATES.items() if status == "done"} - {"/later", "/cookie-wall"}
    again = sum(site.asked[path] - 1 for path in once)
    assert again <= holdfast.kills * PER_KILL
