"""Frames of an agent's process that are damaged or forged: an answer, or the agent's own failure, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from tests.fuzz import mutations
from tests.fuzz.mutations import as_json, changed, damaged, fuzzing
from tests.fuzz.originals import MOST_GROWTH, peak_memory
from viva.adapters.connectors.child import process, supervised
from viva.adapters.connectors.child.agent import child_class
from viva.adapters.connectors.child.location import Location
from viva.adapters.connectors.child.spawn import Spawned
from viva.adapters.contract import AgentArguments
from viva.adapters.session import open_session
from viva.errors import AgentError, MachineError
from viva.records.codec import encode, loads
from viva.records.transcript import Reply

SECONDS = 0.05
"""Until an answer counts as missing: a frame that lost bytes never ends."""
ANSWERS: list[dict[str, Any]] = [
    {"n": 1, "version": "1", "path": "/agent.py", "prefix": "/usr"},
    {"n": 2, "workspace": None},
    {
        "n": 3,
        "reply": {
            "text": "55",
            "steps": [{"id": "s1", "kind": "tool", "tool": "add", "tool_input": {"a": 1}, "result": "2", "images": []}],
            "usage": {"input_tokens": 1, "output_tokens": 2, "calls": 1, "cost": None},
            "images": [],
        },
    },
    {"n": 4, "error": "ValueError", "text": "no", "at": "agent.py:3"},
]


class _Ended:
    """A process that has ended, for who reaps it."""

    pid = 0

    def poll(self) -> int:
        return 0

    def kill(self) -> None:
        pass

    def wait(self, timeout: float | None = None) -> int:
        return 0


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


class Double:
    """Stands in for the interpreter of an agent: answers each request with the frame it was given."""

    def __init__(self, frames: list[bytes]) -> None:
        self.frames = frames

    def spawn(self, python: str, memory_mb: int | None, program: object = None) -> Spawned:
        ours, theirs = socket.socketpair()
        control, other = socket.socketpair()
        for end in (ours, control):
            end.setblocking(False)
        with tempfile.TemporaryFile() as words:
            kept = os.dup(words.fileno())
        loop = self.loop
        loop.call_soon_threadsafe(lambda: self.tasks.append(loop.create_task(self._answer(theirs, other))))
        return Spawned(_Ended(), ours, control, kept, "0" * 24)  # type: ignore[arg-type]

    async def _answer(self, data: socket.socket, control: socket.socket) -> None:
        data.setblocking(False)
        control.setblocking(False)
        with data, control, contextlib.suppress(OSError):
            await self.loop.sock_sendall(control, _frame(b"{}"))
            for frame in self.frames:
                if not await self.loop.sock_recv(data, 1 << 20):
                    return
                await self.loop.sock_sendall(data, frame)
        # Closed: what has not been answered will not be.

    async def talk(self) -> list[Reply]:
        """Open a session, ask twice, close it."""
        self.loop, self.tasks = asyncio.get_running_loop(), list[asyncio.Task[None]]()
        factory = child_class(Location("agent.py", "Agent", "/usr/bin/python3", None))
        replies: list[Reply] = []
        # Before the agent's first line, a broken connection is not the agent's fault.
        with contextlib.suppress(AgentError, MachineError):
            session = await open_session(factory, AgentArguments("Count."), SECONDS)
            try:
                replies.append(await session.reply("Go on.", SECONDS))
                replies.append(await session.reply("And now?", SECONDS))
            finally:
                await session.close()
        factory.ready.release()  # what was started ahead for a next run, which there is not
        # With what is being ended: a process that was started ahead is, while its answers are awaited here.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left, timeout=30)
        return replies


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "NOTICE_SECONDS", 0.0)
    monkeypatch.setattr(supervised, "KILL_SECONDS", 0.0)
    monkeypatch.setattr(supervised, "sweep", lambda mark: [])


def test_the_frames_that_are_bent_are_answers_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else bending them would show nothing."""
    monkeypatch.setitem(globals(), "SECONDS", 30.0)
    double = Double([_frame(as_json(answer)) for answer in ANSWERS])
    monkeypatch.setattr(supervised, "spawn", double.spawn)
    (reply,) = asyncio.run(double.talk())
    assert reply.text == "55"
    assert reply.steps[0].tool_input == {"a": 1}


@pytest.mark.parametrize("workspace", [True, 7, ["/"], {"a": 1}, 0.5])
def test_an_agent_whose_workspace_is_no_path_is_ended(monkeypatch: pytest.MonkeyPatch, workspace: object) -> None:
    """Its process stayed, and so did Viva's sockets to it."""
    double = Double([_frame(as_json(answer)) for answer in (ANSWERS[0], {"n": 2, "workspace": workspace})])
    monkeypatch.setattr(supervised, "spawn", double.spawn)
    assert asyncio.run(double.talk()) == []


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(60, each=500, batches=20))
def test_a_frame_is_an_answer_or_the_agents_failure(monkeypatch: pytest.MonkeyPatch, examples: int, batch: int) -> None:
    before = peak_memory()

    @seed(batch)
    @fuzzing(examples)
    @given(st.data(), st.integers(0, 3), st.booleans())
    def each(data: st.DataObject, which: int, forged: bool) -> None:
        frames = [_frame(as_json(answer)) for answer in ANSWERS]
        if forged:
            frames[which] = _frame(as_json(changed(ANSWERS[which], data.draw(mutations.forged), "/nowhere")))
        else:
            body = as_json(ANSWERS[which])
            whole = data.draw(st.booleans())
            changes = data.draw(mutations.blind)
            frames[which] = _frame(damaged(body, changes)) if whole else damaged(frames[which], changes)
        double = Double(frames)
        with monkeypatch.context() as patch:
            patch.setattr(supervised, "spawn", double.spawn)
            for reply in asyncio.run(double.talk()):
                # As it is journaled, and read again.
                assert isinstance(reply.text, str)
                json.dumps(loads(encode(reply)), allow_nan=False)

    each()
    assert peak_memory() - before < MOST_GROWTH
    assert not Path("/nowhere").exists()
