"""A limit of a call to a model: no timer if the answer is there, else all that `asyncio.timeout` promises."""

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

from viva.models.in_time import in_time


async def test_work_that_never_waits_needs_no_timer() -> None:
    loop: Any = asyncio.get_running_loop()

    async def answer() -> int:
        return len(loop._scheduled)

    timers = len(loop._scheduled)
    assert await in_time(answer(), 60) == timers


async def test_work_that_waits_is_the_callers_own_and_has_its_result() -> None:
    async def answer() -> list[Any]:
        before = asyncio.current_task()
        found = [await asyncio.sleep(0.001, "one"), await asyncio.sleep(0, "two")]
        async with asyncio.timeout(5):
            await asyncio.sleep(0.001)
        return [*found, asyncio.current_task() is before]

    assert await in_time(answer(), 60) == ["one", "two", True]


@pytest.mark.parametrize("waits", [False, True])
async def test_an_error_of_the_work_is_passed_on(waits: bool) -> None:
    async def fail() -> None:
        if waits:
            await asyncio.sleep(0)
        raise ValueError("own")

    with pytest.raises(ValueError, match="own"):
        await in_time(fail(), 60)


async def test_the_work_is_cancelled_when_the_time_is_up() -> None:
    seen: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            seen.append("cancelled")
            await asyncio.sleep(0)
            seen.append("released")
            raise

    with pytest.raises(TimeoutError):
        await in_time(hang(), 0.01)
    assert seen == ["cancelled", "released"]


async def test_a_cancelled_caller_is_cancelled_and_the_work_may_go_on() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return "kept"
        raise AssertionError

    task = asyncio.ensure_future(in_time(stubborn(), 60))
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "kept"  # as without a limit: it is the work that decides


async def test_work_of_a_kind_of_its_own_is_awaited() -> None:
    class Compiled:
        """What awaits, and is no coroutine of Python's."""

        def __await__(self) -> Generator[Any, Any, str]:
            yield from asyncio.sleep(0).__await__()
            return "here"

    work: Any = Compiled()
    assert await in_time(work, 60) == "here"
