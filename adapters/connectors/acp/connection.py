"""One connection to an agent's program: starts it, asks and notifies it, and says in words what went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import CLIENT_METHODS

from viva.adapters.connectors.acp.messages import Messages
from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.child.spawn import ProgramStart
from viva.adapters.printed import STREAMS, texts_of
from viva.errors import AgentError
from viva.records.redact import redacted_line
from viva.records.text import one_line

STRAY_SECONDS = 10.0
"""Time that a program has for its first message after it printed something else: it may be no agent at all."""
EXIT_SECONDS = 1.0
"""Time that an agent has to end by itself after its stdin was closed."""
AUTH_REQUIRED = -32000
"""The protocol's code of the error that asks for authentication."""
SHOWN = 1000
LARGE = frozenset({CLIENT_METHODS["fs_read_text_file"], CLIENT_METHODS["terminal_output"]})
"""The methods whose answers can be large."""

Handler = Callable[[str, Any, bool], Awaitable[Any]]


class RefusedRequest(AgentError):
    """The agent answered a request with an error."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


class AgentConnection:
    """The connection to one agent. Make it with `start`, and `close` it."""

    def __init__(self, program: Program, handler: Handler) -> None:
        self._program = program
        self._messages = Messages(program)
        self._handler = handler
        self._connection = Connection(self._handle, self._messages)
        self._shown = False
        """Whether the agent has answered anything."""

    @classmethod
    async def start(cls, start: ProgramStart, memory_mb: int | None, handler: Handler) -> AgentConnection:
        """Start the agent's program.

        Args:
            start: The program.
            memory_mb: Maximum address space of each of its processes, in MiB.
            handler: Is called with the method and the parameters of each message of the agent, and whether it is a
                notification.

        Raises:
            MachineError: the system has no process, memory or file left for it.
            AgentError: its file cannot be run.
        """
        return cls(await Program.run(start, memory_mb), handler)

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        if is_notification or method not in LARGE:
            return await self._handler(method, params, is_notification)
        async with self._messages.large_answer():
            return await self._handler(method, params, is_notification)

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request and return its result.

        Raises:
            RefusedRequest: the agent answered with an error.
            AgentError: there will be no answer, or it is not an object.
        """
        asking = asyncio.ensure_future(self._connection.send_request(method, dict(params)))
        try:
            result = await (asking if self._shown else self._first(asking))
        except RequestError as error:
            raise RefusedRequest(f"it answered {method} with an error: {_error_words(error)}", error.code) from error
        except OSError as error:  # among them the ConnectionError of the library
            raise await self.ended() from error
        finally:
            asking.cancel()
        self._shown = True
        if result is None:
            return {}
        if not isinstance(result, Mapping):
            raise AgentError(f"it answered {method} with something that is not an object: {result!r:.200}")
        return result

    async def _first(self, asking: asyncio.Future[Any]) -> Any:
        """Wait for the first answer, but not for long if the program speaks another language."""
        straying = asyncio.ensure_future(self._messages.strayed.wait())
        try:
            await asyncio.wait((asking, straying), return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                await asyncio.wait((asking,), timeout=STRAY_SECONDS)
        finally:
            straying.cancel()
        if not asking.done():
            raise AgentError(f"it does not answer in the protocol; {self._stray_words()}")
        return asking.result()

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification, unless the agent is gone."""
        with contextlib.suppress(OSError):
            await self._connection.send_notification(method, dict(params))

    def break_off(self, fault: str) -> None:
        """End the connection because of what the agent did; pending requests then fail with these words."""
        self._messages.fault = self._messages.fault or fault

    async def ended(self) -> AgentError:
        """Return the error for a connection that has ended."""
        if self._messages.fault is not None:
            return AgentError(self._messages.fault)
        ending = str(await self._program.how_it_ended("it closed its stdout, but its process is still running"))
        stray = self._stray_words()
        return AgentError(f"{ending}; {stray}" if stray else ending)

    def _stray_words(self) -> str:
        lines = self._messages.stray
        return f"it printed: {one_line('; '.join(lines[:20]), SHOWN)}" if lines else ""

    async def close(self) -> str | None:
        """Ask the agent to end, then kill it with all its descendants.

        Returns:
            Which processes could not be killed, in words; None if none is left.
        """
        with contextlib.suppress(Exception):
            await self._connection.close()  # closes its stdin, too
        try:
            await self._program.gone(EXIT_SECONDS)
        finally:
            left = await asyncio.shield(asyncio.ensure_future(self._program.end()))
        return left

    @property
    def printed(self) -> dict[str, str]:
        """Return the end of what it printed, by stream; known when it has ended."""
        texts = ("\n".join(self._messages.stray), self._program.printed[1])
        return texts_of(dict(zip(STREAMS, texts, strict=True)), self._program.cut)


def _error_words(error: RequestError) -> str:
    words = f"{error} ({error.code})"
    data = error.data
    if isinstance(data, Mapping) and set(data) == {"details"}:
        data = data["details"]
    if data:
        words += f": {data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)}"
    return redacted_line(words, SHOWN)
