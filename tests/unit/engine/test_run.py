"""A run as a whole: what an end that nobody wished for leaves to the next one."""

import asyncio
import threading
from dataclasses import replace

import pytest
from tests.kit.builders import new_job, page
from tests.kit.clock import ManualClock
from tests.kit.fakes import rigged

from holdfast.domain.errors import JobHeld, LeaseLost
from holdfast.domain.item import Done
from holdfast.domain.job import Limits
from holdfast.domain.lease import LeaseTimes
from holdfast.domain.recovery import DEADLY
from holdfast.domain.states import Status
from holdfast.engine.run import run
from holdfast.engine.start import start
from holdfast.stores.sqlite.connection import Database
from holdfast.stores.sqlite.ledger import SqliteLedger
from holdfast.stores.workers import LockedWorkers
from holdfast.web.warc import WarcSegments


class NobodyStops:
    """Neither a person nor the machine asks for an end."""

    def claimed(self):
        pass

    def listen(self, worker):
        pass


async def test_a_page_whose_commit_always_fails_is_set_aside_like_one_that_crashes_the_process(tmp_path):
    # given a page with which the commit runs into a mistake of ours
    clock = ManualClock()
    async with rigged(tmp_path, clock) as rig:
        workers = LockedWorkers(tmp_path)
        rig.segments = WarcSegments(tmp_path, clock)
        tools = replace(rig.tools, workers=workers, another_ledger=lambda: SqliteLedger(Database(tmp_path)))
        rig.site.behaviours["poison"] = lambda item: Done((page(item.url, unwritable=object()),))
        new = new_job(spec={"start": ["a", "poison", "z"]})

        # when the same command is repeated until it ends by itself
        for deaths in range(9):
            started = await start(tools, new, random=bytes, on_wait=print, agree=lambda _job, _preview: None)
            try:
                await run(tools, started.job, workers.name(f"{deaths}"), NobodyStops())
            except TypeError:
                continue
            break
        job = await rig.job()

        # then one death without a name, or after progress, and two with it were enough, and the neighbours are done
        assert deaths <= DEADLY + 2
        assert (job.status, job.counters.done, job.counters.failed) == (Status.COMPLETED, 2, 1)
        assert len(list((tmp_path / "workers").glob("*.crash"))) == deaths
        assert list((tmp_path / "workers").glob("*.lock")) == []


@pytest.mark.parametrize("wish", ["cancel", "pause"])
async def test_what_a_person_wants_during_a_repair_is_heard(tmp_path, wish):
    # given a job whose worker died, and a claim that still reads back what that one wrote
    clock = ManualClock()
    reading, go_on = threading.Event(), threading.Event()

    def slow_size(_job, _segment):
        reading.set()
        go_on.wait(30.0)
        return 10**9

    async with rigged(tmp_path, clock, times=replace(LeaseTimes(), poll_s=0.01)) as rig:
        job = await rig.submit("a", "b", new=new_job(limits=Limits(max_pages=1)))
        await rig.work()
        await rig.jobs.extend(job.id, now=clock.wall())
        rig.segments.size = slow_size
        tools = replace(
            rig.tools,
            workers=LockedWorkers(tmp_path),
            another_ledger=lambda: SqliteLedger(Database(tmp_path)),
        )
        running = asyncio.create_task(run(tools, await rig.job(), "here/2/bb.cc", NobodyStops()))
        await asyncio.to_thread(reading.wait, 30.0)

        # when it is cancelled, or asked to pause
        started = len(rig.site.started)
        if wish == "cancel":
            await rig.jobs.cancel(job.id, now=clock.wall())
            with pytest.raises(LeaseLost):
                await asyncio.wait_for(running, 20.0)
            go_on.set()
        else:
            await rig.jobs.pause(job.id, now=clock.wall())
            await asyncio.sleep(0.1)
            go_on.set()
            assert (await asyncio.wait_for(running, 20.0)).status is Status.PAUSED

        # then it ends at once, with nothing more asked of the site
        assert len(rig.site.started) == started


async def test_a_command_that_is_wrong_is_no_crash(tmp_path):
    clock = ManualClock()
    async with rigged(tmp_path, clock) as rig:
        tools = replace(rig.tools, workers=LockedWorkers(tmp_path))
        job = await rig.submit("a")
        await rig.claim()
        with pytest.raises(JobHeld):
            await run(tools, job, "here/2/bb.cc", NobodyStops())
        assert list((tmp_path / "workers").iterdir()) == []
