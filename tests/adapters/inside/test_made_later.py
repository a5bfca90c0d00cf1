"""Asynchronous functions make agents, in Viva's process and in the agent's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.connectors.child.child_connectors import open_agent
from viva.errors import AgentError

SOURCE = """
import asyncio
from viva import VirtualUser


class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        return f"{message} {self.task_description}"


class AsyncAgent(Agent):
    async def get_reply_from_agent(self, message):
        return super().get_reply_from_agent(message)

    async def close(self):
        (self.folder / "closed").write_text("agent")


async def returns(task_description):
    await asyncio.sleep(0)
    return Agent(task_description)


async def yields(task_description, workspace):
    task = asyncio.current_task()
    agent = AsyncAgent(task_description)
    agent.folder = workspace
    yield agent
    assert asyncio.current_task() is task
    before = (workspace / "closed").read_text()
    (workspace / "closed").write_text(before + ", then the rest")


async def fails():
    raise ValueError("no connection")  # fails


async def fails_to_yield():
    raise ValueError("no connection")  # fails to yield
    yield


async def yields_nothing():
    if False:
        yield


async def makes_a_number():
    return 5


async def fails_at_the_end():
    yield Agent("x")
    raise ValueError("cannot disconnect")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "makes_later.py"
    path.write_text(SOURCE)
    return path


async def said(file: Path, connector: tuple[str, bool], workspace: Path, name: str) -> tuple[Any, str | None]:
    """Return the reply, and what went wrong with the close."""
    session = await open_agent(f"{file}:{name}{connector[0]}", workspace, isolate=connector[1])
    reply = ""
    try:
        reply = (await session.reply("hello", 20)).text
    finally:
        closed = await session.close()
    return reply, closed


async def test_an_agent_may_be_returned(file: Path, connector: tuple[str, bool], workspace: Path) -> None:
    assert await said(file, connector, workspace, "returns") == ("hello the task", None)


async def test_after_an_agent_that_is_yielded_the_rest_runs_in_the_same_task(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    assert await said(file, connector, workspace, "yields") == ("hello the task", None)
    assert (workspace / "closed").read_text() == "agent, then the rest"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fails", r"makes_later\.py:\d+: ValueError: no connection"),
        ("fails_to_yield", r"makes_later\.py:\d+: ValueError: no connection"),
        ("yields_nothing", "yields_nothing ended without yielding an agent"),
        ("makes_a_number", "makes_a_number made int, which has no get_reply_from_agent"),
    ],
)
async def test_a_function_that_fails_ends_the_run(
    name: str, words: str, file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    with pytest.raises(AgentError, match=words):
        await said(file, connector, workspace, name)


async def test_a_function_that_fails_at_the_end_is_told(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    reply, closed = await said(file, connector, workspace, "fails_at_the_end")
    assert reply == "hello x"
    assert "cannot disconnect" in str(closed)
