"""What the three backends share: sessions, servers kept ready, and their ends. Each starts servers in its own ways."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from viva.sandbox.archive import pack
from viva.sandbox.connection import ServerConnection
from viva.sandbox.interface import (
    DaemonGone,
    Fresh,
    Isolation,
    RunView,
    SandboxError,
    SandboxLost,
    SandboxSession,
    WorkspaceUnreadable,
)
from viva.sandbox.limits import SandboxLimits
from viva.sandbox.pool import ServerPool
from viva.sandbox.session import ServerSession

MAX_FAILURES = 3
"""How many keepers in a row may fail to open a run, before runs have containers of their own for good."""
MAX_DISTRUSTED = 1000


class EnvironmentGone(SandboxError):
    """The image or folder that servers start from was removed; it can be rebuilt."""


class ServerSandbox:
    """See `Sandbox`. A backend adds `environment`, `start_keeper` and `start_once`.

    `concurrency` is the maximum number of servers that are kept ready. `limits` are the largest limits of any check,
    and the default: the isolation of a server is made to hold them. `workspace_mb` is the size of the largest
    workspace that is taken in; the server keeps it in memory. `allow_source` lets dependencies be source packages and
    addresses, whose build runs a program of their author's. `fresh` says what each run has for itself: with `world`
    what a keeper makes for it, which takes milliseconds; with `container` a container (a bwrap, an interpreter).
    """

    name: str
    isolates: bool
    weaknesses: tuple[str, ...]

    def __init__(
        self,
        *,
        concurrency: int = 1,
        limits: SandboxLimits | None = None,
        workspace_mb: int = 128,
        allow_source: bool = False,
        fresh: Fresh = "world",
    ) -> None:
        self.concurrency = concurrency
        self.allow_source = allow_source
        self.limits = limits or SandboxLimits()
        self.workspace_mb = workspace_mb
        self.fresh: Fresh = fresh
        self.fallback = ""
        """Why runs have a container of their own though worlds were asked for; empty while they have worlds."""
        self._pool = ServerPool(self.start, concurrency)
        self._sessions: set[ServerSession] = set()
        self._proven: set[str] = set()
        self._failures = 0
        self._distrusted: OrderedDict[str, str] = OrderedDict()
        """Runs whose world was lost, and why: a world that fails in any way must not cost an agent its points."""

    async def environment(self, dependencies: Sequence[str]) -> str:
        """Make sure that there is an environment with these packages, and return its name for `start`."""
        raise NotImplementedError

    async def start_keeper(self, environment: str, run_id: str) -> ServerConnection:
        """Start a keeper; if it cannot create worlds, its hello message says why.

        Raises:
            SandboxError: it did not come up.
        """
        raise NotImplementedError

    async def start_once(self, environment: str, run_id: str, note: str) -> ServerConnection:
        """Start a server for one run in this environment. `note` says why, where that was not asked for."""
        raise NotImplementedError

    def options_of_a_run(self, connection: ServerConnection) -> dict[str, Any]:
        """Return the options of the next run's server that its keeper does not have."""
        return {}

    async def start(self, environment: str, run_id: str) -> ServerConnection:
        """Start a keeper, or a server for one run where that was asked for, or where no keeper can make worlds."""
        if self.fresh == "container" or self.fallback:
            return await self.start_once(environment, run_id, self.fallback)
        try:
            connection = await self.start_keeper(environment, run_id)
        except (EnvironmentGone, DaemonGone):
            raise
        except SandboxError as error:
            why = str(error)
        else:
            if connection.keeps:
                return connection
            why = str(connection.hello.get("why") or "its keeper did not say why")
            await connection.pipe.close()
        why = f"worlds are not available here: {why}"
        server = await self.start_once(environment, run_id, why)
        self.fallback = why  # not before the other way has worked: what fails both has another cause
        return server

    async def try_out(self) -> Isolation:
        """Start a server, and return what separates a run here from the host and from other runs.

        Raises:
            SandboxError: no server could be started.
        """
        connection = await self.start(await self.environment(()), "try-out")
        await connection.pipe.close()
        return connection.isolation

    async def provide(self, dependencies: Sequence[str]) -> None:
        await self.environment(dependencies)

    async def prepare(self, dependencies: Sequence[str] = (), *, run_id: str = "") -> None:
        try:
            await self._expect(await self.environment(dependencies), run_id)
        except EnvironmentGone:
            await self._expect(await self.environment(dependencies), run_id)

    async def _expect(self, environment: str, run_id: str) -> None:
        starting = self._pool.expect(environment, run_id)
        if starting is not None and environment not in self._proven:
            # Wait for the first of its kind: what cannot work should be reported before the conversation.
            await asyncio.shield(starting)
            self._proven.add(environment)

    async def open(
        self,
        workspace: Path | None,
        view: RunView,
        *,
        dependencies: Sequence[str] = (),
        run_id: str = "",
    ) -> SandboxSession:
        payload, fault = await asyncio.to_thread(self._pack, workspace, view)
        environment = await self.environment(dependencies)
        if why := self._distrusted.get(run_id):
            return await self._open_alone(dependencies, payload, fault, run_id, why)
        connection: ServerConnection | None = None
        try:
            connection = await self._pool.take(environment, run_id)
            session = await self._open_on(connection, environment, payload, fault, run_id)
        except (SandboxLost, EnvironmentGone) as error:
            # It died while it was kept ready, or cannot make a world any more, or its environment was removed.
            # A second loss is reported.
            if connection is not None and connection.keeps:
                why = f"a world could not be opened: {error}"
                session = await self._open_alone(dependencies, payload, fault, run_id, why)
                self._count_failure(why)  # not before the other way has worked: what fails both has another cause
                return session
            environment = await self.environment(dependencies)
            connection = await self._pool.fresh(environment, run_id)
            return await self._open_on(connection, environment, payload, fault, run_id)
        self._failures = 0
        return session

    async def _open_alone(
        self, dependencies: Sequence[str], payload: bytes, fault: str, run_id: str, why: str
    ) -> SandboxSession:
        """Open a session in a container of its own, and say why in its record."""
        try:
            environment = await self.environment(dependencies)
            connection = await self.start_once(environment, run_id, why)
        except EnvironmentGone:
            environment = await self.environment(dependencies)
            connection = await self.start_once(environment, run_id, why)
        return await self._open_on(connection, environment, payload, fault, run_id)

    def _count_failure(self, why: str) -> None:
        """Stop using worlds if several in a row have failed."""
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            self.fallback = self.fallback or why

    def _pack(self, workspace: Path | None, view: RunView) -> tuple[bytes, str]:
        """Return the payload, and why it holds an empty workspace instead of the agent's."""
        try:
            return pack(workspace, view, max_mb=self.workspace_mb), ""
        except WorkspaceUnreadable as error:
            return pack(None, view, max_mb=self.workspace_mb), str(error)

    async def _open_on(
        self, connection: ServerConnection, environment: str, payload: bytes, fault: str, run_id: str
    ) -> SandboxSession:
        session: ServerSession

        async def closed() -> None:
            self._sessions.discard(session)
            if connection.keeps and session.lost and run_id and loaded:
                self._distrusted[run_id] = f"a world was lost: {session.lost}"
                while len(self._distrusted) > MAX_DISTRUSTED:
                    self._distrusted.popitem(last=False)
            self._pool.give_back(connection, environment, sound=loaded and session.is_sound)

        loaded = False
        session = ServerSession(connection, self.limits, closed, workspace_fault=fault)
        self._sessions.add(session)
        await session.load(payload, self.options_of_a_run(connection))
        loaded = True
        return session

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            await asyncio.gather(*(session.close() for session in list(self._sessions)), return_exceptions=True)
            await self._pool.close()
