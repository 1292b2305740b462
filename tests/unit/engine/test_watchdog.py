"""What a watchdog takes back, and what it leaves alone."""

import pytest
from tests.kit.clock import ManualClock
from tests.kit.fakes import FakeHeartbeats, FakeWorkers

from holdfast.domain.errors import StorageFailed
from holdfast.domain.lease import LeaseTimes
from holdfast.domain.states import Status
from holdfast.engine.watchdog import Watchdog

TIMES = LeaseTimes()


class Scene:
    """A watchdog that sweeps once a minute, as the keeper lets it."""

    def __init__(self, living: bool | None = True) -> None:
        self.clock = ManualClock()
        self.ledger = FakeHeartbeats()
        self.workers = FakeWorkers({"here/1/aa": living})
        self.watchdog = Watchdog(self.ledger, self.workers, self.clock, TIMES)  # type: ignore[arg-type]
        self.ledger.shows()

    async def sweep(self, times: int = 1, *, every: float = 60.0, renewing: bool = False) -> list[str]:
        """Sweep so often; gives why chunks were taken back by then."""
        for _ in range(times):
            self.clock.advance(every)
            if renewing and 1 in self.ledger.beats:
                self.ledger.renewed()
            await self.watchdog.sweep()
        return [taken.why for taken in self.ledger.taken]


async def test_a_dead_workers_chunk_is_taken_back_at_the_first_look():
    scene = Scene(living=False)
    assert await scene.sweep() == ["its worker died"]
    (taken,) = scene.ledger.taken
    assert not taken.stalled
    assert taken.rules.max_retries == TIMES.max_retries


@pytest.mark.parametrize("living", [True, None])
async def test_all_others_wait_for_expiry(living):
    scene = Scene(living)
    assert await scene.sweep(2) == []
    assert await scene.sweep() == ["its lease expired"]
    assert scene.ledger.taken[0].silent, "nobody can tell what it was at"


async def test_who_renews_is_left_alone():
    assert await Scene(living=None).sweep(20, renewing=True) == []


async def test_one_look_is_never_enough():
    scene = Scene()
    scene.clock.advance(1e6)
    assert await scene.sweep() == []


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
async def test_jumps_of_the_wall_clock_change_nothing(jump):
    scene = Scene()
    await scene.sweep()
    scene.clock.jump(jump)
    assert await scene.sweep() == []
    scene.clock.jump(-2 * jump)
    assert await scene.sweep() == ["its lease expired"]


async def test_a_living_but_frozen_runner_is_taken_back_after_half_an_hour():
    scene = Scene()
    assert await scene.sweep(30, renewing=True) == []
    assert await scene.sweep(renewing=True) == ["no progress"]
    assert scene.ledger.taken[0].stalled


async def test_progress_starts_the_half_hour_anew():
    scene = Scene()
    await scene.sweep(29, renewing=True)
    scene.ledger.shows(seq=1)
    assert await scene.sweep(29, renewing=True) == []


@pytest.mark.parametrize("minutes", [29, 60, 119])
async def test_a_chunk_that_waits_for_a_stored_due_time_is_not_stale(minutes):
    scene = Scene()
    scene.ledger.shows(waiting_until=scene.clock.wall() + 7200)
    assert await scene.sweep(minutes, renewing=True) == []


async def test_a_chunk_that_has_waited_long_has_the_whole_period_for_its_work():
    """Its due time has come; what it waited is no lack of progress."""
    scene = Scene()
    scene.ledger.shows(waiting_until=scene.clock.wall() + 7200)
    await scene.sweep(120, renewing=True)
    scene.ledger.shows(waiting_until=None)
    assert await scene.sweep(28, renewing=True) == []
    assert await scene.sweep(3, renewing=True) == ["no progress"]


async def test_an_outage_of_the_database_expires_nobody():
    """Nobody could renew while it was down."""
    scene = Scene()
    await scene.sweep(renewing=True)
    scene.ledger.down = StorageFailed("down")
    for _ in range(2):
        with pytest.raises(StorageFailed):
            await scene.sweep()
    scene.ledger.down = None
    assert await scene.sweep() == []
    assert await scene.sweep(5, renewing=True) == []


async def test_a_period_begins_again_after_an_outage():
    scene = Scene()
    await scene.sweep(2)
    scene.ledger.down = StorageFailed("down")
    with pytest.raises(StorageFailed):
        await scene.sweep()
    scene.ledger.down = None
    assert await scene.sweep(2) == []
    assert await scene.sweep() == ["its lease expired"]


@pytest.mark.parametrize("asleep", [150.0, 1e6])
async def test_a_sweep_that_hung_longer_than_the_period_expires_nobody(asleep):
    scene = Scene()
    await scene.sweep(renewing=True)
    assert await scene.sweep(every=asleep) == []


async def test_chunks_are_judged_each_by_itself():
    scene = Scene()
    scene.ledger.shows(2)
    for _ in range(3):
        scene.ledger.renewed(2)
        await scene.sweep()
    assert [taken.heartbeat.chunk_id for taken in scene.ledger.taken] == [1]


async def test_a_chunk_claimed_again_has_a_period_of_its_own():
    scene = Scene()
    await scene.sweep(2)
    scene.ledger.shows(epoch=3, worker_id="here/9/zz")
    assert await scene.sweep(2) == []
    assert await scene.sweep() == ["its lease expired"]


@pytest.mark.parametrize(
    ("status", "claims", "level", "told"),
    [
        (Status.PENDING, 2, "WARNING", "recovering job 0000abcd, retry 2 of 3 (its worker died)"),
        (Status.PENDING, 0, "WARNING", "recovering job 0000abcd, which had made progress (its worker died)"),
        (Status.FAILED, 4, "ERROR", "job 0000abcd failed permanently (its worker died)"),
        (Status.PAUSED, 1, "WARNING", "job 0000abcd is paused, as was asked for (its worker died)"),
    ],
)
async def test_what_was_taken_back_is_told_of_the_right_job(status, claims, level, told, caplog):
    scene = Scene(living=False)
    scene.ledger.shows(public_id="01920000-0000-7000-8000-00000000abcd", claims_since_progress=claims)
    scene.ledger.becomes = status
    await scene.sweep()
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == (level, told)
    assert (record.job_id, record.retry_count) == ("0000abcd", claims)
