"""A limit counts the time in which Viva ran, and ends what it should."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from contextvars import ContextVar
from typing import Any

import pytest

from viva.adapters.calls import TimeoutLeft, within
from viva.adapters.time_limits import running_time, time_limit


async def late_reply(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "here"


@pytest.mark.parametrize("leave", [False, True])
async def test_a_standstill_uses_up_nothing(leave: bool) -> None:
    asyncio.get_running_loop().call_later(0.1, time.sleep, 2.5)
    before, clock = running_time(), time.monotonic()
    assert await within(2.0, late_reply(0.7), leave=leave) == "here"
    assert time.monotonic() - clock > 2.4
    assert running_time() - before < 2.2


async def test_a_standstill_of_another_threads_loop_stops_no_clock_but_its_own() -> None:
    async def blocked() -> float:
        before = running_time()
        async with time_limit(5):
            time.sleep(1.6)  # noqa: ASYNC251
        return running_time() - before

    before, began = running_time(), time.monotonic()
    there = await asyncio.to_thread(asyncio.run, blocked())
    passed = time.monotonic() - began
    assert passed > 1.6
    assert running_time() - before == pytest.approx(passed, abs=0.2)
    assert there < 1.3


@pytest.mark.parametrize("leave", [False, True])
async def test_what_came_during_a_standstill_at_the_very_end_is_read(leave: bool) -> None:
    asyncio.get_running_loop().call_later(0.15, time.sleep, 1.0)
    assert await within(0.2, late_reply(0.19), leave=leave) == "here"


@pytest.mark.parametrize("leave", [False, True])
@pytest.mark.parametrize("seconds", [0.0, 0.05, 1.2])
async def test_the_time_is_up_when_it_is_up(leave: bool, seconds: float) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutLeft):
        await within(seconds, late_reply(30), leave=leave)
    assert seconds <= time.monotonic() - began + 0.01 < 30


async def test_a_timeout_of_ones_own_is_told_from_the_limits() -> None:
    with pytest.raises(TimeoutError):
        async with time_limit(5) as limit:
            raise TimeoutError
    assert not limit.expired()
    with pytest.raises(TimeoutError):
        async with time_limit(0.05) as limit:
            await asyncio.sleep(5)
    assert limit.expired()


async def test_waits_for_long_limits_share_one_timer() -> None:
    loop: Any = asyncio.get_running_loop()
    known = len(loop._scheduled)
    waits = [asyncio.ensure_future(within(seconds, loop.create_future())) for seconds in range(60, 110)]
    await asyncio.sleep(0)
    assert len(loop._scheduled) - known <= 1
    for wait in waits:
        wait.cancel()
    assert all(
        isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*waits, return_exceptions=True)
    )


async def test_limits_of_all_lengths_end_in_their_order() -> None:
    ended: list[float] = []

    async def wait(seconds: float) -> None:
        with pytest.raises(TimeoutLeft):
            await within(seconds, asyncio.get_running_loop().create_future())
        ended.append(seconds)

    await asyncio.gather(*map(wait, (1.3, 0.1, 60.0 / 50, 1.1, 0.5)))
    assert ended == [0.1, 0.5, 1.1, 1.2, 1.3]


async def test_the_shared_timer_keeps_nothing_of_a_run_alive() -> None:
    class Part:
        """What a run has in its context."""

    current: ContextVar[Part] = ContextVar("current")

    async def run() -> weakref.ref[Part]:
        part = Part()
        current.set(part)
        await within(60, asyncio.ensure_future(asyncio.sleep(0)))
        return weakref.ref(part)

    found = await asyncio.ensure_future(run())
    await asyncio.sleep(0)
    gc.collect()
    assert found() is None
