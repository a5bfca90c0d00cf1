"""Time limits that count only the time in which Viva runs, not that of a paused process or a blocked event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextvars import Context
from weakref import ref

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


class WatchedTime:
    """Calls a function when some time is up. As long as more than a step is left, all of a loop share one timer."""

    __slots__ = ("_left", "_shared", "_timer", "_up")

    def __init__(self, left: TimeLeft, up: Callable[[], object]) -> None:
        """Args:
        left: The time.
        up: Called once when it is up, unless `stop` was called.
        """
        self._left, self._up = left, up
        self._shared: _SharedTimer | None = None
        self._timer: asyncio.TimerHandle | None = None
        loop = asyncio.get_running_loop()
        if left.left > STEP_SECONDS:
            self._shared = _shared_timer_of(loop)
            self._shared.add(self)
        else:
            self._timer = loop.call_later(left.step, self.look)

    def look(self) -> None:
        """Read the clock."""
        if self._left.over():
            self.stop()
            self._up()
        elif self._left.left <= STEP_SECONDS:
            self.stop()
            self._timer = asyncio.get_running_loop().call_later(self._left.step, self.look)

    def stop(self) -> None:
        """Watch the time no longer."""
        if self._timer is not None:
            self._timer.cancel()
        elif self._shared is not None:
            self._shared.remove(self)


class _SharedTimer:
    """Has each of its times read at least once in a step. A timer for each wait would cost as much as the wait."""

    __slots__ = ("_context", "_loop", "_runs", "_times")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._times: dict[WatchedTime, None] = {}
        self._runs = False
        # An empty context: that of a run would live on with the timer, and its agent with it.
        self._context = Context()

    def belongs_to(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether this is the timer of a loop."""
        return self._loop() is loop

    def add(self, time_: WatchedTime) -> None:
        """Read a time from now on."""
        self._times[time_] = None
        if not self._runs:
            self._start()

    def remove(self, time_: WatchedTime) -> None:
        """Read a time no longer."""
        self._times.pop(time_, None)

    def _start(self) -> None:
        loop = self._loop()
        self._runs = loop is not None
        if loop is not None:
            loop.call_later(STEP_SECONDS, self._read, context=self._context)

    def _read(self) -> None:
        self._runs = False
        for time_ in tuple(self._times):
            time_.look()
        if self._times:
            self._start()


class _PerThread(threading.local):
    """What belongs to the event loop of a thread: while one loop stands still, those of other threads go on."""

    timer: _SharedTimer | None = None
    stood_still = 0.0
    """How long it stood still in all, in seconds."""
    noted = 0.0
    """When that was last noted, by the monotonic clock; 0 if never."""


_per_thread = _PerThread()


def _shared_timer_of(loop: asyncio.AbstractEventLoop) -> _SharedTimer:
    timer = _per_thread.timer
    if timer is None or not timer.belongs_to(loop):
        timer = _per_thread.timer = _SharedTimer(loop)
    return timer


@contextlib.asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[asyncio.Timeout]:
    """Limit the time of what is awaited inside, as `asyncio.timeout` does; see `expired()` after a TimeoutError.

    Raises:
        TimeoutError: the time is up.
    """
    loop = asyncio.get_running_loop()
    left = TimeLeft(seconds)
    async with asyncio.timeout(None) as limit:
        watched = WatchedTime(left, lambda: limit.reschedule(loop.time()))
        try:
            yield limit
        finally:
            watched.stop()
            left.over()  # a standstill is noted even if the time was sufficient


def note_standstill(seconds: float) -> None:
    """Note that this thread's event loop has just stood still for some time. Several observers may note the same."""
    now = time.monotonic()
    new = min(seconds, now - _per_thread.noted) if _per_thread.noted else seconds
    _per_thread.stood_still += max(0.0, new)
    _per_thread.noted = now


def running_time() -> float:
    """Return the seconds of a clock like `time.monotonic` that stands still while this thread's event loop does."""
    return time.monotonic() - _per_thread.stood_still
