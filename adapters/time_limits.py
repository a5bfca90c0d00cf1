"""Time limits that count only the time in which Viva runs, not that of a paused process or a blocked event loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

STEP_SECONDS = 1.0
"""Maximum time between two readings of the clock."""
TOLERANCE_SECONDS = 0.25
"""Maximum delay of a timer; a longer one counts as a standstill."""
GRACE_SECONDS = 0.5
"""Minimum time that is left after a standstill, so that what arrived meanwhile is read before the time is up."""


class TimeLeft:
    """Counts down, reading the clock at least every `STEP_SECONDS`; the delay of a late reading is not counted."""

    __slots__ = ("_read", "left", "step")

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        self.step = min(STEP_SECONDS, max(0.0, seconds))
        """Seconds until the clock must be read again."""
        self._read = time.monotonic()

    def over(self) -> bool:
        """Read the clock, and return whether the time is up."""
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
    """Limit the time of what is awaited inside, as `asyncio.timeout` does; see `expired()` after a TimeoutError.

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
            left.over()  # a standstill is noted even if the time was sufficient


_stood_still = 0.0
_noted = 0.0


def note_standstill(seconds: float) -> None:
    """Note that the event loop has just stood still for this time. Several observers may note the same standstill."""
    global _stood_still, _noted
    now = time.monotonic()
    new = min(seconds, now - _noted) if _noted else seconds
    _stood_still, _noted = _stood_still + max(0.0, new), now


def running_time() -> float:
    """Return the seconds of a clock like `time.monotonic` that stands still while Viva does."""
    return time.monotonic() - _stood_still
