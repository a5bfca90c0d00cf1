"""One agent's process and its supervisor, seen from Viva: started, asked, ended with all its descendants.

What runs there is `adapters/inside`. Viva holds two sockets to it: `data` to the agent's process, `control` to the
supervisor, which says how the agent's process ended and dies, with everything below it, when `control` is closed.
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
from typing import Any

from adapters.bounded_json import LARGE, UnfitJson, read
from adapters.connectors.child.leftovers import sweep
from adapters.connectors.child.spawn import Spawned, spawn, starting
from adapters.errors import AgentError, SetupError
from adapters.inside.wire import LIMIT
from records.text import printable

KILL_SECONDS = 4.0
"""How long the supervisor may take to kill what it watches over; it gives up after 3 s itself."""
NOTICE_SECONDS = 2.0
"""How long after the agent's connection broke its supervisor may take to say why."""
NOTICE_LIMIT = 1 << 20
UP_SECONDS = 5.0
"""How long others wait for an interpreter to get going before they start theirs."""


FAILURE = frozenset({"n", "error", "text", "at", "words"})
"""What any answer may say: that it failed."""
ANSWERS = {
    "load": frozenset({"version", "path", "prefix", "setup"}),
    "make": frozenset({"workspace", "setup"}),
    "reply": frozenset({"reply"}),
    "close": frozenset[str](),
}
"""What the answer to each request may say beside that."""


class ChildEnded(AgentError):
    """The agent's process is gone, or what it says is not what was agreed. Says how it ended."""


