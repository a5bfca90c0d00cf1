"""A program that reads and writes one JSON object per line. `docs/agents/commands.md` has the format."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.child.supervised import NOTICE_SECONDS
from viva.adapters.connectors.command.lines import (
    HELLO,
    MOST_QUOTED,
    SHOWN,
    STATE,
    PartialReply,
    check_fields,
    check_number,
    is_large,
    quoted,
    read_line,
    take,
)
from viva.adapters.connectors.command.program_agent import ProgramAgent
from viva.adapters.inside.wire import LIMIT
from viva.errors import AgentError, SetupError
from viva.records.redact import redacted_line
from viva.records.transcript import Reply

MOST_LINES = 100_000
"""Maximum number of lines in the answer to one message."""
VERSION = 1
"""The version of the format, which the program is told with the greeting."""


class JsonLinesAgent(ProgramAgent):
    """One program in one run, in JSON mode."""

    def _prepare(self) -> None:
        self._number = 0
        self._received = bytearray()
        self._lines = self._size = 0
        """Number of lines of the current answer, and of bytes in them."""
        self._unsent: asyncio.Task[None] | None = None
        """Writes the rest of a message that did not fit into the pipe at once."""
        self._answer: PartialReply | None = None
        """What the program has said of a reply that is not complete."""
        self.offers: dict[str, Any] = {}
        """What the program said in answer to the greeting."""

    async def reply_so_far(self) -> Reply | None:
        """Return the steps of a reply that is not complete."""
        return None if self._answer is None else self._answer.so_far()

    async def save_state(self) -> Any:
        """Return the program's state; None if it did not say that it has one."""
        if self.offers.get("state") is not True:
            return None
        return (await self._ask({"save_state": True}, STATE)).get("state")

    async def load_state(self, state: Any) -> None:
        """Have the program continue from a state.

        Raises:
            NotImplementedError: the program did not say that it can.
        """
        if self.offers.get("state") is not True:
            raise NotImplementedError
        await self._ask({"load_state": state}, frozenset())

    async def _get_ready(self) -> None:
        if not self.plan.keys.hello:
            return
        self.offers = await self._ask({"hello": VERSION, **self._about()}, HELLO)
        folder = self.offers.get("workspace")
        if folder is not None:
            if not isinstance(folder, str) or not Path(folder).is_absolute():
                raise AgentError(
                    f'the "workspace" of its answer is not an absolute path: {redacted_line(str(folder), 200)}'
                )
            self.workspace = Path(folder)

    async def _converse(self, program: Program, message: str) -> Reply:
        about = self._about() if self._messages == 1 and not self.plan.keys.hello else {}
        number = await self._send(program, {"message": message, **about})
        answer = self._answer = PartialReply(number)
        while True:
            found = await self._next(program, number)
            reply = take(found, answer)
            if reply is not None:
                self._answer = None
                return reply

    async def _ask(self, request: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
        """Send a request other than a message, and return its answer."""
        program = self._running()
        found = await self._next(program, await self._send(program, request))
        check_fields(found, known)
        return found

    async def _send(self, program: Program, request: dict[str, Any]) -> int:
        """Check that the program wrote nothing unasked, send one line, and return its number."""
        await self._check_unasked(program)
        self._number += 1
        self._lines = self._size = 0
        try:
            line = json.dumps({"id": self._number, **request}).encode() + b"\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise SetupError(f"the case's config_var cannot be sent to a program: {error}.") from error
        rest = memoryview(line)
        if self._unsent is None or (self._unsent.done() and self._unsent.exception() is None):
            with contextlib.suppress(OSError):  # reading tells how it ended
                rest = program.write_now(line)
        if rest:
            self._unsent = asyncio.ensure_future(self._write(program, self._unsent, bytes(rest)))
            self._unsent.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._number

    async def _write(self, program: Program, before: asyncio.Task[None] | None, rest: bytes) -> None:
        if before is not None:
            await before
        await program.write(rest)

    async def _next(self, program: Program, number: int) -> dict[str, Any]:
        """Return the next line of the answer to a request, while the rest of the request is being sent."""
        if self._unsent is None:
            return await self._read(program, number)
        reading = asyncio.ensure_future(self._read(program, number))
        try:
            await asyncio.wait({reading, self._unsent}, return_when=asyncio.FIRST_COMPLETED)
            if self._unsent.done() and self._unsent.exception() is not None:
                await asyncio.wait({reading}, timeout=NOTICE_SECONDS)
                if not reading.done():
                    raise AgentError("it has closed its stdin, so that it cannot be sent the message")
            return await reading
        finally:
            reading.cancel()

    async def _read(self, program: Program, number: int) -> dict[str, Any]:
        line = await self._line(program)
        self._lines, self._size = self._lines + 1, self._size + len(line)
        if self._lines > MOST_LINES or self._size > LIMIT:
            most = f"{MOST_LINES:,} lines" if self._lines > MOST_LINES else f"{LIMIT:,} bytes"
            raise AgentError(f"it wrote more than {most} in one reply; the last one: {quoted(line)}")
        found = await asyncio.to_thread(read_line, line) if is_large(line) else read_line(line)
        check_number(found, number, line)
        return found

    async def _line(self, program: Program) -> bytes:
        """Return the next line that is not blank."""
        looked, buffer = 0, self._received
        while True:
            end = buffer.find(b"\n", looked)
            if max(end, looked) > LIMIT:
                raise AgentError(f"it wrote a line of more than {LIMIT:,} bytes: {quoted(bytes(buffer[:MOST_QUOTED]))}")
            if end >= 0:
                line = bytes(buffer[:end])
                del buffer[: end + 1]
                looked = 0
                if line.strip():
                    return line
                continue
            looked = len(buffer)
            part = await program.read()
            if not part:
                raise await self._ended(program)
            buffer += part

    async def _ended(self, program: Program) -> AgentError:
        how = str(await program.how_it_ended("it has closed its stdout"))
        if self._received.strip():
            how = f"{how}; its last line is incomplete: {quoted(bytes(self._received))}"
        return AgentError(how)

    async def _check_unasked(self, program: Program) -> None:
        """Check that the program wrote nothing since its last answer.

        Raises:
            AgentError: it did, or it has ended.
        """
        while b"\n" not in self._received.lstrip() and program.has_output():
            part = await program.read()
            if not part:
                raise await self._ended(program)
            self._received += part
            if len(self._received) > LIMIT:
                break
        if self._received.lstrip():
            line = self._received.lstrip().partition(b"\n")[0]
            before = (
                "before it was sent a message" if self._number == 0 else f"after its answer to message {self._number}"
            )
            raise AgentError(f"it wrote a line {before}, without being asked: {quoted(bytes(line))}")

    def facts(self) -> Mapping[str, str]:
        """Return the version in its answer to the greeting."""
        version = self.offers.get("version")
        return {"mode": "json", **({} if version is None else {"version": redacted_line(str(version), 200)})}

    def so_far(self) -> str:
        """Return its last line of progress, and the beginning of a line that has no end."""
        progress = "" if self._answer is None else self._answer.progress
        words = f"; its last progress: {redacted_line(progress, SHOWN)}" if progress else ""
        begun = quoted(bytes(self._received[:MOST_QUOTED])) if self._received.strip() else ""
        return f"{words}; its line has no end yet: {begun}" if begun else words

    async def _ask_to_end(self, program: Program) -> str | None:
        trouble = None
        if not self._busy:
            try:
                await self._check_unasked(program)
            except AgentError as error:
                trouble = str(error) if program.running else None
        if self._unsent is not None:
            self._unsent.cancel()
        program.close_stdin()
        return trouble

    def _about(self) -> dict[str, Any]:
        """Return what an adapter's class is told when it is constructed."""
        workspace = None if self.workspace is None else str(self.workspace.absolute())
        return {
            "task_description": self.task_description,
            "app_dir": self.app_dir,
            "config_var": None if self.config_var is None else dict(self.config_var),
            "workspace": workspace,
        }
