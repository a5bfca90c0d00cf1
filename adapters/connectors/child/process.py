"""Sends requests to the process of one agent, and reads its answers.

The code that runs there is `adapters/inside`. Viva's socket `data` to it carries requests and answers, as frames:
four bytes with the length (big-endian), then one JSON object.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from viva.adapters.connectors.child.spawn import Spawned
from viva.adapters.connectors.child.supervised import NOTICE_SECONDS, ChildEnded, SupervisedProcess
from viva.adapters.inside.wire import AT_A_TIME, LIMIT
from viva.records.bounded_json import LARGE, UnfitJson, read

FAILURE = frozenset({"n", "error", "text", "at", "words"})
"""The fields with which any answer can report a failure."""
ANSWERS = {
    "load": frozenset({"version", "path", "prefix", "file", "old_import", "why_not_forked", "setup"}),
    "begin_run": frozenset[str](),
    "make": frozenset({"workspace", "stateful", "tells", "setup"}),
    "reply": frozenset({"reply", "observed"}),
    "reply_so_far": frozenset({"reply", "observed"}),
    "save_state": frozenset({"state", "offered"}),
    "load_state": frozenset({"offered"}),
    "load_conversation": frozenset({"offered"}),
    "close": frozenset[str](),
}
"""The further fields of the answer to each request."""


class ChildProcess(SupervisedProcess):
    """The process of one agent, which answers requests."""

    def __init__(self, spawned: Spawned) -> None:
        super().__init__(spawned)
        self._number = 0
        self._answer: asyncio.Future[dict[str, Any]] | None = None
        self._asked = ""
        self._reading = 0
        """Number of large frames that a thread is reading."""
        self._ended_with: str | None = None
        """How the process ended, as long as there is data left to read."""
        self.busy = False
        """Whether there is an unanswered request, perhaps one for which nobody waits any longer."""
        self._torn = False
        """Whether a request was cut off in the middle, so that the agent would not understand another."""
        self._received = bytearray()
        self._listens = False

    async def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send one request and return its answer.

        Raises:
            ChildEnded: there will be no answer.
        """
        if self._torn or self._closed:
            raise ChildEnded("its process was abandoned")
        if self._gone.done():
            raise ChildEnded(self.ending())
        self._number += 1
        self._asked = do
        self._answer = expected = self._loop.create_future()
        body = json.dumps({"n": self._number, "do": do, **request}).encode()
        if not self._listens:
            self._loop.add_reader(self._data, self._on_data)
            self._listens = True
        before, self.busy, self._torn = self.busy, True, True
        try:
            with contextlib.suppress(OSError):  # a notice will say how it ended
                await self._send(len(body).to_bytes(4, "big") + body)
            self._torn = False
            answer: dict[str, Any] = await expected
            self.busy = before and do == "reply_so_far"
        finally:
            if self._answer is expected:
                self._answer = None
        return answer

    async def _send(self, frame: bytes) -> None:
        try:
            sent = self._data.send(frame)
        except (BlockingIOError, InterruptedError):
            sent = 0
        if sent < len(frame):
            await self._loop.sock_sendall(self._data, memoryview(frame)[sent:])

    @property
    def answers(self) -> bool:
        """Return whether the process can still receive requests."""
        return not (self._torn or self._closed or self._gone.done())

    def _on_data(self) -> None:
        if self._answer is None:
            # Nobody asked: what the agent sends waits until somebody does, and so does the agent if it sends much.
            # Listening ends here and not with each answer, because asyncio takes longer to begin than Viva to answer.
            self._end_listening()
            return
        try:
            part = self._data.recv(AT_A_TIME)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            part = b""
        if part:
            self._received += part
            self._parse()
            return
        self._end_listening()
        self._loop.call_later(NOTICE_SECONDS, self._fail, "its process closed the connection to Viva")

    def _end_listening(self) -> None:
        self._loop.remove_reader(self._data)
        self._listens = False

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
                # On a thread: the agent decides how long this takes, and all conversations share the loop.
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
        """Accept a frame as the answer to the request, if it is one."""
        if isinstance(answer, str):
            self._fail(f"its process sent an invalid answer: {answer}")
            return
        number = answer.get("n")
        if number == 0 and answer.get("begun") is True:
            self.begun = True
            return
        if self._answer is None or self._answer.done() or (type(number) is int and number < self._number):
            return  # the late answer to an abandoned request
        if number != self._number or not answer.keys() <= ANSWERS[self._asked] | FAILURE:
            self._fail("its process sent an answer that does not belong to the request")
            return
        self._answer.set_result(answer)

    def _on_end(self) -> None:
        """Read what the agent sent before it died, and then report how it died."""
        before = None
        while self._answer is not None and not self._answer.done() and before != len(self._received):
            before = len(self._received)
            with contextlib.suppress(OSError):
                self._received += self._data.recv(AT_A_TIME)
            self._parse()
        if self._reading:
            self._ended_with = self.ending()
        else:
            self._fail(self.ending())

    def _fail(self, words: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ChildEnded(words))


def _read(body: bytes) -> dict[str, Any] | str:
    """Return the content of a frame, or what is wrong with it."""
    try:
        answer = read(body, strict=False)
    except UnfitJson as error:
        return str(error)
    return answer if isinstance(answer, dict) else "it is not an object"
