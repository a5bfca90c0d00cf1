"""The harness's half of a room: frames to the server inside, and its answers turned into results."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, Protocol

from sandbox.bundle import boot_frame
from sandbox.interface import CheckResult, Ending, SandboxError, SandboxLimits, SandboxLost

# A server that is busy cleaning up after a check is given this long beyond the check's own time.
GRACE_SECONDS = 20.0
START_SECONDS = 60.0
MOST_BYTES = 8 * 1024 * 1024


class Pipe(Protocol):
    """The two ends of a server's stdin and stdout, and the power to end it."""

    async def read(self, size: int) -> bytes:
        """Exactly `size` bytes. Raises EOFError or OSError when the far end is gone."""
        ...

    async def write(self, data: bytes) -> None:
        """Raises OSError when the far end is gone."""
        ...

    async def close(self) -> None:
        """End the server and all it holds. Never raises; may be called twice."""
        ...

    def last_words(self) -> str:
        """What the server or its container said on stderr, the end of it."""
        ...


class Session:
    """A server that has said hello and belongs to nobody yet."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self.hello: dict[str, Any] = {}

    async def start(self, options: dict[str, Any]) -> None:
        """Send the server its source and wait for its first word.

        Raises:
            SandboxError: it did not come up; the message ends with what it said on stderr.
        """
        try:
            async with asyncio.timeout(START_SECONDS):
                await self.pipe.write(boot_frame(options))
                self.hello = await self.answer(b"H")
        except (EOFError, OSError, TimeoutError, SandboxError) as error:
            await self.pipe.close()
            said = self.pipe.last_words() or str(error) or type(error).__name__
            raise SandboxError(f"the sandbox's server did not start: {said}") from error
        except BaseException:
            await self.pipe.close()
            raise

    async def ask(self, kind: bytes, payload: bytes, answer: bytes) -> dict[str, Any]:
        await self.pipe.write(len(payload).to_bytes(4, "big") + kind + payload)
        return await self.answer(answer)

    async def alive(self) -> bool:
        """Whether the server still answers, before a run relies on it."""
        try:
            async with asyncio.timeout(5):
                await self.ask(b"P", b"", b"P")
        except (EOFError, OSError, TimeoutError, ValueError, SandboxError):
            return False
        return True

    async def answer(self, wanted: bytes) -> dict[str, Any]:
        head = await self.pipe.read(5)
        size, kind = int.from_bytes(head[:4], "big"), head[4:]
        if size > MOST_BYTES:
            raise SandboxError(f"the server sent a frame of {size} bytes")
        message = json.loads(await self.pipe.read(size))
        if kind == b"E" and isinstance(message, dict):
            raise SandboxError(f"the server gave up: {message.get('message')}")
        if kind != wanted or not isinstance(message, dict):
            raise SandboxError("the server sent something else than was asked")
        return message


class ServerRoom:
    """A `Room`: one run's workspace in one server. Checks run one after the other, so that none meets another."""

    def __init__(self, session: Session, limits: SandboxLimits, on_close: Callable[[], Awaitable[None]]) -> None:
        self._session = session
        self._limits = limits
        self._on_close = on_close
        self._turn = asyncio.Lock()
        self._open = True
        self._lost = ""

    async def load(self, payload: bytes) -> None:
        """Give the server the workspace.

        Raises:
            SandboxLost: it went away.
        """
        await self._speak(b"O", payload, b"R", START_SECONDS + len(payload) / 1_000_000)

    async def check(self, code: str, limits: SandboxLimits | None = None) -> CheckResult:
        limits = limits or self._limits
        request = json.dumps({"code": code, "limits": asdict(limits)}).encode()
        async with self._turn:
            message = await self._speak(b"C", request, b"V", limits.seconds + GRACE_SECONDS)
        try:
            return read_result(message, limits)
        except (KeyError, ValueError, TypeError) as error:
            await self._give_up(f"unreadable ending: {error}")
            raise SandboxLost(self._lost) from error

    async def _speak(self, kind: bytes, payload: bytes, answer: bytes, seconds: float) -> dict[str, Any]:
        if self._lost or not self._open:
            raise SandboxLost(self._lost or "the room is closed")
        try:
            async with asyncio.timeout(seconds):
                return await self._session.ask(kind, payload, answer)
        except (EOFError, OSError, TimeoutError, ValueError, SandboxError) as error:
            words = self._session.pipe.last_words() or str(error) or type(error).__name__
            await self._give_up(f"the sandbox went away: {words}")
            raise SandboxLost(self._lost) from error
        except asyncio.CancelledError:
            # Question and answer are out of step now.
            await asyncio.shield(self._give_up("the check was cancelled"))
            raise

    async def _give_up(self, reason: str) -> None:
        self._lost = reason
        await self.close()

    async def close(self) -> None:
        if self._open:
            self._open = False
            with contextlib.suppress(Exception):
                await self._on_close()


def read_result(message: dict[str, Any], limits: SandboxLimits) -> CheckResult:
    """Believe nothing of what comes out of a sandbox but its form.

    Raises:
        KeyError, ValueError, TypeError: not the form of an ending.
    """
    line = message.get("line")
    missing = message.get("missing_module")
    imported = message.get("imported") or []
    if not isinstance(imported, list) or len(imported) > 200:
        raise ValueError("imported")
    exception = message.get("exception")
    return CheckResult(
        ending=Ending(message["ending"]),
        exception=_text(exception, 200) if exception else None,
        message=_text(message.get("message"), 8000),
        line=line if isinstance(line, int) else None,
        missing_module=_text(missing, 200) if missing else None,
        imported=tuple(_text(name, 500) for name in imported),
        output=_text(message.get("output"), limits.output_kb * 1024 + 100),
        seconds=float(message.get("seconds") or 0.0),
    )


def _text(value: Any, most: int) -> str:
    """Cut to size, and such that it can be written: half of a surrogate pair is no character."""
    return str(value or "")[:most].encode("utf-8", "replace").decode()
