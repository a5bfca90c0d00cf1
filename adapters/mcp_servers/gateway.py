"""The HTTP server of one process through which all agents reach the MCP servers of their runs.

It has a thread and an event loop of its own, so an agent that blocks Viva's loop cannot wait for itself. Each server of
each run has a path that nobody else can know; other paths, hosts and origins are refused.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import secrets
import socket
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from viva.errors import MachineError

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Receive, Scope, Send

T = TypeVar("T")

HOST = "127.0.0.1"
START_SECONDS = 20.0

MOST_REFUSED = 1024 * 1024
"""Maximum number of bytes that are read of a request that is refused."""
REFUSED_SECONDS = 2.0
"""Maximum time in which they are read."""


class Gateway:
    """Serves MCP servers over streamable HTTP on this machine alone. `the_gateway` returns the one of this process."""

    def __init__(self) -> None:
        self._routes: dict[str, StreamableHTTPSessionManager] = {}
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self.loop: asyncio.AbstractEventLoop
        try:
            self._socket = socket.create_server((HOST, 0), backlog=256)
        except OSError as error:
            raise MachineError(f"no port could be opened for the MCP servers of a case: {error}") from error
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._run, name="mcp-gateway", daemon=True).start()
        if not self._ready.wait(START_SECONDS) or self._failed is not None:
            raise MachineError(f"the gateway to the MCP servers of a case did not start: {self._failed or 'no answer'}")

    def add(self, manager: StreamableHTTPSessionManager) -> str:
        """Serve a server under a new path, and return its URL."""
        token = secrets.token_urlsafe(32)
        self._routes[token] = manager
        return f"http://{HOST}:{self.port}/{token}/mcp"

    def remove(self, url: str) -> None:
        """Serve a URL no longer."""
        self._routes.pop(_token(url.removeprefix(f"http://{HOST}:{self.port}")), None)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Do some work on the gateway's loop, and wait for it on the caller's."""
        future: concurrent.futures.Future[T] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return await asyncio.wrap_future(future)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failed = error
            self._ready.set()

    async def _serve(self) -> None:
        import uvicorn

        from viva.adapters.mcp_servers.callers import Callers

        self._callers = Callers()
        for name in ("mcp", "uvicorn", "sse_starlette"):  # what agents do wrong is theirs to read, in their answers
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.loop = asyncio.get_running_loop()
        config = uvicorn.Config(
            self._answer,
            http=self._callers.protocol,  # type: ignore[arg-type]
            interface="asgi3",
            proxy_headers=False,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=30,
        )
        server = uvicorn.Server(config)
        self.loop.call_soon(self._ready.set)
        with contextlib.suppress(asyncio.CancelledError):
            await server.serve(sockets=[self._socket])

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        token = _token(scope["path"])
        manager = self._routes.get(token)
        if manager is None:
            await _refuse(receive, send, 404, b"There is no such MCP server, or its run is over.\n")
            return
        if scope["client"] is None or not self._callers.admit(scope["client"], token):
            await _refuse(receive, send, 503, b"This MCP server has as many connections as it can; close some.\n")
            return
        await manager.handle_request(scope, receive, send)


async def _refuse(receive: Receive, send: Send, status: int, words: bytes) -> None:
    # A connection that is closed with something unread is reset, and the answer is lost on its way.
    left = MOST_REFUSED
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(REFUSED_SECONDS):
            while left > 0 and (message := await receive())["type"] == "http.request":
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    break
    headers = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": words})


def _token(path: str) -> str:
    parts = path.split("/")
    return parts[1] if len(parts) == 3 and parts[2] == "mcp" else ""


_lock = threading.Lock()
_gateway: list[Gateway] = []


def the_gateway() -> Gateway:
    """Return the gateway of this process, which is started when it is first needed.

    Raises:
        MachineError: the machine has no port or thread left for it.
    """
    with _lock:
        if not _gateway:
            _gateway.append(Gateway())
        return _gateway[0]
