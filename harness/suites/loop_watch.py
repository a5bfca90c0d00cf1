"""Notices when an agent blocks the event loop, which stops every conversation of the process, and says so."""

from __future__ import annotations

import asyncio
import threading
import time
from types import TracebackType

from rich.console import Console
from rich.text import Text

BEAT_SECONDS = 1.0


class LoopWatch:
    """Use as an async context manager around the suite."""

    def __init__(self, console: Console, seconds: float) -> None:
        """Args:
        console: Where it is said, once.
        seconds: How long the loop may stand still; more than a reply may take.
        """
        self._console = console
        self._seconds = seconds
        self._beat = time.monotonic()
        self._over = threading.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LoopWatch:
        self._task = asyncio.create_task(self._live())
        threading.Thread(target=self._look, name="loop-watch", daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._task is not None:
            self._task.cancel()

    async def _live(self) -> None:
        while True:
            self._beat = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)

    def _look(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            still = time.monotonic() - self._beat
            if still > self._seconds:
                words = (
                    f"note: nothing has moved for {still:.0f} s: an async agent blocks the event loop with a call that "
                    "is not async. Ctrl-C twice ends this; --isolate keeps such an agent apart."
                )
                self._console.print(Text(words, style="yellow"), soft_wrap=True)
                return
