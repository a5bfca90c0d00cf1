"""The harness's half of a session: it asks the server for checks, and turns the answers into results."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, replace
from typing import Any, TypeVar

from viva.sandbox.connection import START_SECONDS, ServerConnection
from viva.sandbox.interface import CheckResult, Ending, Isolation, SandboxError, SandboxLost
from viva.sandbox.limits import SandboxLimits
from viva.sandbox.plain_files import uses_files_plainly

# A server that is busy cleaning up after a check is given this long beyond the check's own time.
GRACE_SECONDS = 20.0
T = TypeVar("T")


class ServerSession:
    """A `SandboxSession` in one server. Its checks run one after the other, so that they cannot disturb each other."""

    def __init__(
        self,
        connection: ServerConnection,
        limits: SandboxLimits,
        on_close: Callable[[], Awaitable[None]],
        *,
        workspace_fault: str = "",
    ) -> None:
        self._workspace_fault = workspace_fault
        self._connection = connection
        self._limits = limits
        self._on_close = on_close
        self._turn = asyncio.Lock()
        self._open = True
        self._lost = ""
        self._limit_broken = False
        self._has_layers = False
        self._expected: int | None = None

    @property
    def isolation(self) -> Isolation:
        """What separates this run from the host and from other runs."""
        return self._connection.isolation

    @property
    def lost(self) -> str:
        """Why the session is lost; empty while it is not."""
        return self._lost

    @property
    def is_sound(self) -> bool:
        """Return whether the server answered every request and no check broke a limit that the container has, too."""
        return not self._lost and not self._limit_broken and not self._turn.locked()

    async def load(self, payload: bytes, options: dict[str, Any] | None = None) -> None:
        """Send the server the workspace, and what differs between its runs.

        Raises:
            SandboxLost: the server went away, or cannot open a run.
        """
        said = await self._do(self._connection.begin(payload, options), START_SECONDS + len(payload) / 1_000_000)
        self._has_layers = bool(said.get("layers"))

    def expect(self, checks: int) -> None:
        """Announce the number of checks; nothing is prepared beyond it, but more may be requested."""
        self._expected = checks

    async def check(self, code: str, limits: SandboxLimits | None = None) -> CheckResult:
        limits = limits or self._limits
        if self._expected is not None:
            self._expected -= 1
        more = self._expected is None or self._expected > 0
        about = {"plain": uses_files_plainly(code)} if self._has_layers else {}
        request = json.dumps({"code": code, "limits": asdict(limits), "more": more, **about}).encode()
        async with self._turn:
            message = await self._do(self._connection.ask(b"C", request, b"V"), limits.seconds + GRACE_SECONDS)
        try:
            result = replace(read_result(message, limits), workspace_fault=self._workspace_fault)
            self._limit_broken = self._limit_broken or result.ending is Ending.LIMIT
            return result
        except (KeyError, ValueError, TypeError) as error:
            await self._give_up(f"unreadable ending: {error}")
            raise SandboxLost(self._lost) from error

    async def _do(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        if self._lost or not self._open:
            work.close()
            raise SandboxLost(self._lost or "the session is closed")
        try:
            async with asyncio.timeout(seconds):
                return await work
        except (EOFError, OSError, TimeoutError, ValueError, SandboxError) as error:
            words = self._connection.pipe.last_words() or str(error) or type(error).__name__
            await self._give_up(f"the sandbox was lost: {words}")
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
    """Turn what came out of a sandbox into a result. Only its form is trusted, never its content.

    Raises:
        KeyError, ValueError, TypeError: it does not have the form of an ending.
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


def _text(value: Any, maximum: int) -> str:
    """Cut a text to size, and make it one that can be written: half of a surrogate pair is not a character."""
    return str(value or "")[:maximum].encode("utf-8", "replace").decode()
