"""A process and its supervisor: starts both, knows how the process ended, and ends it with all its descendants.

The code of the supervisor is `adapters/inside/supervisor.py`. Viva's socket `control` to it carries its notices: it
reports how the process ended, and ends with all its descendants when `control` is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
import time
from typing import Any, Self

from viva.adapters.connectors.child.leftovers import sweep
from viva.adapters.connectors.child.spawn import ProgramStart, Spawned, Spawning, see_end, spawn, starting
from viva.adapters.crash_dump import read_dump
from viva.adapters.inside.supervisor import SPARE_RUNS
from viva.adapters.machine import MORE_THREADS
from viva.errors import AgentError, MachineError, SetupError
from viva.full_disk import NO_ROOM, error_words
from viva.processes import signal_name
from viva.records.redact import LOOKED_AHEAD, redact_end, redact_start
from viva.records.text import printable

KILL_SECONDS = 4.0
"""Maximum time in which the supervisor kills its processes; it gives up after 3 s itself."""
NOTICE_SECONDS = 2.0
"""Maximum time in which the supervisor reports why the agent's connection broke."""
NOTICE_LIMIT = 1 << 20
SEEN_SECONDS = 0.2
"""Maximum time in which a supervisor that has closed its connection ends; then its id may be another process's."""
UP_SECONDS = 5.0
"""Maximum time that others wait for an interpreter to start before they start theirs."""


class ChildEnded(AgentError):
    """The agent's process is gone, or violated the protocol; the message says how it ended."""


