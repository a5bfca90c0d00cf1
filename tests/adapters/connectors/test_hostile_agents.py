"""An agent that means harm keeps nothing running, and neither stops nor fills the process that all runs share."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.adapters.connectors.acp.scripted_sessions import session as acp_session
from tests.adapters.connectors.child.child_connectors import is_alive, open_agent
from tests.adapters.connectors.command.programs import opened, python, write_program
from viva.adapters.connectors.acp import turn
from viva.adapters.connectors.acp.turn import TurnLog
from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.command import json_lines
from viva.errors import AgentError, AgentTimeout

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")

ESCAPE = """
import os, subprocess, sys, time

def escape():
    marks = {**os.environ, "VIVA_CHILD": "0" * 24}
    code = "import os, time; os.fork() and os._exit(0); os.setsid(); "
    code += "open('pids', 'w').write(str(os.getpid())); time.sleep(600)"
    subprocess.run([sys.executable, "-c", code], env=marks)
    while not os.path.exists("pids") or not open("pids").read():
        time.sleep(0.01)
"""


async def test_a_process_with_the_mark_of_another_run_ends_with_the_run_of_a_program(
    tmp_path: Path, workspace: Path
) -> None:
    text = ESCAPE + 'escape(); sys.stdin.readline(); print(\'{"id": 1, "text": "done"}\', flush=True); sys.stdin.read()'
    session = await opened(python(write_program(tmp_path, text)), workspace)
    assert (await session.reply("go", 60)).text == "done"
    pid = int((workspace / "pids").read_text())
    try:
        assert await session.close() is None
        assert not is_alive(pid)
    finally:
        _kill(pid)


async def test_a_process_with_the_mark_of_another_run_ends_with_the_run_of_a_class(
    tmp_path: Path, workspace: Path
) -> None:
    text = ESCAPE + textwrap.dedent(
        """
        class Agent:
            def __init__(self, task_description, workspace=None):
                self.workspace = workspace

            def get_reply_from_agent(self, message):
                os.chdir(self.workspace)
                escape()
                return "done"
        """
    )
    session = await open_agent(f"{write_program(tmp_path, text, 'agent.py')}:Agent", workspace, isolate=True)
    assert (await session.reply("go", 60)).text == "done"
    pid = int((workspace / "pids").read_text())
    try:
        assert await session.close() is None
        assert not is_alive(pid)
    finally:
        _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except OSError:
        return


@pytest.mark.parametrize(("limit", "words"), [("LIMIT", "20,000 bytes"), ("MOST_LINES", "20,000 lines")])
async def test_steps_without_end_are_cut_off(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, limit: str, words: str
) -> None:
    monkeypatch.setattr(json_lines, limit, 20_000)
    text = 'import sys\nsys.stdin.readline()\nwhile True: print(\'{"id": 1, "step": {"tool": "look"}}\')'
    session = await opened(python(write_program(tmp_path, text)), workspace)
    with pytest.raises(AgentError, match=f"more than {words} in one reply"):
        await session.reply("go", 60)
    assert await session.close() is None


async def test_a_reader_of_a_flood_lets_others_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    # A program may write as fast as Viva reads, so that nothing ever has to be waited for.
    reader, writer = os.pipe()
    os.write(writer, b"x" * 60_000)
    program = cast("Program", SimpleNamespace(_out=reader))
    others: list[int] = []

    async def other() -> None:
        for number in range(10):
            others.append(number)
            await asyncio.sleep(0)

    waiting = asyncio.ensure_future(other())
    for _ in range(8):
        assert await Program.read(program, 10)
    assert len(others) > 5
    await waiting
    os.close(reader)
    os.close(writer)


async def test_notifications_without_end_run_into_the_time_limit(workspace: Path) -> None:
    async with acp_session(workspace) as opened_session:
        flood = '{"jsonrpc": "2.0", "method": "x"}\n' * 2_000
        with pytest.raises(AgentTimeout):
            await asyncio.wait_for(opened_session.reply(_actions(["print forever", flood]), 2), 120)
        assert await opened_session.close() is None


def _actions(*actions: list[Any]) -> str:
    import json

    return json.dumps(actions)


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "tool_call", "content": {"text": ""}, "rawInput": "x" * 1000},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "text": "", "data": "x" * 1000}},
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "resource", "text": "", "resource": {"text": "x" * 1000}},
        },
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": ""}, "messageId": "x" * 1000},
        {"sessionUpdate": "other", "content": {"text": ""}, "more": "x" * 1000},
    ],
)
def test_whatever_an_update_holds_counts(update: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "MOST_CHARACTERS", 10_000)
    log = TurnLog()
    for number in range(30):
        log.note({**update, "toolCallId": str(number)})
    assert log.fault is not None


def test_updates_without_content_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "MOST_CHARACTERS", 10_000)
    log = TurnLog()
    for number in range(1000):
        log.note({"sessionUpdate": "agent_message_chunk", "messageId": number, "content": {"type": "text", "text": ""}})
    assert log.fault is not None
