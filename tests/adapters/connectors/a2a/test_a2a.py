"""Agents that speak A2A, made with the protocol's own SDK: version 1.0 and 0.3, streamed or asked for their state."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("a2a", reason="the package a2a-sdk is not installed")

from tests.environments import python_of
from tests.ports import free_port
from tests.viva.conftest import Desk
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError
from viva.records.transcript import StepKind

HERE = Path(__file__).parent
EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "agents" / "a2a" / "server.py"
SERVERS = {
    "1.0": ("a2a", "server_1_0.py", "stream"),
    "1.0-asked": ("a2a", "server_1_0.py", "ask"),
    "1.0-rest": ("a2a", "server_1_0.py", "stream", "HTTP+JSON"),
    "0.3": ("a2a_0_3", "server_0_3.py", "stream"),
    "0.3-asked": ("a2a_0_3", "server_0_3.py", "ask"),
}


@pytest.fixture(scope="module", params=SERVERS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    environment, script, *arguments = SERVERS[request.param]
    command = [python_of(environment), HERE / script, *arguments]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@asynccontextmanager
async def talking(url: str, workspace: Path | None = None) -> AsyncIterator[AgentSession]:
    session = await open_session(load_agent(f"a2a:{url}").factory, AgentArguments("task", workspace=workspace), 10)
    try:
        yield session
    finally:
        assert await session.close() is None


async def test_messages_of_one_conversation_are_in_one_context(url: str) -> None:
    async with talking(url) as one, talking(url) as other:
        assert [(await one.reply(text, 20)).text for text in ("say hello", "say more")] == ["hello (1)", "more (2)"]
        assert (await other.reply("say hello", 20)).text == "hello (1)"


async def test_a_question_of_the_agent_is_a_reply_and_its_answer_continues_the_task(url: str) -> None:
    async with talking(url) as session:
        assert (await session.reply("ask city", 20)).text == "Which city?"
        assert (await session.reply("Rome", 20)).text == "ask city | Rome in one task: True"
        assert (await session.reply("Paris", 20)).text == "ask city | Rome | Paris in one task: False"


async def test_what_the_agent_says_while_it_works_is_a_step_and_artifacts_are_its_reply(url: str) -> None:
    async with talking(url) as session:
        reply = await session.reply("slow", 20)
    assert reply.text in ("Done at last.", "Done \nat last.")
    thoughts = [step.thought for step in reply.steps]
    assert {step.kind for step in reply.steps} <= {StepKind.THINK}
    assert thoughts in ([], ["I think."], ["I still think."], ["I think.", "I still think."])
    assert not reply.usage.reported


async def test_a_streamed_task_tells_every_step(url: str, request: pytest.FixtureRequest) -> None:
    if "asked" in str(request.node.name):
        pytest.skip("the server does not stream")
    async with talking(url) as session:
        reply = await session.reply("slow", 20)
    assert [step.thought for step in reply.steps] == ["I think.", "I still think."]


async def test_files_go_into_the_workspace_under_a_name_that_cannot_lead_out_of_it(url: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    async with talking(url, workspace) as session:
        reply = await session.reply("file ../../etc/table.csv", 20)
    assert reply.text == 'Here it is.\n\n[file table.csv]\n\n{"rows": 1.0}'
    assert (workspace / "table.csv").read_bytes() == b"a,b\n1,2\n"
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["table.csv"]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("fail out of paper", "the agent's task failed: out of paper"),
        ("reject not my job", "the agent's task was rejected: not my job"),
        ("auth sign in first", "the agent's task requires authentication: sign in first"),
    ],
)
async def test_a_task_that_does_not_end_well_is_the_agents_failure_with_its_words(
    url: str, message: str, told: str
) -> None:
    async with talking(url) as session:
        with pytest.raises(AgentError, match=told):
            await session.reply(message, 20)
        assert (await session.reply("say hello", 20)).text == "hello (2)"


async def test_fifty_conversations_at_once_do_not_mix(url: str) -> None:
    async def one(number: int) -> list[str]:
        async with talking(url) as session:
            return [(await session.reply(f"say {number}.{turn}", 60)).text for turn in (1, 2)]

    said = await asyncio.gather(*(one(number) for number in range(50)))
    assert said == [[f"{number}.1 (1)", f"{number}.2 (2)"] for number in range(50)]


def test_the_example_passes_a_bundled_case(tmp_path: Path) -> None:
    port = free_port()
    server = subprocess.Popen([python_of("a2a"), EXAMPLE, str(port)], stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        run = Desk(tmp_path).run("sum_1_to_50", "--agent", f"a2a:http://127.0.0.1:{port}", process=True)
    finally:
        server.kill()
        server.wait()
    assert run["score"] == 1.0
