"""Keeps started servers ready, so that the first check of a run waits for nothing. Each is given away once."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from sandbox.room import Session


class Pool:
    """`start(image)` makes a server; at most `size` wait here, over all images."""

    def __init__(self, start: Callable[[str], Awaitable[Session]], size: int) -> None:
        self._start = start
        self._size = max(1, size)
        self._waiting: OrderedDict[asyncio.Task[Session], str] = OrderedDict()
        self._endings: set[asyncio.Task[None]] = set()

    def expect(self, image: str) -> None:
        """One more run will come for a server of this image: begin to start it."""
        if len(self._waiting) >= self._size:
            if all(waiting == image for waiting in self._waiting.values()):
                return  # as many as may wait are waiting; that run will start its own
            oldest = next(task for task, waiting in self._waiting.items() if waiting != image)
            self._drop(oldest)
        self._waiting[asyncio.ensure_future(self._start(image))] = image

    async def take(self, image: str) -> Session:
        """A server of this image, ready or started now.

        Raises:
            SandboxError: none can be had.
        """
        for task, waiting in list(self._waiting.items()):
            if waiting != image:
                continue
            del self._waiting[task]
            with contextlib.suppress(Exception):  # what went wrong earlier may go right now
                session = await asyncio.shield(task)
                if await session.alive():
                    return session
                await session.pipe.close()
        return await self._start(image)

    def _drop(self, task: asyncio.Task[Session]) -> None:
        del self._waiting[task]
        ending = asyncio.create_task(_end(task))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def close(self) -> None:
        for task in list(self._waiting):
            self._drop(task)
        if self._endings:
            await asyncio.wait(self._endings, timeout=30)


async def _end(task: asyncio.Task[Session]) -> None:
    with contextlib.suppress(Exception):
        session = await task
        await session.pipe.close()
