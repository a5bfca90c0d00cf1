"""A time limit that costs nothing where an answer is there at once, as kept answers are."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


async def in_time(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Await some work no longer than a time, as `asyncio.timeout` does; a timer is made when the work first waits.

    Args:
        work: A coroutine that was not started.
        seconds: The limit, from now on.

    Raises:
        TimeoutError: the time is up.
    """
    if not isinstance(work, types.CoroutineType):  # such as that of a compiled function
        async with asyncio.timeout(seconds):
            return await work
    until = asyncio.get_running_loop().time() + seconds
    try:
        waits_for = work.send(None)
    except StopIteration as end:
        found: T = end.value
        return found
    async with asyncio.timeout_at(until):
        return await _continued(work, waits_for)


@types.coroutine
def _continued(work: types.CoroutineType[Any, Any, T], waits_for: Any) -> Generator[Any, Any, T]:
    """Go on with work that waits for something, as if it had been awaited from its beginning."""
    try:
        while True:
            try:
                heard = yield waits_for
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:
                waits_for = work.throw(error)
            else:
                waits_for = work.send(heard)
    except StopIteration as end:
        found: T = end.value
        return found
