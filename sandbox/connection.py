"""The harness's connection to a server in a sandbox: the frames that go in, and the answers that come back."""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any, Protocol

from viva.sandbox.bundle import boot_frame
from viva.sandbox.interface import UNKNOWN, Isolation, SandboxError

START_SECONDS = 60.0
"""How long a server may take to start."""
ALIVE_SECONDS = 5.0
"""How long a server may take to say that it is alive."""
END_SECONDS = 20.0
"""How long a run may take to end. It ends in milliseconds, unless the machine is overloaded."""
MAX_FRAME_BYTES = 8 * 1024 * 1024


class ServerPipe(Protocol):
    """The two ends of a server's stdin and stdout, and the power to end it."""

    async def read(self, size: int) -> bytes:
        """Return exactly `size` bytes. Raises EOFError or OSError when the far end is gone."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes. Raises OSError when the far end is gone."""
        ...

    async def close(self) -> None:
        """End the server and all it holds. Never raises; may be called twice."""
        ...

    def last_words(self) -> str:
        """Return the end of what the server or its container wrote to stderr."""
        ...


class ServerConnection:
    """A connection to one server, or to a keeper that makes one server after the other.

    Until a session takes it over, it belongs to no run.
    """

    def __init__(self, pipe: ServerPipe, isolation: Isolation = UNKNOWN) -> None:
        self.pipe = pipe
        self.isolation = isolation
        """What separates its runs from the host and from each other."""
        self.hello: dict[str, Any] = {}
        self._nonce = ""

    @property
    def keeps(self) -> bool:
        """Return whether it serves one run after the other."""
        return bool(self.hello.get("keeps"))

    async def start(self, options: dict[str, Any]) -> None:
        """Send the server its source and wait for its hello.

        Raises:
            SandboxError: it did not come up; the message ends with what it wrote to stderr.
        """
        try:
            async with asyncio.timeout(START_SECONDS):
                await self.pipe.write(boot_frame(options))
                self.hello = await self._answer(b"H")
        except (EOFError, OSError, TimeoutError, SandboxError) as error:
            await self.pipe.close()
            said = self.pipe.last_words() or str(error) or type(error).__name__
            raise SandboxError(f"the sandbox's server did not start: {said}") from error
        except BaseException:
            await self.pipe.close()
            raise

    async def ask(self, kind: bytes, payload: bytes, answer: bytes) -> dict[str, Any]:
        """Send a frame and return the answer, which must be of the kind `answer`.

        Raises:
            EOFError, OSError: the server is gone.
            SandboxError, ValueError: it gave up, or answered something else.
        """
        await self.pipe.write(len(payload).to_bytes(4, "big") + kind + payload)
        return await self._answer(answer)

    async def begin(self, payload: bytes, options: dict[str, Any] | None = None) -> dict[str, Any]:
        """Open a run on a workspace, and return what the server says of it.

        `options` are those of this run alone, where the server is a keeper's.

        Raises:
            EOFError, OSError: the server is gone.
            SandboxError, ValueError: it cannot open one.
        """
        data = len(payload).to_bytes(4, "big") + b"O" + payload
        if self.keeps:
            self._nonce = secrets.token_hex(16)
            order = json.dumps({"nonce": self._nonce, "options": options or {}}).encode()
            await self.pipe.write(len(order).to_bytes(4, "big") + b"W" + order + data)
            self._check_nonce(await self._answer(b"W"))
        else:
            await self.pipe.write(data)
        return await self._answer(b"R")

    async def end(self) -> bool:
        """End the run. Returns whether the keeper can open the next one: nothing of this one is left, and all is well.

        Raises:
            EOFError, OSError: the keeper is gone.
            SandboxError, ValueError: something is not as it should be.
        """
        async with asyncio.timeout(END_SECONDS):
            message = await self.ask(b"X", b"", b"X")
        self._check_nonce(message)
        return not message.get("worn")

    def _check_nonce(self, message: dict[str, Any]) -> None:
        """Make sure that question and answer are in step: nobody but the keeper and this run's server knows it."""
        if not self._nonce or message.get("nonce") != self._nonce:
            raise SandboxError("the server answered for another run")

    async def alive(self) -> bool:
        """Return whether the server still answers, before a run relies on it."""
        try:
            async with asyncio.timeout(ALIVE_SECONDS):
                await self.ask(b"P", b"", b"P")
        except (EOFError, OSError, TimeoutError, ValueError, SandboxError):
            return False
        return True

    async def _answer(self, expected: bytes) -> dict[str, Any]:
        head = await self.pipe.read(5)
        size, kind = int.from_bytes(head[:4], "big"), head[4:]
        if size > MAX_FRAME_BYTES:
            raise SandboxError(f"the server sent a frame of {size} bytes")
        message = json.loads(await self.pipe.read(size))
        if kind == b"E" and isinstance(message, dict):
            raise SandboxError(f"the server gave up: {message.get('message')}")
        if kind != expected or not isinstance(message, dict):
            raise SandboxError("the server did not answer what it was asked")
        return message
