"""Carries JSON-RPC messages to and from an agent's program, one per line, and refuses anything else.

It is a `Transport` of the library `acp`, whose `Connection` matches requests and answers. That connection does not
validate messages, so they are checked here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from viva.adapters.connectors.child.program import Program
from viva.records.bounded_json import UnfitJson, parse
from viva.records.redact import redacted_line
from viva.records.text import counted

MOST_BYTES = 64 * 1024 * 1024
"""Maximum size of one message."""
MOST_STRAY = 100
"""Maximum number of lines on stdout that are not messages. The protocol forbids them, yet launchers print some."""
MOST_OPEN = 256
"""Maximum number of an agent's requests whose answers are not sent yet: it may send them faster than it reads."""
MOST_OPEN_BYTES = 128 * 1024 * 1024
"""Maximum size of these requests together."""
MOST_UNREAD = 1024 * 1024
"""Number of bytes of answers that the agent has not read, beyond which no further large answer is made."""
SHOWN = 300
PART = 1 << 18


class Messages:
    """The messages between Viva and one agent."""

    def __init__(self, program: Program) -> None:
        """Args:
        program: The agent's program.
        """
        self._program = program
        self._closed = False
        self._asked = 0
        """Number of requests that were sent to the agent; they are numbered from 0."""
        self._open: dict[str | int | None, list[int]] = {}
        """The sizes of the agent's requests that are not answered yet, by their ids."""
        self._sending = asyncio.Lock()
        """Held while a message is written: a long one is written in several parts, and no other may come between."""
        self._unsent = memoryview(b"")
        """The rest of the line that is being sent."""
        self._answering = asyncio.Lock()
        self._unread = 0
        """Number of bytes of messages that the agent has not read yet."""
        self._read_on = asyncio.Event()
        """Set whenever the agent has read a message."""
        self._received = bytearray()
        self._searched = 0
        """Number of received bytes without the end of a line."""
        self.fault: str | None = None
        """What the agent did wrong, if that ended the connection."""
        self.stray: list[str] = []
        """Lines that were no messages."""
        self.strayed = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message to the agent.

        Raises:
            OSError: it no longer reads.
        """
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self._unread += len(line)
        try:
            # Requests are answered concurrently, and an answer may be larger than the pipe. The rest of a line whose
            # sender was cancelled in the middle is sent before the next line.
            async with self._sending:
                if "method" in message and "id" in message:
                    self._asked += 1
                self._unsent = memoryview(bytes(self._unsent) + line)
                while rest := self._program.write_now(self._unsent):
                    self._unsent = rest
                    await self._program.writable()
                self._unsent = rest
        finally:
            self._unread -= len(line)
            self._read_on.set()
            if "method" not in message:
                self._close_request(message.get("id"))

    @asynccontextmanager
    async def large_answer(self) -> AsyncIterator[None]:
        """Make one large answer at a time, and only when the agent has read the earlier ones.

        An agent may ask for files faster than it reads them, and each answer takes memory until it has been read.
        """
        async with self._answering:
            while self._unread > MOST_UNREAD:
                self._read_on.clear()
                await self._read_on.wait()
            yield

    async def receive(self) -> dict[str, Any] | None:
        """Return the agent's next message; None if it sends no more, has broken the protocol (`fault`), or is closed.

        The connection has nobody left who could process a message that arrives while it is being closed.
        """
        while self.fault is None:
            line = await self._line()
            if line is None or self._closed:
                return None
            if not line.startswith(b"{"):
                self._note_stray(line)
                continue
            try:
                message = await parse(line)
            except UnfitJson as error:
                self.fault = f"it sent a message that cannot be read ({error}): {_shown(line)}"
                return None
            if wrong := self._wrong(message, len(line)):
                self.fault = f"it sent an invalid JSON-RPC message ({wrong}): {_shown(line)}"
                return None
            return None if self._closed else dict(message)
        return None

    async def close(self) -> None:
        """Close the agent's stdin, which asks it to end."""
        self._closed = True
        self._program.close_stdin()

    async def _line(self) -> bytes | None:
        """Return the next line that is not blank; None at the end."""
        while True:
            end = self._received.find(b"\n", self._searched)
            if end < 0 and len(self._received) > MOST_BYTES:
                self.fault = f"it sent a message of more than {MOST_BYTES // 1024**2} MiB, the maximum"
                return None
            if end < 0:
                self._searched = len(self._received)
                if part := await self._program.read(PART):
                    self._received += part
                    continue
                end = len(self._received)
            line = bytes(self._received[:end]).strip()
            ended = end == len(self._received)
            del self._received[: end + 1]
            self._searched = 0
            if line or ended:
                return line or None

    def _note_stray(self, line: bytes) -> None:
        self.stray.append(_shown(line))
        self.strayed.set()
        if len(self.stray) > MOST_STRAY:
            first = "; ".join(self.stray[:3])
            self.fault = f"it printed {counted(len(self.stray), 'line')} that are not messages of the protocol: {first}"

    def _wrong(self, message: Any, size: int) -> str | None:
        """Return what is wrong with a message; None if the connection can process it."""
        number = message.get("id")
        if "method" in message:
            if not isinstance(message["method"], str):
                return "its method is not text"
            if "id" in message:
                if isinstance(number, bool) or not isinstance(number, str | int | None):
                    return "its id is neither text nor a whole number"
                return self._open_request(number, size)
            return None
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < self._asked:
            return "it answers no request"
        if "error" in message:
            error = message["error"]
            if not isinstance(error, dict) or not isinstance(error.get("message", ""), str):
                return "its error is not an object with a message"
            return None
        return None if "result" in message else "it has neither a method, a result nor an error"

    def _open_request(self, number: str | int | None, size: int) -> str | None:
        """Note a request that is to be answered; return what is wrong if too much is open."""
        self._open.setdefault(number, []).append(size)
        sizes = [each for same in self._open.values() for each in same]
        if len(sizes) > MOST_OPEN:
            return f"more than {MOST_OPEN} of its requests are open"
        if sum(sizes) > MOST_OPEN_BYTES:
            return f"its open requests have more than {MOST_OPEN_BYTES // 1024**2} MiB"
        return None

    def _close_request(self, number: str | int | None) -> None:
        if sizes := self._open.get(number):
            sizes.pop()
            if not sizes:
                del self._open[number]


def _shown(line: bytes) -> str:
    return redacted_line(line, SHOWN)
