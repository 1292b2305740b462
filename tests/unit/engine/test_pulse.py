"""A bell that is never missed, and a gate that lets all through."""

import asyncio

import pytest

from holdfast.engine.pulse import Gate, Pulse


async def test_a_ring_before_the_wait_is_remembered_once(leap):
    pulse = Pulse()
    pulse.ring()
    pulse.ring()
    assert await pulse.heard(5.0)
    assert not await pulse.heard(5.0)


async def test_a_ring_wakes_whoever_waits(leap):
    pulse = Pulse()
    began = leap.monotonic()
    asyncio.get_running_loop().call_later(3.0, pulse.ring)
    assert await pulse.heard(60.0)
    assert leap.monotonic() - began == pytest.approx(3.0, abs=0.1)


async def test_without_a_ring_the_wait_ends_in_time(leap):
    began = leap.monotonic()
    assert not await Pulse().heard(7.0)
    assert leap.monotonic() - began == pytest.approx(7.0, abs=0.1)
    assert not await Pulse().heard(-1.0)


async def test_a_wait_without_a_limit_lasts_until_the_ring(leap):
    pulse = Pulse()
    asyncio.get_running_loop().call_later(1e6, pulse.ring)
    assert await pulse.heard()


async def test_a_wait_that_is_cancelled_loses_no_ring(leap):
    pulse = Pulse()
    waiting = asyncio.create_task(pulse.heard(60.0))
    await asyncio.sleep(1.0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    pulse.ring()
    assert await pulse.heard(1.0)


async def test_a_gate_lets_all_through_that_wait_and_none_that_come_later(leap):
    gate = Gate()
    waiting = [asyncio.create_task(gate.wait()) for _ in range(5)]
    await asyncio.sleep(0)
    gate.let_all()
    late = asyncio.create_task(gate.wait())
    await asyncio.sleep(1.0)
    assert all(task.done() for task in waiting)
    assert not late.done()
    gate.let_all()
    await late


async def test_a_waiter_that_left_hinders_nobody(leap):
    gate = Gate()
    gone, stays = asyncio.create_task(gate.wait()), asyncio.create_task(gate.wait())
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    gate.let_all()
    await stays