class SupervisedProcess:
    """A process with its supervisor. Make it with `start`, and `end` it, or at least `abandon` it."""

    def __init__(self, spawned: Spawned) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = spawned.process
        self._data = spawned.data
        self._control = spawned.control
        self._first_words: int | None = spawned.words
        self._mark = spawned.mark
        self.begun = spawned.begun
        """Whether the agent's code has begun to run there. What failed before was Viva's own code, or the machine."""
        self._noticed = bytearray()
        self._up = self._loop.create_future()
        """Done when its interpreter runs Viva's code."""
        self._gone = self._loop.create_future()
        """Done when the supervisor has ended."""
        self._notices: dict[str, Any] = {}
        self._closed = False
        if spawned.begun:
            self._up.set_result(None)
        self._loop.add_reader(self._control, self._on_control)

    @classmethod
    async def start(cls, python: str, memory_mb: int | None = None, program: ProgramStart | None = None) -> Self:
        """Start an interpreter, without waiting longer than a moment until it is running.

        Args:
            python: The interpreter.
            memory_mb: Maximum address space of each process, in MiB.
            program: The program that the interpreter is to become, if it is to run no agent's class.

        Raises:
            MachineError: the system has no process, thread, memory or file left for it.
            AgentError: the program has more arguments and variables than the system passes on.
            SetupError: `python` cannot be run.
        """
        async with starting():
            # On a thread: on a busy machine, the kernel takes 10 ms or more to start a program.
            spawning, child = Spawning(), None
            try:
                child = cls(await asyncio.to_thread(spawning.run, spawn, python, memory_mb, program))
                await child.is_up()
            except asyncio.CancelledError:
                if child is None:
                    spawning.give_up()
                else:
                    await child.end()
                raise
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
                    raise MachineError(f"no process could be started for the agent: {error}. {MORE_THREADS}") from error
                if error.errno in NO_ROOM:
                    raise MachineError(error_words(error)) from error
                if error.errno == errno.E2BIG and program is not None:
                    raise AgentError(f"{program.path} cannot be run: {error.strerror}") from error
                raise SetupError(f"{python} cannot be run: {error.strerror}.") from error
            except (
                RuntimeError,
                MemoryError,
            ) as error:  # no thread, or no room to fork
                raise MachineError(f"no process could be started for the agent: {error}. {MORE_THREADS}") from error
            return child

    async def is_up(self) -> bool:
        """Wait a while until Viva's code runs there; return whether it does."""
        await asyncio.wait((self._up, self._gone), timeout=UP_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        return self._up.done() and not self._gone.done()

    async def end(self) -> str | None:
        """Kill the agent with all its descendants; return which could not be killed, in words, or None.

        Raises:
            asyncio.CancelledError: the processes are being killed, but may still exist.
        """
        try:
            try:
                with contextlib.suppress(OSError):
                    self._control.shutdown(socket.SHUT_WR)  # the supervisor ends the agent, and still reports
                await asyncio.wait((self._gone,), timeout=KILL_SECONDS)
            finally:
                self.abandon()
            await self._reap()
        except asyncio.CancelledError:
            if self._process is not None and self._process.poll() is None:
                see_end(self._process)
            raise
        left = self._notices.get("left")
        if left is None:  # the supervisor died before it was done, perhaps killed by the agent
            left = await asyncio.to_thread(sweep, self._mark)
        return f"processes {', '.join(map(str, left))} of the agent could not be killed" if left else None

    def detach(self) -> Spawned:
        """Return the process and its connections, for another event loop; this object is closed."""
        self._closed = True
        self._loop.remove_reader(self._data)
        self._loop.remove_reader(self._control)
        self._forget_first_words()
        return Spawned(self._process, self._data, self._control, None, self._mark, begun=True)

    def spare_runs(self) -> None:
        """Tell the supervisor that runs will be forked from the process, and go on when it ends."""
        with contextlib.suppress(OSError):
            self._control.send(SPARE_RUNS)

    def abandon(self) -> None:
        """Close the connection at once; the supervisor then kills the agent with all its descendants."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._data)
        self._loop.remove_reader(self._control)
        self._data.close()
        self._control.close()
        self._forget_first_words()

    @property
    def printed(self) -> tuple[str, str]:
        """Return the end of what its process and its descendants wrote to stdout and to stderr, when it has ended."""
        output = self._notices.get("output")
        texts = [text for text in output if isinstance(text, str)] if isinstance(output, list) else []
        return (texts[0], texts[1]) if len(texts) == 2 else ("", "")

    @property
    def cut(self) -> dict[str, bool]:
        """Return whether the beginning of what was written to stdout and to stderr is missing."""
        cut = self._notices.get("cut")
        values = cut if isinstance(cut, list) and len(cut) == 2 else (False, False)
        return {"stdout": values[0] is True, "stderr": values[1] is True}

    def ending(self) -> str:
        """Return how its process ended, and what it printed last."""
        status = self._notices.get("worker")
        if status is None:
            if not self._up.done():
                return f"its interpreter did not start: {self._read_first_words() or 'it printed nothing'}"
            return "its process and its supervisor were killed"
        code = os.waitstatus_to_exitcode(status)
        stdout, stderr = self.printed
        # Not the stack that Python prints when it crashes: most of its lines are Viva's own.
        stderr, crash = read_dump(stderr)
        said = [printable(redact_end(text.strip(), 1000)) for text in (stdout, stderr)]
        tails = [f"{name}: {text}" for name, text in zip(("stdout", "stderr"), said, strict=True) if text]
        how = f"its process was killed by {signal_name(-code)}" if code < 0 else f"its process ended with code {code}"
        if crash is not None and crash.place is not None:
            how += f" at {printable(crash.place)}"
        return "; ".join([how, *(f"the end of its {tail}" for tail in tails)])

    def _on_control(self) -> None:
        try:
            part = self._control.recv(1 << 16)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            part = b""
        if part and len(self._noticed) < NOTICE_LIMIT:
            self._noticed += part
            self._read_notices()
            if not self._up.done():
                self._up.set_result(None)
                self._forget_first_words()
            if "worker" in self._notices:
                self._on_end()
            return
        self._loop.remove_reader(self._control)
        self._gone.set_result(None)
        self._on_end()

    def _read_notices(self) -> None:
        buffer = self._noticed
        while len(buffer) >= 4 and len(buffer) >= (end := 4 + int.from_bytes(buffer[:4], "big")):
            with contextlib.suppress(ValueError):
                self._notices.update(json.loads(bytes(buffer[4:end])))
            del buffer[:end]

    def _on_end(self) -> None:
        """Do what follows from the end of the process, or of its supervisor; called at both."""

    async def _reap(self) -> None:
        until = time.monotonic() + 1.0
        if self._process is None:
            await self._see_end()
            return
        while self._process.poll() is None:
            if time.monotonic() > until:
                self._process.kill()
            await asyncio.sleep(0.001)

    async def _see_end(self) -> None:
        """Wait for the end of a supervisor that is not Viva's own child, and kill it if it does not end itself."""
        pid = self._notices.get("pid")
        if type(pid) is not int or pid <= 1:  # 0 and below are groups of processes
            return
        with contextlib.suppress(OSError):
            if not self._gone.done():  # it holds its connection, so it is still that process
                os.kill(pid, signal.SIGKILL)
            until = time.monotonic() + SEEN_SECONDS
            while time.monotonic() < until:
                os.kill(pid, 0)
                await asyncio.sleep(0.001)

    def _read_first_words(self) -> str:
        if self._first_words is None:
            return ""
        return printable(redact_start(os.pread(self._first_words, 2000 + LOOKED_AHEAD, 0), 2000).strip())

    def _forget_first_words(self) -> None:
        if self._first_words is not None:
            os.close(self._first_words)
            self._first_words = None
