"""Keeps started servers ready, so that the first check of a run waits for nothing. Each is given away once."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from sandbox.session import Session

_Waiting = asyncio.Future[Session]


class Pool:
    """`start(environment, run_id)` makes a server; at most `size` wait here, over all environments."""

    def __init__(self, start: Callable[[str, str], Awaitable[Session]], size: int) -> None:
        self._start = start
        self._size = max(1, size)
        self._waiting: OrderedDict[_Waiting, tuple[str, str]] = OrderedDict()
        self._endings: set[asyncio.Task[None]] = set()

    def expect(self, environment: str, run_id: str = "") -> asyncio.Future[Session]:
        """One more run will come for a server like this: begin to start it, or name one that waits already."""
        for one in [one for one in self._waiting if one.done() and (one.cancelled() or one.exception())]:
            del self._waiting[one]
        if len(self._waiting) >= self._size:
            other = next((one for one, (named, _) in self._waiting.items() if named != environment), None)
            if other is None:
                return next(iter(self._waiting))  # as many as may wait are waiting; that run will start its own
            self._drop(other)
        starting = asyncio.ensure_future(self._start(environment, run_id))
        self._waiting[starting] = (environment, run_id)
        return starting

    async def take(self, environment: str, run_id: str = "") -> Session:
        """A server of this environment, ready or started now: the one meant for this run, else any.

        Raises:
            SandboxError: none can be had.
        """
        fitting = [one for one, (named, _) in self._waiting.items() if named == environment]
        fitting.sort(key=lambda one: self._waiting[one][1] != run_id)
        for one in fitting:
            if self._waiting.pop(one, None) is None:
                continue  # given away while we waited for another
            with contextlib.suppress(Exception):  # what went wrong earlier may go right now
                session = await self._wait(one)
                if await self._is_alive(session):
                    return session
        return await self.fresh(environment, run_id)

    async def fresh(self, environment: str, run_id: str = "") -> Session:
        """A server started now. Whoever is cancelled while it starts leaves none behind."""
        return await self._wait(asyncio.ensure_future(self._start(environment, run_id)))

    async def _is_alive(self, session: Session) -> bool:
        alive = False
        try:
            alive = await session.alive()
        finally:
            if not alive:
                self._later(session.pipe.close())  # nobody has to wait for the end of a dead one
        return alive

    async def _wait(self, one: _Waiting) -> Session:
        try:
            return await asyncio.shield(one)
        except asyncio.CancelledError:
            self._end(one)
            raise

    def _drop(self, one: _Waiting) -> None:
        del self._waiting[one]
        self._end(one)

    def _end(self, one: _Waiting) -> None:
        self._later(_close(one))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        ending = asyncio.create_task(work)
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def close(self) -> None:
        for one in list(self._waiting):
            self._drop(one)
        if self._endings:
            await asyncio.wait(set(self._endings), timeout=15)


async def _close(one: _Waiting) -> None:
    with contextlib.suppress(Exception):
        session = await one
        await session.pipe.close()
