"""Starts the MCP servers of a case for one run, says how the agent reaches them, and ends them."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.adapters.environment import EnvironmentLog
from viva.adapters.mcp_servers.gateway import HOST, Gateway, the_gateway
from viva.adapters.mcp_servers.upstream import Upstream, missing_variables
from viva.cases import Case
from viva.errors import SetupError
from viva.records.text import counted

BRIDGE = str(Path(__file__).with_name("bridge.py"))
MOST_SESSIONS = 200
"""Maximum number of clients of one server in one run at the same time."""
INSTALL = "the case owns MCP servers, which require the package 'mcp': pip install 'vivavoce[mcp]'"


@dataclass(slots=True)
class OfferedServers:
    """What one run's agent is offered."""

    config: Sequence[Mapping[str, Any]] = ()
    """For each server its `name`, its `url`, and `command` and `args` of a program that connects to it over stdio."""
    tools: Sequence[Mapping[str, Any]] = ()
    """The definitions of all tools."""
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The names of each server's tools."""
    notes: list[str] = field(default_factory=list)
    """What a reader of the run should know, complete when the servers have ended."""
    relays: Sequence[Any] = ()

    def end(self) -> None:
        """Refuse calls from now on: the conversation has ended, and what is done now would be in no round."""
        for relay in self.relays:
            relay.over = True


def check_servers(case: Case) -> None:
    """Check what is known without starting the MCP servers of a case.

    Raises:
        SetupError: a package, a command or an environment variable is missing.
    """
    if not case.mcp:
        return
    try:
        import mcp.server.lowlevel  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise SetupError(f"{INSTALL} ({error})") from error
    for server in case.mcp:
        where = f"the MCP server {server.name!r} of the case {case.name!r}"
        if missing := missing_variables(server):
            raise SetupError(f"{where} needs environment variables that are not set: {', '.join(missing)}")
        if (command := server.missing_command) is not None:
            raise SetupError(f"{where} needs the command {command!r}, which is not on PATH")


def servers_of(case: Case, log: EnvironmentLog) -> AbstractAsyncContextManager[OfferedServers]:
    """Start the MCP servers of a case; they and all their processes end with the context.

    Args:
        case: The case. Permission to run what it brings was checked before.
        log: Takes the calls.

    Raises:
        SetupError: a server did not start; nothing has been said to the agent.
    """
    return _servers_of(case, log) if case.mcp else contextlib.nullcontext(OfferedServers())


@asynccontextmanager
async def _servers_of(case: Case, log: EnvironmentLog) -> AsyncIterator[OfferedServers]:
    check_servers(case)
    gateway = await asyncio.to_thread(the_gateway)
    folder = Path(tempfile.mkdtemp(prefix="viva-mcp-"))
    offered = OfferedServers()
    running = _Running(case, log, folder, gateway, offered)
    try:
        await gateway.call(running.start())
        yield offered
    finally:
        offered.end()
        await asyncio.shield(asyncio.ensure_future(_close(gateway, running, folder)))


async def _close(gateway: Gateway, running: _Running, folder: Path) -> None:
    try:
        await gateway.call(running.stop())
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


class _Running:
    """The servers of one run; its methods are called on the gateway's loop."""

    def __init__(
        self, case: Case, log: EnvironmentLog, folder: Path, gateway: Gateway, offered: OfferedServers
    ) -> None:
        self._case, self._log, self._folder, self._gateway, self._offered = case, log, folder, gateway, offered
        self._upstreams = [Upstream(server, case.folder, folder) for server in case.mcp]
        self._relays: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._urls: list[str] = []
        self._over = asyncio.Event()

    async def start(self) -> None:
        started = await asyncio.gather(*(each.start() for each in self._upstreams), return_exceptions=True)
        for found in started:
            if isinstance(found, BaseException):
                raise found
        for upstream in self._upstreams:
            self._urls.append(await self._serve(upstream))
        offered = self._offered
        offered.config = [
            {
                "name": each.server.name,
                "url": url,
                "command": sys.executable,
                "args": ["-I", BRIDGE, self._file_with(url)],
            }
            for each, url in zip(self._upstreams, self._urls, strict=True)
        ]
        offered.tools = [tool for each in self._upstreams for tool in each.tools]
        offered.names = {each.server.name: [tool["name"] for tool in each.tools] for each in self._upstreams}
        offered.relays = self._relays

    def _file_with(self, url: str) -> str:
        """Write a URL, whose token is secret, into a file that only this user can read."""
        descriptor, name = tempfile.mkstemp(prefix="address-", dir=self._folder)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(url)
        return name

    async def _serve(self, upstream: Upstream) -> str:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        from viva.adapters.mcp_servers.relay import Relay, relay_server

        relay = Relay(upstream, self._log)
        self._relays.append(relay)
        hosts = [f"{name}:{self._gateway.port}" for name in (HOST, "localhost")]
        manager = StreamableHTTPSessionManager(
            relay_server(relay, await upstream.client(touch=False)),
            security_settings=TransportSecuritySettings(
                allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
            ),
            max_sessions=MOST_SESSIONS,
        )
        ready = asyncio.Event()
        self._tasks.append(asyncio.create_task(self._hold(manager, ready)))
        await ready.wait()
        return self._gateway.add(manager)

    async def _hold(self, manager: Any, ready: asyncio.Event) -> None:
        async with manager.run():
            ready.set()
            await self._over.wait()

    async def stop(self) -> None:
        for url in self._urls:
            self._gateway.remove(url)
        self._over.set()
        await asyncio.gather(*(each.stop() for each in self._upstreams), return_exceptions=True)
        if self._tasks:
            _, left = await asyncio.wait(self._tasks, timeout=5.0)
            for task in left:
                task.cancel()
        with contextlib.suppress(Exception):
            self._note()

    def _note(self) -> None:
        for upstream, relay in zip(self._upstreams, self._relays, strict=False):
            self._offered.notes += upstream.notes
            if relay.refused:
                words = f"the MCP server {upstream.server.name!r} refused {counted(relay.refused, 'call')}"
                self._offered.notes.append(f"{words}: the exam was over, or had recorded as many calls as it can")
