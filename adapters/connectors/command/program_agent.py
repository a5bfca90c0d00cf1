"""`ProgramAgent`: one program in one run, from its start in the run's workspace to the end of its last process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.child.spawn import ProgramStart
from viva.adapters.connectors.command.keys import CommandKeys
from viva.adapters.contract import ConnectedAgent
from viva.adapters.printed import texts_of
from viva.adapters.time_limits import time_limit
from viva.errors import AgentError, AgentTimeout

WORKSPACE = "VIVA_WORKSPACE"
"""The variable that names the run's workspace to the program."""
BUSY_SECONDS = 0.5
"""How long a program that owes a reply may take to end when its input has ended."""
TERM_SECONDS = 2.0
"""How long it may take to end after SIGTERM, before it is killed."""


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """What each run of one SPEC starts."""

    program: str
    words: tuple[str, ...]
    keys: CommandKeys
    folder: str | None = None
    """The folder to run in; None for the run's workspace."""
    variables: Mapping[str, str] = field(default_factory=dict)
    memory_mb: int | None = None


class ProgramAgent(ConnectedAgent):
    """One program in one run. The subclasses know how messages and replies are written."""

    plan: ClassVar[ProgramPlan]
    terminal: ClassVar[bool] = False

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
        workspace: Path | None = None,
    ) -> None:
        self.task_description = task_description
        self.app_dir = app_dir
        self.config_var = config_var
        self.workspace: Path | None = workspace
        self._program: Program | None = None
        self._busy = False
        """Whether the program owes a reply."""
        self._messages = 0
        self._prepare()

    def _prepare(self) -> None:
        """Set what a subclass keeps of the conversation. Only `__init__` here shows which arguments an agent takes."""

    async def open(self, seconds: float) -> None:
        """Start the program, and wait until it is ready for the first message.

        Raises:
            MachineError: the system has no process, thread, memory or file left for it.
            AgentTimeout: it was not ready within `seconds`.
            AgentError: it cannot be run, or ended.
        """
        try:
            self._program = await Program.run(self._start(), self.plan.memory_mb)
            async with time_limit(seconds):
                await self._get_ready()
        except TimeoutError:
            await self._end()
            raise AgentTimeout(f"it was not ready within {seconds:g} s{self.so_far()}") from None
        except BaseException as error:
            await self._end()
            if isinstance(error, AgentError):
                raise AgentError(f"its construction failed: {error}") from error
            raise

    async def get_reply_from_agent(self, message: str) -> Any:
        """Send the message to the program and return its reply.

        Raises:
            AgentError: the program ended, or did not reply as it should.
        """
        self._messages += 1
        program, self._busy = self._running(), True
        reply = await self._converse(program, message)
        self._busy = False
        return reply

    async def close(self) -> None:
        """End the program: its input ends, then it gets SIGTERM, and then all its processes are killed.

        Raises:
            AgentError: it wrote more than it was asked for, or a process could not be killed.
        """
        program, trouble = self._program, None
        if program is None:
            return
        try:
            if program.running:
                trouble = await self._ask_to_end(program)
                if not await program.gone(BUSY_SECONDS if self._busy else self.plan.keys.close_seconds):
                    program.terminate()
                    await program.gone(TERM_SECONDS)
        finally:
            left = await self._end()
        if trouble or left:
            raise AgentError("; ".join(words for words in (trouble, left) if words))

    async def _get_ready(self) -> None:
        """Wait until the program is ready for the first message."""

    async def _converse(self, program: Program, message: str) -> Any:
        raise NotImplementedError

    async def _ask_to_end(self, program: Program) -> str | None:
        """Let the program's input end; return what else is to be said of the conversation, or None."""
        raise NotImplementedError

    def _running(self) -> Program:
        if self._program is None:
            raise AgentError("its process has ended")
        return self._program

    def _start(self) -> ProgramStart:
        workspace = None if self.workspace is None else os.path.abspath(self.workspace)
        variables = dict(self.plan.variables)
        if workspace is not None:
            variables[WORKSPACE] = workspace
        size, merge = None, False
        if self.terminal:
            keys = self.plan.keys
            # No colours and no moving cursor, and no pager that waits for a key.
            variables = {"TERM": "dumb", "PAGER": "cat", **variables}
            size, merge = (keys.rows, keys.columns), keys.stderr == "reply"
        folder = self.plan.folder or workspace or os.getcwd()
        return ProgramStart(self.plan.program, self.plan.words, folder, variables, size, merge)

    async def _end(self) -> str | None:
        if self._program is None:
            return None
        # Continues even if nobody waits any longer, because processes would otherwise be left.
        program, self._program = self._program, None
        left = await asyncio.shield(asyncio.ensure_future(program.end()))
        stdout, stderr = self._printed(program)
        self.printed = texts_of({"stdout": stdout, "stderr": stderr}, program.cut)
        return left

    def _printed(self, program: Program) -> tuple[str, str]:
        """Return what of its stdout belongs to no reply, and the end of its stderr."""
        return program.printed
