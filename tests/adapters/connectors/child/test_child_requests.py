"""Requests to an agent's process and their answers, over real sockets, with the test in place of the process."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from viva.adapters.connectors.child.process import ChildProcess
from viva.adapters.connectors.child.spawn import Spawned
from viva.adapters.inside.wire import FrameReader


def frame(answer: dict[str, Any]) -> bytes:
    body = json.dumps(answer).encode()
    return len(body).to_bytes(4, "big") + body


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket, socket.socket]]:
    """Viva's end and the agent's, and Viva's end to the supervisor."""
    pairs = [socket.socketpair(), socket.socketpair()]
    for ours, _ in pairs:
        ours.setblocking(False)
    yield (*pairs[0], pairs[1][0])
    for each in (*pairs[0], *pairs[1]):
        each.close()


async def test_what_the_agent_sends_unasked_stays_in_its_connection(
    connection: tuple[socket.socket, socket.socket, socket.socket],
) -> None:
    ours, agent, control = connection
    child = ChildProcess(Spawned(None, ours, control, None, "mark", begun=True))
    agent.send(frame({"n": 1, "text": "first"}))
    assert (await child.ask("reply", message="?"))["text"] == "first"

    unasked = frame({"n": 1, "text": "again"})
    agent.send(unasked)
    for _ in range(3):
        await asyncio.sleep(0)
    assert ours.recv(1000, socket.MSG_PEEK) == unasked

    agent.send(frame({"n": 2, "text": "second"}))
    assert (await child.ask("reply", message="?"))["text"] == "second"
    child.abandon()


async def test_a_request_larger_than_the_buffers_of_the_connection_arrives_whole(
    connection: tuple[socket.socket, socket.socket, socket.socket],
) -> None:
    ours, agent, control = connection
    child = ChildProcess(Spawned(None, ours, control, None, "mark", begun=True))
    asking = asyncio.create_task(child.ask("reply", message="x" * 3_000_000))
    await asyncio.sleep(0)
    frames, found = FrameReader(agent.fileno()), list[dict[str, Any]]()
    while not found:
        read = await asyncio.to_thread(frames.read)
        assert read is not None
        found += read
    assert found == [{"n": 1, "do": "reply", "message": "x" * 3_000_000}]
    agent.send(frame({"n": 1, "text": "done"}))
    assert (await asking)["text"] == "done"
    child.abandon()


def test_frames_are_read_as_they_come() -> None:
    viva, agent = socket.socketpair()
    with viva, agent:
        frames = FrameReader(agent.fileno())
        sent = frame({"n": 1}) + frame({"n": 2}) + frame({"n": 3})
        viva.send(sent[:3])
        assert frames.read() == []
        viva.send(sent[3:-2])
        assert frames.read() == [{"n": 1}, {"n": 2}]
        viva.send(sent[-2:])
        assert frames.read() == [{"n": 3}]
        viva.close()
        assert frames.read() is None
