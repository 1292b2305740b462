"""The lease is renewed for as long as the claim lasts, whatever else goes wrong on the keeper's thread."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.kit.builders import claim_of, job
from tests.kit.clock import ManualClock
from tests.kit.fakes import FakeHeartbeats, FakeWorkers

from holdfast.domain.errors import StorageFailed
from holdfast.domain.lease import LeaseTimes, Standing
from holdfast.engine.keeper import Keeper

HASTY = replace(LeaseTimes(), renew_s=0.0, sweep_s=0.0, poll_s=0.001)


class RenewedLedger(FakeHeartbeats):
    """Says when it was renewed so often."""

    def __init__(self, times):
        super().__init__()
        self.left = times
        self.enough = threading.Event()

    async def renew(self, _lease, standing):
        assert standing == Standing(7, 1.5)
        self.left -= 1
        if self.left == 0:
            self.enough.set()

    async def wish(self, _lease):
        return None

    async def close(self):
        pass


@pytest.mark.parametrize("error", [StorageFailed("busy"), OSError(13, "not yours"), KeyError("a bug")])
def test_the_lease_is_renewed_though_every_sweep_fails(error):
    # given a keeper to whom looking after the other claims goes wrong each time
    ledger = RenewedLedger(times=3)
    ledger.down = error
    tools = SimpleNamespace(
        another_ledger=lambda: ledger, workers=FakeWorkers(), clock=ManualClock(), times=HASTY
    )
    keeper = Keeper(
        tools,  # type: ignore[arg-type]
        claim_of(job()).lease,
        on_pause=lambda: None,
        on_lost=lambda _: None,
        standing=lambda: Standing(7, 1.5),
    )

    # when it is at work
    keeper.start()

    # then it goes on
    assert ledger.enough.wait(30.0)
    keeper.end()
    keeper.join()
