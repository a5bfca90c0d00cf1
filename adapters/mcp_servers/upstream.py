"""One MCP server of a case in one run: its process, the connection to it, and what is left when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viva.adapters.inside.keepers import SERVER, arguments_of
from viva.adapters.time_limits import time_limit
from viva.cases.data_files import data_tree
from viva.cases.mcp_servers.server import McpServer
from viva.errors import SetupError
from viva.records.redact import redact_end
from viva.records.text import printable

if TYPE_CHECKING:
    from mcp import Client

START_SECONDS = 60.0
"""Maximum time until a server has answered the handshake and listed its tools."""
PING_SECONDS = 10.0
MOST_STARTS = 4
"""How often a server that ends before any call reached it is started."""
STOP_SECONDS = 10.0
TAIL = 4000
"""Number of bytes at the end of its stderr that are kept."""
SHOWN = 600
MOST_PAGES = 50


class ServerEndedError(Exception):
    """The server cannot be reached any more, and no new one would know what the agent has done."""


class Upstream:
    """The connection to one server. All methods are called on the gateway's loop.

    A server that ends before anything was asked of it is started again, because nothing is lost. Later, it stays away:
    its state is gone. The run is scored in both cases; otherwise, an agent could leave the averages by killing it.
    """

    def __init__(self, server: McpServer, case_folder: Path, folder: Path) -> None:
        self.server = server
        self.notes: list[str] = []
        self.tools: list[dict[str, Any]] = []
        self._case_folder, self._folder = case_folder, folder
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._copying: asyncio.Future[None] | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[Client] | None = None
        self._starting = asyncio.Lock()
        self._starts = 0
        self._touched = self._ended = False
        self._stderr = bytearray()

    async def start(self) -> None:
        """Start the server in a fresh folder, and wait until it has listed its tools.

        Raises:
            SetupError: it did not start; nothing has been said to the agent.
        """
        self._starts += 1
        place = self._folder / f"{self.server.name}-{self._starts}"
        try:
            # On a thread, because the runs share this loop. `stop` waits for it: nothing is written after the end.
            self._copying = asyncio.ensure_future(asyncio.to_thread(_copy, self.server, self._case_folder, place))
            await asyncio.shield(self._copying)
        except OSError as error:
            raise SetupError(f"the files of the MCP server {self.server.name!r} cannot be copied: {error}") from error
        ready = self._ready = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._stderr.clear()
        self._task = asyncio.create_task(self._live(place, ready, self._stop))
        try:
            async with time_limit(START_SECONDS):
                self._client = await asyncio.shield(ready)
        except TimeoutError:
            await self.stop()
            raise SetupError(self._failed(f"did not answer within {START_SECONDS:g} s")) from None
        except Exception as error:
            await self.stop()
            raise SetupError(self._failed(f"did not start: {_words(error)}")) from None

    async def client(self, *, touch: bool) -> Client:
        """Return the connection for one request.

        Args:
            touch: Whether the request may change the server's state, so that no other server can take its place.

        Raises:
            ServerEndedError: the server has ended.
        """
        if not self._touched and not self._ended:
            async with self._starting:
                if not self._touched:
                    await self._revive()
                    self._touched = self._touched or touch
        if self._client is None or self._ended:
            raise ServerEndedError(f"the MCP server {self.server.name!r} has ended")
        return self._client

    def note_end(self, during: str) -> None:
        """Note that the server ended during a request."""
        if not self._ended:
            self._ended = True
            self.notes.append(self._failed(f"ended during {during}; further calls got an error"))

    async def stop(self) -> None:
        """End the server and all its descendants."""
        if self._copying is not None:
            await asyncio.wait((self._copying,))
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._copying  # its error is read, also if `start` was cancelled meanwhile
        task, self._task, self._client = self._task, None, None
        if task is None:
            return
        self._stop.set()
        if self._ready is not None and not self._ready.done():
            task.cancel()  # it waits for the server's first words
        _, left = await asyncio.wait([task], timeout=STOP_SECONDS)
        for each in left:
            each.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task

    async def _revive(self) -> None:
        """Start the server again if it has ended before anything was asked of it."""
        while not await self._answers():
            words = self._failed("ended before anything was asked of it")
            await self.stop()
            self.notes.append(f"{words}; it was started again")
            if self._starts >= MOST_STARTS:
                self._ended = True
                return
            try:
                await self.start()
            except SetupError as error:
                self.notes.append(str(error))
                self._ended = True
                return

    async def _answers(self) -> bool:
        if self._client is None or self._task is None or self._task.done():
            return False
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._client.session.send_ping()
        except TimeoutError:
            return True  # busy, perhaps with a start of its own
        except Exception:
            return False
        return True

    async def _live(self, place: Path, ready: asyncio.Future[Client], stop: asyncio.Event) -> None:
        from mcp import Client, StdioServerParameters, stdio_client
        from mcp_types import Implementation

        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(read_end, self._read_stderr, read_end)
        parameters = StdioServerParameters(
            command=sys.executable,
            args=arguments_of(SERVER, *_command(self.server, place)),
            env={name: os.environ[name] for name in self.server.env},
            cwd=place,
            encoding_error_handler="replace",
        )
        try:
            with os.fdopen(write_end, "w") as errors:
                transport = stdio_client(parameters, errlog=errors)
                known = Implementation(name="viva", version="1")
                async with Client(transport, mode="legacy", cache=None, client_info=known) as client:
                    self.tools = await _tools_of(client)
                    ready.set_result(client)
                    await stop.wait()
        except asyncio.CancelledError:
            ready.cancel()
            raise
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
        finally:
            self._read_stderr(read_end)
            loop.remove_reader(read_end)
            os.close(read_end)

    def _read_stderr(self, descriptor: int) -> None:
        with contextlib.suppress(OSError):
            self._stderr += os.read(descriptor, 1 << 16)
            del self._stderr[:-TAIL]

    def _failed(self, what: str) -> str:
        said = printable(
            redact_end(self._stderr.decode(errors="replace").strip(), SHOWN, cut=len(self._stderr) >= TAIL)
        )
        return f"the MCP server {self.server.name!r} of the case {what}" + (f" (stderr: {said})" if said else "")


def missing_variables(server: McpServer) -> list[str]:
    """Return the environment variables that a server needs and that are not set."""
    return [name for name in server.env if name not in os.environ]


def _command(server: McpServer, place: Path) -> list[str]:
    if server.module is not None:
        return [sys.executable, str(place / server.module), *server.args]
    assert server.command is not None
    own = os.path.dirname(server.command) and not os.path.isabs(server.command)
    return [str(place / server.command) if own else server.command, *server.args]


def _copy(server: McpServer, source: Path, place: Path) -> None:
    place.mkdir(parents=True)
    for name in server.own_files:
        if os.path.isabs(name) or ".." in Path(name).parts:  # the case of a stranger's journal
            raise SetupError(f"the MCP server {server.name!r} names a file outside of its case: {name[:200]!r}")
        for file in data_tree(source / name):
            target = place / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        if (source / name).is_dir():
            (place / name).mkdir(parents=True, exist_ok=True)


async def _tools_of(client: Client) -> list[dict[str, Any]]:
    if client.server_capabilities.tools is None:
        return []
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            schema: Mapping[str, Any] = tool.input_schema
            found.append({"name": tool.name, "description": tool.description or "", "inputSchema": dict(schema)})
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _words(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
