"""Time limits that count the time in which Viva ran: a paused process or a blocked loop uses up nobody's limit."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

STEP_SECONDS = 1.0
"""The longest that is waited before the clock is read again."""
TOLERANCE_SECONDS = 0.25
"""How late a timer may fire before it counts as a standstill."""
GRACE_SECONDS = 0.5
"""What is left after a standstill at the least: what came meanwhile is read before the time is up."""


class TimeLeft:
    """Counts down, reading the clock at least every `STEP_SECONDS`; what a reading is late by is not counted."""

    __slots__ = ("_read", "left", "step")

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        self.step = min(STEP_SECONDS, max(0.0, seconds))
        """Seconds until it must be read again."""
        self._read = time.monotonic()

    def over(self) -> bool:
        """Read the clock. Whether the time is up."""
        now = time.monotonic()
        passed, self._read = now - self._read, now
        self.left -= min(passed, self.step + TOLERANCE_SECONDS)
        if passed > self.step + TOLERANCE_SECONDS:
            note_standstill(passed - self.step)
            self.left = max(self.left, GRACE_SECONDS)
        self.step = min(STEP_SECONDS, max(0.0, self.left))
        return self.left <= 0


@contextlib.asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[asyncio.Timeout]:
    """Hold what is awaited inside to a limit, as `asyncio.timeout` does; ask `expired()` whose a TimeoutError is.

    Raises:
        TimeoutError: the time is up.
    """
    loop = asyncio.get_running_loop()
    left = TimeLeft(seconds)
    handle: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal handle
        if left.over():
            limit.reschedule(loop.time())
        else:
            handle = loop.call_later(left.step, look)

    async with asyncio.timeout(None) as limit:
        handle = loop.call_later(left.step, look)
        try:
            yield limit
        finally:
            handle.cancel()
            left.over()  # a standstill is noted also where the time was enough


_stood_still = 0.0
_noted = 0.0


def note_standstill(seconds: float) -> None:
    """Note that the loop has just stood still for so long. Who else saw the same standstill may say so, too."""
    global _stood_still, _noted
    now = time.monotonic()
    new = min(seconds, now - _noted) if _noted else seconds
    _stood_still, _noted = _stood_still + max(0.0, new), now


def running_time() -> float:
    """A clock like `time.monotonic` that stands still while Viva does."""
    return time.monotonic() - _stood_still
