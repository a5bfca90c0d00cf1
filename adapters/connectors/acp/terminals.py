"""Runs commands for an agent in its workspace. None of their processes outlives the run."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.child.spawn import ProgramStart
from viva.adapters.connectors.workspace_files import CheckedFolder
from viva.errors import AgentError

MOST_AT_ONCE = 16
"""Maximum number of terminals that an agent has not released."""
MOST_OUTPUT = 1024 * 1024
"""Maximum number of bytes of output that are kept: the last ones."""


class TerminalRefused(Exception):
    """A terminal cannot be made or found; the message says why."""


class _Command(Program):
    """The process of a terminal."""

    @property
    def code(self) -> int | None:
        """Return its exit code, or the negative number of the signal that ended it; None while it runs."""
        status = self._notices.get("worker")
        return os.waitstatus_to_exitcode(status) if isinstance(status, int) else None


class Terminal:
    """One command and its output."""

    def __init__(self, command: Sequence[str], program: _Command, most: int) -> None:
        """Args:
        command: The command, for records.
        program: Its process.
        most: Maximum number of bytes of output to keep.
        """
        self.command = shlex.join(command)
        self._program = program
        self._most = most
        self._kept = bytearray()
        self.cut = False
        """Whether the beginning of the output was dropped."""
        self.killed = False
        self._reading = asyncio.ensure_future(self._read())

    @property
    def output(self) -> str:
        """Return the end of what it has written to stdout and stderr."""
        return self._kept.decode("utf-8", "ignore" if self.cut else "replace")

    @property
    def exit_status(self) -> dict[str, int | str | None] | None:
        """Return how it ended, as the protocol says it; None while it runs."""
        if not self._reading.done():
            return None
        code = self._program.code
        if code is None or code < 0:
            return {"exitCode": None, "signal": signal.Signals(-code).name if code else "SIGKILL"}
        return {"exitCode": code, "signal": None}

    async def wait(self) -> None:
        """Wait until it has ended."""
        await asyncio.shield(self._reading)

    async def kill(self) -> None:
        """End it with all its descendants. What it wrote can still be read."""
        self.killed = self.killed or not self._reading.done()
        await asyncio.shield(asyncio.ensure_future(self._program.end()))
        await self.wait()

    async def _read(self) -> None:
        while part := await self._program.read():
            self._kept += part
            self.cut = self.cut or len(self._kept) > self._most
            del self._kept[: -self._most or len(self._kept)]
        await self._program.gone(float("inf"))


class Terminals:
    """The terminals of one run."""

    def __init__(self) -> None:
        self._open: dict[str, Terminal] = {}
        self._made = 0

    async def create(
        self, command: Sequence[str], folder: CheckedFolder, variables: Mapping[str, str], most: int | None
    ) -> tuple[str, Terminal]:
        """Start a command; return the terminal's id, and the terminal.

        Args:
            command: The program and its arguments; a program alone that does not exist is a line for the shell.
            folder: Where it runs.
            variables: Variables in addition to those of the agent.
            most: Maximum number of bytes of output to keep.

        Raises:
            TerminalRefused: there are too many, or the command cannot be run.
            MachineError: the system has no process, memory or file left for it.
        """
        if len(self._open) >= MOST_AT_ONCE:
            raise TerminalRefused(f"{MOST_AT_ONCE} terminals are open, the maximum; release one")
        arguments = _arguments(command, folder.path, variables.get("PATH") or os.environ.get("PATH"))
        try:
            given = (arguments[0], tuple(arguments[1:]), str(folder.path), variables)
            start = ProgramStart(*given, merge=True, is_folder=folder.identity)
            program = await _Command.run(start)
        except AgentError as error:
            raise TerminalRefused(str(error)) from error
        program.close_stdin()
        self._made += 1
        name = f"terminal{self._made}"
        self._open[name] = Terminal(command, program, min(MOST_OUTPUT if most is None else most, MOST_OUTPUT))
        return name, self._open[name]

    def find(self, name: object) -> Terminal:
        """Return a terminal that was not released.

        Raises:
            TerminalRefused: there is none with this id.
        """
        if not isinstance(name, str) or name not in self._open:
            raise TerminalRefused(f"there is no terminal {name!r:.100}")
        return self._open[name]

    async def release(self, name: object) -> Terminal:
        """End a terminal and forget it; return it.

        Raises:
            TerminalRefused: there is none with this id.
        """
        terminal = self.find(name)
        del self._open[str(name)]
        await terminal.kill()
        return terminal

    async def close(self) -> None:
        """End all terminals."""
        left, self._open = list(self._open.values()), {}
        await asyncio.gather(*(terminal.kill() for terminal in left))


def _arguments(command: Sequence[str], folder: Path, path: str | None) -> list[str]:
    """Return the file to execute, and the arguments, of which the first is the program's name."""
    name = command[0]
    found = shutil.which(os.path.join(folder, name)) if "/" in name else shutil.which(name, path=path)
    if found is not None:
        return [found, *command]
    shell = shutil.which("sh")
    if len(command) > 1 or shell is None:
        raise TerminalRefused(f"there is no program {name}")
    return [shell, "sh", "-c", name]
