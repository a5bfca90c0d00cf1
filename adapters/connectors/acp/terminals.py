"""Runs commands for an agent in its workspace. None of their processes outlives the run."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.child.spawn import ProgramStart
from viva.adapters.connectors.workspace_files import CheckedFolder
from viva.errors import AgentError
from viva.processes import signal_name

MOST_AT_ONCE = 16
"""Maximum number of terminals that an agent has not released."""
MOST_OUTPUT = 1024 * 1024
"""Maximum number of bytes of output that are kept: the last ones. The agent may want fewer, which it then gets."""
OVER = "the run is over"
CUT_OFF = "the run ended before it returned; it may have been carried out"


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

    def __init__(self, program: _Command, most: int) -> None:
        """Args:
        program: Its process.
        most: Maximum number of bytes of output that the agent gets.
        """
        self._program = program
        self._most = min(most, MOST_OUTPUT)
        self._kept = bytearray()
        self.written = 0
        """Number of bytes that it has written."""
        self.killed = False
        self._reading = asyncio.ensure_future(self._read())

    @property
    def output(self) -> str:
        """Return the end of what it has written to stdout and stderr, as far as the agent wants it."""
        return _text(self._kept[max(0, len(self._kept) - self._most) :], self.cut)

    @property
    def cut(self) -> bool:
        """Return whether the beginning of that output was dropped."""
        return self.written > self._most

    def written_since(self, place: int) -> tuple[str, bool]:
        """Return the output, however little of it the agent wants, and whether its beginning was dropped.

        Args:
            place: How many bytes at the beginning are left out, because they were returned before.
        """
        dropped = self.written - len(self._kept)
        return _text(self._kept[max(0, place - dropped) :], max(place, dropped) > 0), dropped > place

    @property
    def exit_status(self) -> dict[str, int | str | None] | None:
        """Return how it ended, as the protocol says it; None while it runs."""
        if not self._reading.done():
            return None
        code = self._program.code
        if code is None or code < 0:
            return {"exitCode": None, "signal": signal_name(-code) if code else "SIGKILL"}
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
            self.written += len(part)
            del self._kept[:-MOST_OUTPUT]
        await self._program.gone(float("inf"))


class Terminals:
    """The terminals of one run."""

    def __init__(self) -> None:
        self._open: dict[str, Terminal] = {}
        """Those that the agent has not released."""
        self._left: set[Terminal] = set()
        """Those whose processes are not known to have ended, also if they were released."""
        self._making: set[asyncio.Task[Any]] = set()
        """The tasks that are making one."""
        self._made = 0
        self._closed = False

    async def create(
        self, command: Sequence[str], folder: CheckedFolder, variables: Mapping[str, str], most: int | None
    ) -> tuple[str, Terminal]:
        """Start a command; return the terminal's id, and the terminal.

        Args:
            command: The program and its arguments; a program alone that does not exist is a line for the shell.
            folder: Where it runs.
            variables: Variables in addition to those of the agent.
            most: Maximum number of bytes of output that the agent gets; None for all that are kept.

        Raises:
            TerminalRefused: there are too many, the command cannot be run, or the run is over.
            MachineError: the system has no process, memory or file left for it.
        """
        if self._closed:
            raise TerminalRefused(OVER)
        if len(self._open) + len(self._making) >= MOST_AT_ONCE:
            raise TerminalRefused(f"{MOST_AT_ONCE} terminals are open, the maximum; release one")
        arguments = _arguments(command, folder.path, variables.get("PATH") or os.environ.get("PATH"))
        making = asyncio.current_task()
        assert making is not None
        self._making.add(making)
        try:
            given = (arguments[0], tuple(arguments[1:]), str(folder.path), variables)
            start = ProgramStart(*given, merge=True, is_folder=folder.identity)
            program = await _Command.run(start)
        except AgentError as error:
            raise TerminalRefused(str(error)) from error
        finally:
            self._making.discard(making)
        program.close_stdin()
        terminal = Terminal(program, MOST_OUTPUT if most is None else most)
        self._left.add(terminal)
        if self._closed:  # meanwhile
            await self._end(terminal)
            raise TerminalRefused(CUT_OFF)
        self._made += 1
        name = f"terminal{self._made}"
        self._open[name] = terminal
        return name, terminal

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
        await self._end(terminal)
        return terminal

    async def close(self) -> None:
        """Make no terminal from now on, and end all, also those that are being made or released."""
        self._closed = True
        self._open.clear()
        while self._left or self._making:
            await asyncio.gather(*map(self._end, tuple(self._left)))
            if self._making:
                await asyncio.wait(tuple(self._making))

    async def _end(self, terminal: Terminal) -> None:
        await terminal.kill()
        self._left.discard(terminal)


def _text(output: bytes | bytearray, cut: bool) -> str:
    return output.decode("utf-8", "ignore" if cut else "replace")


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
