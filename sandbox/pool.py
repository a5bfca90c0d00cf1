"""Keeps started servers ready, so that the first check of a run need not wait.

A server is used by one run. A keeper serves one run after the other, and comes back when a run is over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from viva.sandbox.connection import ServerConnection
from viva.sandbox.interface import SandboxError

_Waiting = asyncio.Future[ServerConnection]


class ServerPool:
    """Servers and keepers that are kept ready: at most `size`, of all environments together. `start` makes one."""

    def __init__(self, start: Callable[[str, str], Awaitable[ServerConnection]], size: int) -> None:
        self._start = start
        self._size = max(1, size)
        self._waiting: OrderedDict[_Waiting, tuple[str, str]] = OrderedDict()
        self._lent: set[ServerConnection] = set()
        """Keepers that serve a run now."""
        self._endings: set[asyncio.Task[None]] = set()

    def expect(self, environment: str, run_id: str = "") -> _Waiting | None:
        """Prepare for one more run in this environment: start a server, or return one that is already kept ready.

        Returns None if as many as there may be are in use, so that one of them will come back for this run.
        """
        for one in [one for one in self._waiting if one.done() and (one.cancelled() or one.exception())]:
            del self._waiting[one]
        if len(self._waiting) + len(self._lent) >= self._size:
            other = next((one for one, (named, _) in self._waiting.items() if named != environment), None)
            if other is None:
                return next(iter(self._waiting), None)  # there are enough; that run will start its own
            self._drop(other)
        starting = asyncio.ensure_future(self._start(environment, run_id))
        self._waiting[starting] = (environment, run_id)
        return starting

    async def take(self, environment: str, run_id: str = "") -> ServerConnection:
        """Return a server for this environment; prefer a ready one, then the one started for this run.

        Raises:
            SandboxError: no server could be started.
        """
        fitting = [one for one, (named, _) in self._waiting.items() if named == environment]
        fitting.sort(key=lambda one: (not one.done(), self._waiting[one][1] != run_id))
        for one in fitting:
            if self._waiting.pop(one, None) is None:
                continue  # somebody took it while we waited for another
            with contextlib.suppress(Exception):  # what failed earlier may succeed now
                connection = await self._wait(one)
                if connection.keeps or await self._is_alive(connection):  # a keeper says so when it opens the run
                    return self._lend(connection)
        return await self.fresh(environment, run_id)

    async def fresh(self, environment: str, run_id: str = "") -> ServerConnection:
        """Start a server now. A caller that is cancelled meanwhile leaves none behind."""
        return self._lend(await self._wait(asyncio.ensure_future(self._start(environment, run_id))))

    def _lend(self, connection: ServerConnection) -> ServerConnection:
        if connection.keeps:
            self._lent.add(connection)
        return connection

    def give_back(self, connection: ServerConnection, environment: str, *, sound: bool) -> None:
        """Return a run's server to the pool. It serves the next run if it is a keeper in good order."""
        self._lent.discard(connection)
        if not (connection.keeps and sound) or len(self._waiting) + len(self._lent) >= self._size:
            self._later(connection.pipe.close())  # nobody has to wait until it is gone
            return
        returning = asyncio.ensure_future(self._returned(connection))
        self._waiting[returning] = (environment, "")
        returning.add_done_callback(self._forget_failed)

    async def _returned(self, connection: ServerConnection) -> ServerConnection:
        """Wait until a keeper has seen the end of its run."""
        fit = False
        try:
            fit = await connection.end()
        finally:
            if not fit:
                self._later(connection.pipe.close())
        if not fit:
            raise SandboxError("the container was hit by one of its own limits")
        return connection

    def _forget_failed(self, one: _Waiting) -> None:
        if one.cancelled() or one.exception() is not None:
            self._waiting.pop(one, None)

    async def _is_alive(self, connection: ServerConnection) -> bool:
        alive = False
        try:
            alive = await connection.alive()
        finally:
            if not alive:
                self._later(connection.pipe.close())  # nobody has to wait for the end of a dead one
        return alive

    async def _wait(self, one: _Waiting) -> ServerConnection:
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
        connection = await one
        await connection.pipe.close()
