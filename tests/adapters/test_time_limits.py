"""A limit counts the time in which Viva ran, and ends what it should."""

from __future__ import annotations

import asyncio
import time

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
