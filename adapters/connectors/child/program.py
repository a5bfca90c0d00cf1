"""One program in a process of its own: starts it, writes to its stdin, reads its stdout, and ends all it started.

Its supervisor is the one of agents' classes (`supervised.py`), which also reads its stderr, so that no flood there can
block the program. It dies with Viva.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import sys
from typing import Self

from viva.adapters.connectors.child.spawn import ProgramStart, Spawned
from viva.adapters.connectors.child.supervised import NOTICE_SECONDS, ChildEnded, SupervisedProcess
from viva.adapters.inside.supervisor import TERMINATE
from viva.adapters.machine import MORE_THREADS
from viva.errors import AgentError, MachineError

PART = 1 << 16
"""Maximum number of bytes that are written at once."""
SHORTAGES = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class Program(SupervisedProcess):
    """A running program. Make it with `run`, and `end` it, or at least `abandon` it."""

    def __init__(self, spawned: Spawned) -> None:
        super().__init__(spawned)
        self._streams = spawned.streams
        self._out: int | None = spawned.streams[-1]
        self._in: int | None = spawned.streams[0]
        self._waiting: dict[asyncio.Future[None], int] = {}
        """The descriptors that are waited for. No event of one comes after it was closed, so that wakes who waits."""
        self._abandoned = self._loop.create_future()
        """Done when the connections are closed; the end of its supervisor is not noticed after that."""

    @classmethod
    async def run(cls, start: ProgramStart, memory_mb: int | None = None) -> Self:
        """Start a program, and wait until the kernel has started its file.

        Raises:
            MachineError: the system has no process, thread, memory or file left for it.
            AgentError: its file cannot be run.
        """
        program = await cls.start(sys.executable, memory_mb, start)
        try:
            await program._begin(start)
        except BaseException:
            await asyncio.shield(asyncio.ensure_future(program.end()))
            raise
        return program

    async def _begin(self, start: ProgramStart) -> None:
        """Wait until the program's file runs: its end of the socket `data` is closed then."""
        told = await self._loop.sock_recv(self._data, 100)
        if told:
            number = int(told)
            if number in SHORTAGES:
                raise MachineError(f"{start.path} could not be started: {os.strerror(number)}. {MORE_THREADS}")
            raise AgentError(f"{start.path} cannot be run: {os.strerror(number)}{_advice(number)}")
        if not self._up.done():
            await asyncio.wait((self._up, self._gone), timeout=NOTICE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not self._up.done():
            raise MachineError(f"the supervisor of {start.path} did not start: {self._read_first_words()}")
        self.begun = True

    @property
    def terminal(self) -> int:
        """Return the descriptor of Viva's end of the program's terminal."""
        return self._streams[0]

    @property
    def running(self) -> bool:
        """Return whether the program's end is not known yet."""
        return "worker" not in self._notices and not self._gone.done()

    async def write(self, content: bytes) -> None:
        """Write to the program's stdin.

        Raises:
            OSError: it has closed its stdin.
        """
        rest = self.write_now(content)
        while rest:
            await self.writable()
            rest = self.write_now(rest)

    async def writable(self) -> None:
        """Wait until more fits into the pipe or the terminal. Only one task may wait for it at a time."""
        if self._in is not None:
            await self._ready(self._in, writing=True)

    def write_now(self, content: bytes | memoryview) -> memoryview:
        """Write as much as fits into the pipe or the terminal now; return the rest.

        Raises:
            OSError: it has closed its stdin.
        """
        view = memoryview(content)
        with contextlib.suppress(BlockingIOError):
            while view:
                if self._in is None:
                    raise BrokenPipeError(errno.EPIPE, "its stdin was closed")
                view = view[os.write(self._in, view[:PART]) :]
        return view

    async def read(self, size: int = PART) -> bytes:
        """Return what the program has written to its stdout, as soon as there is something; empty at its end.

        A program may write as fast as it is read, so others get their turn first.
        """
        await asyncio.sleep(0)
        while self._out is not None:
            try:
                return os.read(self._out, size)
            except BlockingIOError:
                await self._ready(self._out)
            except OSError:  # a terminal that no process has open any longer
                return b""
        return b""

    def has_output(self) -> bool:
        """Return whether something can be read at once, which may be the end."""
        if self._out is None:
            return False
        poller = select.poll()  # select(2) accepts no descriptors above 1,023
        poller.register(self._out, select.POLLIN)
        return bool(poller.poll(0))

    async def how_it_ended(self, silent: str) -> ChildEnded:
        """Return the error for a program whose stdout has ended.

        Args:
            silent: What to say of one that still runs.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(NOTICE_SECONDS):
                await asyncio.shield(self._gone)
        return ChildEnded(silent if self.running else self.ending())

    def close_stdin(self) -> None:
        """Close its stdin, unless that is a terminal; the program then reads the end of its input."""
        if len(self._streams) == 2 and self._in is not None:
            self._release(self._in)
            self._in = None

    def terminate(self) -> None:
        """Send SIGTERM to its process group."""
        with contextlib.suppress(OSError):
            self._control.send(TERMINATE)

    async def gone(self, seconds: float) -> bool:
        """Wait for its end, or until it is abandoned; return whether it is known to have ended after `seconds`."""
        await asyncio.wait((self._gone, self._abandoned), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return self._gone.done()

    def abandon(self) -> None:
        """Close the connections at once; the supervisor then kills the program with all its descendants.

        Who reads gets the end of the output, also where a process holds it open that could not be killed.
        """
        super().abandon()
        for each in {self._out, self._in} - {None}:
            self._release(each)  # type: ignore[arg-type]
        self._out = self._in = None
        if not self._abandoned.done():
            self._abandoned.set_result(None)

    def _release(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        self._loop.remove_writer(descriptor)
        os.close(descriptor)
        for waiter, awaited in self._waiting.items():
            if awaited == descriptor:
                _wake(waiter)

    async def _ready(self, descriptor: int, *, writing: bool = False) -> None:
        """Wait until a descriptor can be read from, or written to, or is closed."""
        waiter = self._loop.create_future()
        (self._loop.add_writer if writing else self._loop.add_reader)(descriptor, _wake, waiter)
        self._waiting[waiter] = descriptor
        try:
            await waiter
        finally:
            del self._waiting[waiter]
            if descriptor in (self._out, self._in):  # else closed meanwhile
                (self._loop.remove_writer if writing else self._loop.remove_reader)(descriptor)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _advice(number: int) -> str:
    if number == errno.ENOEXEC:
        return ": it has no line #! at its beginning. Name its interpreter in the command, for example bash"
    if number == errno.ENOENT:
        return ": the interpreter in its first line (#!) does not exist, or it was removed"
    return ""
