"""The node's end of the line to the driver: events go out in order, and some wait until the driver has dealt with them.

The driver asks for events (`take`) and acknowledges them when it asks the next time. A round is one of those that wait:
it is in the journal before the next one begins. So few events are ever on their way that memory stays flat.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable

from viva.suites.on_ray.border import Plain, require_plain

BATCH_BYTES = 8 * 1024 * 1024
"""Size at which a batch is sent, though more events are waiting; a single event may be larger."""


class EventChannel:
    """Carries the events of all jobs of one worker. It belongs to the event loop in which it is made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._turn = threading.Lock()
        self._events: deque[list[Plain]] = deque()
        self._number = 0
        self._ready = asyncio.Event()
        self._waiting: dict[int, asyncio.Future[Plain]] = {}

    def put(self, job: int, kind: str, *values: Plain, urgent: bool = True) -> int:
        """Append an event, and return its number. Any thread may call this.

        Args:
            job: The job that the event belongs to.
            kind: What happened.
            values: What the driver needs to know about it.
            urgent: Whether to send it now rather than with the next event that is.
        """
        require_plain(list(values), f"the event {kind}")
        with self._turn:
            self._number += 1
            number = self._number
            self._events.append([number, job, kind, *values])
        if urgent:
            if threading.get_ident() == self._thread:
                self._ready.set()
            else:
                self._loop.call_soon_threadsafe(self._ready.set)
        return number

    async def ask(self, job: int, kind: str, *values: Plain) -> Plain:
        """Append an event, wait until the driver has dealt with it, and return what it answered."""
        number = self.put(job, kind, *values, urgent=False)
        answer: asyncio.Future[Plain] = self._loop.create_future()
        self._waiting[number] = answer
        self._ready.set()
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def take(self, acknowledged: Iterable[list[Plain]]) -> list[list[Plain]]:
        """Note what the driver has dealt with, and return the next events as soon as there are any.

        Args:
            acknowledged: Number and answer of each event that the driver has dealt with since the last call.
        """
        for number, answer in acknowledged:
            waiting = self._waiting.pop(number, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
        await self._ready.wait()
        batch: list[list[Plain]] = []
        size = 0
        with self._turn:
            while self._events and size < BATCH_BYTES:
                batch.append(self._events.popleft())
                size += sum(len(value) for value in batch[-1] if isinstance(value, bytes))
            if not self._events:
                self._ready.clear()
        return batch
