"""What the three backends share: sessions, servers kept ready, and their ends. Each starts servers in its own way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from sandbox.archive import pack
from sandbox.connection import ServerConnection
from sandbox.interface import RunView, SandboxError, SandboxLost, SandboxSession, WorkspaceUnreadable
from sandbox.limits import SandboxLimits
from sandbox.pool import Pool
from sandbox.session import ServerSession


class EnvironmentGone(SandboxError):
    """What a server was to start from was removed by somebody. It can be made again."""


class ServerSandbox:
    """See `Sandbox`. A backend adds `environment` and `start`.

    `concurrency` is the maximum number of servers that are kept ready. `limits` are the largest limits of any check,
    and the default: the walls around a server are built to hold them. `workspace_mb` is the size of the largest
    workspace that is taken in; the server keeps it in memory. `allow_source` lets dependencies be source packages and
    addresses, whose build runs a program of their author's.
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
    ) -> None:
        self.allow_source = allow_source
        self.limits = limits or SandboxLimits()
        self.workspace_mb = workspace_mb
        self._pool = Pool(self.start, concurrency)
        self._sessions: set[ServerSession] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._proven: set[str] = set()

    async def environment(self, dependencies: Sequence[str]) -> str:
        """Make sure that there is an environment with these packages, and return its name for `start`."""
        raise NotImplementedError

    async def start(self, environment: str, run_id: str) -> ServerConnection:
        """Start a server in this environment."""
        raise NotImplementedError

    async def provide(self, dependencies: Sequence[str]) -> None:
        await self.environment(dependencies)

    async def prepare(self, dependencies: Sequence[str] = (), *, run_id: str = "") -> None:
        try:
            await self._expect(await self.environment(dependencies), run_id)
        except EnvironmentGone:
            await self._expect(await self.environment(dependencies), run_id)

    async def _expect(self, environment: str, run_id: str) -> None:
        starting = self._pool.expect(environment, run_id)
        if environment not in self._proven:
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
        try:
            return await self._open_on(await self._pool.take(environment, run_id), payload, fault)
        except (SandboxLost, EnvironmentGone):
            # The server died while it was kept ready, or its environment was removed. A second loss is reported.
            environment = await self.environment(dependencies)
            return await self._open_on(await self._pool.fresh(environment, run_id), payload, fault)

    def _pack(self, workspace: Path | None, view: RunView) -> tuple[bytes, str]:
        """Return the payload, and why it holds an empty workspace instead of the agent's."""
        try:
            return pack(workspace, view, max_mb=self.workspace_mb), ""
        except WorkspaceUnreadable as error:
            return pack(None, view, max_mb=self.workspace_mb), str(error)

    async def _open_on(self, connection: ServerConnection, payload: bytes, fault: str) -> SandboxSession:
        session: ServerSession

        async def closed() -> None:
            self._sessions.discard(session)
            # Nobody has to wait until the server is gone.
            task = asyncio.create_task(connection.pipe.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

        session = ServerSession(connection, self.limits, closed, workspace_fault=fault)
        self._sessions.add(session)
        await session.load(payload)
        return session

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            await asyncio.gather(*(session.close() for session in list(self._sessions)), return_exceptions=True)
            await self._pool.close()
            if self._ending:
                await asyncio.wait(set(self._ending), timeout=15)