class ChildProcess:
    """Make one with `start`; `end` it, or at least `abandon` it."""

    def __init__(self, spawned: Spawned) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = spawned.process
        self._data = spawned.data
        self._control = spawned.control
        self._first_words: int | None = spawned.words
        self._mark = spawned.mark
        self._number = 0
        self._answer: asyncio.Future[dict[str, Any]] | None = None
        self._asked = ""
        self._reading = 0
        """Large frames that a thread is reading."""
        self._ended_with: str | None = None
        """How the process ended, while there is still something to read."""
        self.busy = False
        """Whether there is a request it has not answered, perhaps because nobody waited for the answer."""
        self._torn = False
        """A request was cut off in its middle: the agent would not understand another."""
        self._received = bytearray()
        self._noticed = bytearray()
        self._up = self._loop.create_future()
        """Done when its interpreter runs our code."""
        self._gone = self._loop.create_future()
        """Done when the supervisor has ended."""
        self._notices: dict[str, Any] = {}
        self._closed = False
        self._loop.add_reader(self._control, self._on_control)

    @classmethod
    async def start(cls, python: str, memory_mb: int | None = None) -> ChildProcess:
        """Start an interpreter; its first answer comes when it is up.

        Raises:
            SetupError: `python` cannot be run, or this system has no process or file left for it.
        """
        async with starting():
            # In a thread: on a busy machine it takes the kernel 10 ms and more to get a new program going.
            spawning = asyncio.ensure_future(asyncio.to_thread(spawn, python, memory_mb))
            child = None
            try:
                child = cls(await asyncio.shield(spawning))
                await asyncio.wait((child._up, child._gone), timeout=UP_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                with contextlib.suppress(OSError):
                    child = child or cls(await spawning)
                    await child.end()
                raise
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
                    words = f"no process could be started for the agent: {error}. Run fewer at once."
                    raise SetupError(words) from error
                raise SetupError(f"{python} cannot be run: {error.strerror}.") from error
            return child

    async def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """One request, one answer.

        Raises:
            ChildEnded: there will be no answer.
        """
        if self._torn or self._closed:
            raise ChildEnded("its process was given up")
        if self._gone.done():
            raise ChildEnded(self.ending())
        self._number += 1
        self._asked = do
        self._answer = expected = self._loop.create_future()
        body = json.dumps({"n": self._number, "do": do, **request}).encode()
        self._loop.add_reader(self._data, self._on_data)
        self.busy = self._torn = True
        try:
            with contextlib.suppress(OSError):  # how it ended comes as a notice
                await self._loop.sock_sendall(self._data, len(body).to_bytes(4, "big") + body)
            self._torn = False
            answer: dict[str, Any] = await expected
            self.busy = False
        finally:
            if self._answer is expected:
                self._answer = None
                if not self._closed:
                    self._loop.remove_reader(self._data)
        return answer

    @property
    def answers(self) -> bool:
        """Tell whether it may still be asked something."""
        return not (self._torn or self._closed or self._gone.done())

    async def end(self) -> str | None:
        """Kill the agent with all its descendants. Returns what is left of them, in words, or None.

        Raises:
            asyncio.CancelledError: they are being killed, but nobody has seen it yet.
        """
        try:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)  # the supervisor takes it for the end, and still reports
            await asyncio.wait((self._gone,), timeout=KILL_SECONDS)
        finally:
            self.abandon()
        await self._reap()
        left = self._notices.get("left")
        if left is None:  # the supervisor died before its work was done: the agent can do that to it
            left = await asyncio.to_thread(sweep, self._mark)
        return f"processes {', '.join(map(str, left))} of the agent could not be killed" if left else None

    def abandon(self) -> None:
        """Let go at once: the supervisor then kills the agent with all its descendants."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._data)
        self._loop.remove_reader(self._control)
        self._data.close()
        self._control.close()
        self._forget_first_words()

    def ending(self) -> str:
        """Say how its process ended, and what it printed last."""
        status = self._notices.get("worker")
        if status is None:
            if not self._up.done():
                return f"its interpreter did not start: {self._read_first_words() or 'it says nothing'}"
            return "its process and the one that watches over it were killed"
        code = os.waitstatus_to_exitcode(status)
        said = [printable(text.strip()[-1000:]) for text in self._notices.get("output", ())]
        tails = [f"{name}: {text}" for name, text in zip(("stdout", "stderr"), said, strict=False) if text]
        how = f"its process was killed by {_signal(-code)}" if code < 0 else f"its process ended with code {code}"
        return "; ".join([how, *(f"the end of its {tail}" for tail in tails)])

    def _on_data(self) -> None:
        try:
            part = self._data.recv(1 << 18)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            part = b""
        if part:
            self._received += part
            self._parse()
            return
        self._loop.remove_reader(self._data)
        self._loop.call_later(NOTICE_SECONDS, self._fail, "its process closed the connection to Viva")

    def _parse(self) -> None:
        buffer = self._received
        while len(buffer) >= 4:
            size = int.from_bytes(buffer[:4], "big")
            if size > LIMIT:
                self._fail(f"its process sent {size:,} bytes at once, beyond the limit of {LIMIT:,}")
                return
            if len(buffer) < 4 + size:
                return
            body = bytes(buffer[4 : 4 + size])
            del buffer[: 4 + size]
            if size <= LARGE:
                self._take(_read(body))
            else:
                # On a thread: the agent decides how long this takes, and the loop is everybody's.
                self._reading += 1
                reading = self._loop.run_in_executor(None, _read, body)
                reading.add_done_callback(self._take_read)

    def _take_read(self, reading: asyncio.Future[Any]) -> None:
        self._reading -= 1
        if not reading.cancelled():
            self._take(reading.result())
        if self._ended_with is not None and not self._reading:
            self._fail(self._ended_with)

    def _take(self, answer: Any) -> None:
        """Take a frame for the answer to what was asked, if it is one."""
        if isinstance(answer, str):
            self._fail(f"its process sent what is no answer: {answer}")
            return
        number = answer.get("n")
        if self._answer is None or self._answer.done() or (type(number) is int and number < self._number):
            return  # the late answer to a question that was given up
        if number != self._number or not answer.keys() <= ANSWERS[self._asked] | FAILURE:
            self._fail("its process sent what is no answer to what was asked")
            return
        self._answer.set_result(answer)

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
                self._drain()
            return
        self._loop.remove_reader(self._control)
        self._gone.set_result(None)
        self._drain()

    def _read_notices(self) -> None:
        buffer = self._noticed
        while len(buffer) >= 4 and len(buffer) >= (end := 4 + int.from_bytes(buffer[:4], "big")):
            with contextlib.suppress(ValueError):
                self._notices.update(json.loads(bytes(buffer[4:end])))
            del buffer[:end]

    def _drain(self) -> None:
        """The agent is dead: what it said before comes first, then how it died."""
        before = None
        while self._answer is not None and not self._answer.done() and before != len(self._received):
            before = len(self._received)
            with contextlib.suppress(OSError):
                self._received += self._data.recv(1 << 18)
            self._parse()
        if self._reading:
            self._ended_with = self.ending()
        else:
            self._fail(self.ending())

    def _fail(self, words: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ChildEnded(words))

    async def _reap(self) -> None:
        until = time.monotonic() + 1.0
        while self._process.poll() is None:
            if time.monotonic() > until:
                self._process.kill()
            await asyncio.sleep(0.001)

    def _read_first_words(self) -> str:
        if self._first_words is None:
            return ""
        return printable(os.pread(self._first_words, 2000, 0).decode("utf-8", "replace").strip())

    def _forget_first_words(self) -> None:
        if self._first_words is not None:
            os.close(self._first_words)
            self._first_words = None


def _read(body: bytes) -> dict[str, Any] | str:
    """What a frame says, or what is wrong with it."""
    try:
        answer = read(body, strict=False)
    except UnfitJson as error:
        return str(error)
    return answer if isinstance(answer, dict) else "it is no object"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
