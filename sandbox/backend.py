"""What the three backends share: rooms, servers kept ready, and their ends. How a server starts is theirs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from sandbox.archive import pack
from sandbox.interface import Room, RunView, SandboxError, SandboxLimits, SandboxLost
from sandbox.pool import Pool
from sandbox.session import ServerRoom, Session


class EnvironmentGone(SandboxError):
    """What a server was to start from is not there any more: somebody tidied up. It can be made again."""


class ServerSandbox:
    """See `Sandbox`. A backend adds `environment` and `start`.

    `concurrency` is how many servers are kept ready at most, `limits` the default and the most of any check,
    `workspace_mb` the largest workspace taken in: the server keeps it in memory.
    """

    name: str
    isolates: bool
    weaknesses: tuple[str, ...]

    def __init__(self, *, concurrency: int = 1, limits: SandboxLimits | None = None, workspace_mb: int = 128) -> None:
        self.limits = limits or SandboxLimits()
        self.workspace_mb = workspace_mb
        self._pool = Pool(self.start, concurrency)
        self._rooms: set[ServerRoom] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._proven: set[str] = set()

    async def environment(self, dependencies: Sequence[str]) -> str:
        """Make sure that there is somewhere to start with these packages; its name for `start`."""
        raise NotImplementedError

    async def start(self, environment: str, run_id: str) -> Session:
        """Bring up a server."""
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
            # The first of its kind is waited for: what cannot work should be said before the conversation.
            await asyncio.shield(starting)
            self._proven.add(environment)

    async def open(
        self,
        workspace: Path | None,
        view: RunView,
        *,
        dependencies: Sequence[str] = (),
        run_id: str = "",
    ) -> Room:
        payload = await asyncio.to_thread(pack, workspace, view, most_mb=self.workspace_mb)
        environment = await self.environment(dependencies)
        try:
            return await self._furnish(await self._pool.take(environment, run_id), payload)
        except (SandboxLost, EnvironmentGone):
            # It died while it waited, or somebody tidied up; a second loss is for the caller to know.
            environment = await self.environment(dependencies)
            return await self._furnish(await self._pool.fresh(environment, run_id), payload)

    async def _furnish(self, session: Session, payload: bytes) -> Room:
        room: ServerRoom

        async def closed() -> None:
            self._rooms.discard(room)
            # Taking a server down takes its time; nobody has to wait for it.
            task = asyncio.create_task(session.pipe.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

        room = ServerRoom(session, self.limits, closed)
        self._rooms.add(room)
        await room.load(payload)
        return room

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            await asyncio.gather(*(room.close() for room in list(self._rooms)), return_exceptions=True)
            await self._pool.close()
            if self._ending:
                await asyncio.wait(set(self._ending), timeout=15)
