"""Detects an agent that blocks the event loop, which stops every conversation of the process, and ends that call.

The watch runs on its own thread. It sends a signal to the main thread, whose handler raises an exception in the agent's
code, wherever that waits or computes. Only C code that never returns to Python cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from viva.adapters.calls import IN_AGENT, LoopBlocked
from viva.adapters.inside.raised import is_library
from viva.adapters.time_limits import TOLERANCE_SECONDS, note_standstill
from viva.records.text import one_line

BEAT_SECONDS = 1.0
TRIES = 3
"""How often the agent's code is interrupted, once per heartbeat, before the failure is reported to the user."""
SIGNAL = signal.SIGURG if sys.platform != "win32" else signal.SIGTERM
"""A signal that is ignored by default, so that a late one does no harm."""


class LoopWatch:
    """Watches the event loop. Use it as an async context manager around the suite."""

    def __init__(self, note: Callable[[str], None], seconds: float) -> None:
        """Args:
        note: Called once, with a message for the user.
        seconds: How long the loop may be blocked: the maximum wait for a reply.
        """
        self._note = note
        self._seconds = seconds
        self._beat = time.monotonic()
        self._over = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.get_ident()
        self._before: Any = None
        self._can_interrupt = False
        self._wanted: float | None = None
        """The last heartbeat before the standstill that the signal should end."""
        self._told = False
        self._blocks: asyncio.Task[Any] | None = None
        """The task that had its turn when the loop was last looked at."""
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> LoopWatch:
        self._beat = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._live())
        if threading.current_thread() is threading.main_thread() and sys.platform != "win32":
            self._before = signal.signal(SIGNAL, self._interrupt)
            self._can_interrupt = True
        threading.Thread(target=self._look, name="loop-watch", daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._can_interrupt:
            signal.signal(SIGNAL, signal.SIG_DFL if self._before is None else self._before)
        if self._task is not None:
            self._task.cancel()

    async def _live(self) -> None:
        while True:
            self._beat = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)
            late = time.monotonic() - self._beat - BEAT_SECONDS
            if late > TOLERANCE_SECONDS:
                note_standstill(late)

    def _look(self) -> None:
        beat, still, tries, looked = self._beat, 0.0, 0, time.monotonic()
        while not self._over.wait(BEAT_SECONDS):
            now = time.monotonic()
            if self._beat == beat:
                # If this thread stood still as well, the whole process did, and no agent is to blame.
                still += min(now - looked, BEAT_SECONDS + TOLERANCE_SECONDS)
            else:
                beat, still, tries = self._beat, 0.0, 0
            looked = now
            if still < self._seconds + BEAT_SECONDS:
                self._blocks = asyncio.current_task(self._loop)
                continue
            tries += 1
            if self._can_interrupt and tries <= TRIES:
                self._wanted = beat
                signal.pthread_kill(self._thread, SIGNAL)
            elif not self._told:
                self._told = True
                self._tell(still)

    def _tell(self, still: float) -> None:
        where = location_of(sys._current_frames().get(self._thread))
        self._note(
            f"no progress for {still:.0f} s: an async agent blocks the event loop with a synchronous call"
            f"{f' ({where})' if where else ''}. Press Ctrl-C to stop; --isolate runs such an agent in its own process."
        )

    def _interrupt(self, _: int, frame: FrameType | None) -> None:
        """Runs on the main thread, so that nothing changes between the check and the exception."""
        wanted, self._wanted = self._wanted, None
        if wanted is None or wanted != self._beat or not IN_AGENT.get():
            return
        if self._blocks is None or asyncio.current_task(self._loop) is not self._blocks:
            return  # another task runs: the blocking call has just ended
        where = location_of(frame)
        raise LoopBlocked(
            f"its code blocks the event loop with a synchronous call{f' ({where})' if where else ''}; make that "
            "call async, or run the agent in its own process with --isolate"
        )


def location_of(frame: FrameType | None) -> str | None:
    """Return file and line of the innermost code outside of libraries and Viva; None if there is none."""
    while frame is not None:
        file = frame.f_code.co_filename
        if os.path.isabs(file) and not is_library(file):
            here = os.path.join(os.getcwd(), "")
            return f"{one_line(file.removeprefix(here), 200)}:{frame.f_lineno}"
        frame = frame.f_back
    return None
