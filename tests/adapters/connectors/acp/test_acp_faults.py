"""Whatever an agent behind the Agent Client Protocol does wrong is its failure, in its own words, and nothing hangs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.connectors.acp import scripted_sessions
from tests.adapters.connectors.acp.scripted_sessions import AGENT, do, session
from tests.adapters.connectors.child.child_connectors import AT_ONCE, is_alive, until
from tests.viva.conftest import Desk
from viva.adapters.connectors.acp import client, connection, messages, turn
from viva.adapters.connectors.acp.agent import AcpFactory
from viva.adapters.connectors.acp.keys import AcpKeys, AcpSetting
from viva.adapters.connectors.acp.session import AcpSession
from viva.adapters.connectors.command.command_line import CommandLine
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import AgentError, AgentTimeout

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


async def fault(workspace: Path, *actions: list[Any]) -> str:
    """The words of the failure, after which the session closes without another."""
    async with session(workspace) as opened:
        with pytest.raises(AgentError) as caught:
            await do(opened, *actions)
        assert await opened.close() is None
    return str(caught.value)


async def test_an_agent_that_dies_is_quoted(workspace: Path) -> None:
    words = await fault(workspace, ["say", "I was about to"], ["stderr", "out of ideas\n"], ["exit", 3])
    assert "ended with code 3" in words
    assert "out of ideas" in words
    assert "it had said: I was about to" in words


async def test_an_agent_that_is_killed_says_by_what(workspace: Path) -> None:
    assert "SIGSEGV" in await fault(workspace, ["kill", signal.SIGSEGV])


async def test_a_few_stray_lines_are_kept_and_do_no_harm(workspace: Path) -> None:
    async with session(workspace, "--stray") as opened:
        reply = await do(opened, ["print", "Fetching…"], ["say", "Here."])
        assert reply.text == "Here."
        await opened.close()
        assert opened.printed["stdout"] == "Starting up, please wait.\nFetching…"


async def test_garbage_without_end_is_a_fault_that_quotes_it(workspace: Path) -> None:
    words = await fault(workspace, ["print", "\n".join(["blah"] * 200)], ["sleep", 60])
    assert "not messages of the protocol: blah" in words


async def test_bytes_that_are_no_text_are_a_fault(workspace: Path) -> None:
    words = await fault(workspace, ["bytes", "7bff fe80 0a".replace(" ", "")], ["sleep", 60])
    assert "cannot be read" in words


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": 99, "result": {}}',
        '{"jsonrpc": "2.0", "id": {"a": 1}, "result": {}}',
        '{"jsonrpc": "2.0", "id": [1], "method": "fs/read_text_file"}',
        '{"jsonrpc": "2.0"}',
        '{"jsonrpc": "2.0", "method": 7}',
        '{"jsonrpc": "2.0", "id": 2, "error": "bad"}',
        '{"jsonrpc": "2.0", "id": 2}',
        '{"jsonrpc": ',
        '{"a": NaN}',
        '{"a": ' + "[" * 200 + "]" * 200 + "}",
        '{"a": [' + "1," * 200_000 + "1]}",
    ],
    ids=range(11),
)
async def test_invalid_messages_are_faults_that_quote_them(workspace: Path, line: str) -> None:
    words = await fault(workspace, ["print", line], ["sleep", 60])
    assert "message" in words
    assert line[:10] in words


async def test_an_update_of_a_strange_shape_does_no_harm(workspace: Path) -> None:
    async with session(workspace) as opened:
        reply = await do(
            opened,
            ["print", '{"jsonrpc": "2.0", "method": "session/update", "params": 7}'],
            ["print", '{"jsonrpc": "2.0", "method": "session/update"}'],
            ["update", {"sessionUpdate": ["x"], "content": 3}],
            ["update", {"sessionUpdate": "agent_message_chunk", "content": [1]}],
            ["update", {"sessionUpdate": "tool_call", "toolCallId": {"a": 1}, "content": "x", "rawInput": [[1]]}],
            ["update", {"sessionUpdate": "tool_call_update", "toolCallId": None, "_meta": 5, "locations": "?"}],
            ["update", {"sessionUpdate": "plan", "entries": 4}],
            ["update", {"sessionUpdate": "plan_update", "plan": []}],
            ["update", {"sessionUpdate": "usage_update", "cost": {"amount": "x", "currency": "USD"}}],
            ["say", "Still here."],
            ["answer", {"stopReason": "end_turn", "usage": {"inputTokens": "many"}}],
        )
    assert reply.text.endswith("Still here.")
    assert not reply.usage.reported


async def test_an_answer_that_is_no_object_is_a_fault(workspace: Path) -> None:
    assert "not an object" in await fault(workspace, ["answer", "done"])


async def test_a_message_without_end_is_cut_off(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_BYTES", 4 * 1024 * 1024)
    assert "more than 4 MiB" in await fault(workspace, ["endless line"])


async def test_a_turn_without_end_is_cut_off(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "MOST_CHARACTERS", 1_000_000)
    assert "more for one message than Viva keeps" in await fault(workspace, ["endless text"])


@pytest.mark.parametrize("pause", [0.0, 0.0005], ids=["fast", "one by one"])
async def test_requests_without_end_are_cut_off(workspace: Path, pause: float) -> None:
    """Also if each of them is answered before the next one: the agent reads no answer."""
    assert "requests are open" in await fault(workspace, ["endless requests", pause])


async def test_a_flood_on_stderr_blocks_nothing_and_its_end_is_kept(workspace: Path) -> None:
    async with session(workspace) as opened:
        reply = await do(opened, ["stderr", "noise ", 5_000_000], ["stderr", "the end"], ["say", "Fine."])
        await opened.close()
        assert reply.text == "Fine."
        assert opened.printed["stderr"].endswith("the end")
        assert len(opened.printed["stderr"]) < 40_000


async def test_a_hung_agent_is_cancelled_then_killed(workspace: Path) -> None:
    async with session(workspace) as opened:
        with pytest.raises(AgentTimeout):
            await do(opened, ["hang until cancelled"], seconds=0.5)
        assert await until((workspace / "cancelled").exists)
        assert await opened.close() is None


async def test_an_agent_that_ignores_everything_is_killed_with_its_daemons(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "EXIT_SECONDS", 0.1)
    pids = tmp_path / "pids"
    async with session(workspace, "--pid", str(pids)) as opened:
        with pytest.raises(AgentTimeout):
            await do(opened, ["daemon"], ["sleep", 600], seconds=1.5)
        assert await opened.close() is None
        assert await opened.close() is None
    for pid in [*pids.read_text().split(), (workspace / "daemon.pid").read_text()]:
        assert not is_alive(int(pid))


async def test_an_agent_that_closes_its_stdout_has_ended(workspace: Path) -> None:
    assert "closed its stdout" in await fault(workspace, ["close stdout"])


async def test_a_message_after_the_end_fails_at_once(workspace: Path) -> None:
    async with session(workspace) as opened:
        with pytest.raises(AgentError):
            await do(opened, ["exit", 0])
        with pytest.raises(AgentError, match="ended with code 0"):
            await opened.reply("Are you there?", 30)
        await opened.close()
        with pytest.raises(AgentError, match="has ended"):
            await opened.reply("Are you there?", 30)


async def test_what_is_requested_after_the_answer_is_served_and_belongs_to_the_next_round(workspace: Path) -> None:
    request = {"path": str(workspace / "late.txt"), "content": "late"}
    async with session(workspace) as opened:
        await do(opened, ["say", "Done."], ["after", "fs/write_text_file", request])
        assert await until((workspace / "late.txt").exists)
        reply = await opened.reply("Anything else?", 30)
        assert [step.tool for step in await opened.environment.take()] == ["fs/write_text_file"]
    assert reply.text == "you said Anything else?"


async def test_a_session_that_never_begins_is_cut_off(workspace: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = CommandLine(sys.executable, (sys.executable, str(AGENT), "--pid", str(pids), "--deaf"))
    factory = AcpFactory(AcpSetting(command, AcpKeys(command="unused")))
    with pytest.raises(AgentTimeout, match="did not begin a session within"):
        await open_session(factory, AgentArguments("the task", None, None, workspace), 1.5)
    assert await until(lambda: not any(is_alive(int(pid)) for pid in pids.read_text().split()))


@pytest.mark.parametrize("what", [connection.AgentConnection, client.SessionClient])
async def test_its_temporary_folder_is_removed_also_if_its_end_fails(
    what: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    close = what.close

    async def failing(self: Any) -> None:
        await close(self)
        raise OSError("the end failed")

    loaded = load_agent(scripted_sessions.spec())
    monkeypatch.setattr(what, "close", failing)
    opened = await open_session(loaded.factory, AgentArguments("the task"), scripted_sessions.PATIENCE)
    folder = Path(opened.agent.workspace)
    assert folder.is_dir()
    assert "the end failed" in (await opened.close() or "")
    assert not folder.exists()


async def test_an_agent_ends_also_if_it_cannot_be_asked_to_cancel_its_turn(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(self: AcpSession) -> None:
        raise RuntimeError("the request failed")

    monkeypatch.setattr(AcpSession, "cancel", failing)
    pids = tmp_path / "pids"
    async with session(workspace, "--pid", str(pids)) as opened:
        with pytest.raises(AgentTimeout):
            await do(opened, ["sleep", 600], seconds=0.5)
        assert await opened.close() is None
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())


async def test_sessions_at_once_do_not_mix(tmp_path: Path) -> None:
    async def one(number: int) -> str:
        folder = tmp_path / str(number)
        folder.mkdir()
        async with session(folder, agent=spec_of_all) as opened:
            first = await opened.reply(f"I am {number}", 60)
            second = await do(opened, ["say what was said"], ["folder"], seconds=60)
        assert str(folder) in second.text
        assert f'"I am {number}"' in second.text
        return first.text

    spec_of_all = scripted_sessions.spec()
    texts = await asyncio.gather(*map(one, range(AT_ONCE)))
    assert texts == [f"you said I am {number}" for number in range(AT_ONCE)]


async def test_sessions_leave_no_descriptor_and_no_file(workspace: Path) -> None:
    async with session(workspace) as opened:
        await opened.reply("warm up", 30)
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(5):
        async with session(workspace) as opened:
            await do(opened, ["ask", "terminal/create", {"command": "sleep 600"}], ["say", "x"])
    assert len(os.listdir("/proc/self/fd")) <= len(before)


async def test_nothing_of_an_agent_outlives_viva(tmp_path: Path) -> None:
    desk, pids = Desk(tmp_path), tmp_path / "pids"
    hang = [["daemon"], ["ask", "terminal/create", {"command": "sh", "args": ["-c", "echo $$ > pid; sleep 600"]}]]
    case = desk.case(script=[json.dumps([*hang, ["sleep", 600]])])
    agent = scripted_sessions.spec("--pid", str(pids))
    viva = desk.start("run", case, "--agent", agent, "--out", "journal", "--sandbox", "process", "--quiet")

    def noted() -> list[int]:
        files = [pids, *tmp_path.glob("journal/workspaces/*/daemon.pid"), *tmp_path.glob("journal/workspaces/*/pid")]
        return [int(pid) for file in files if file.exists() for pid in file.read_text().split()]

    try:
        # One began a session before the exam, the others belong to the run.
        assert await until(lambda: len(noted()) == 4)
        assert sum(map(is_alive, noted())) == 3
    finally:
        viva.kill()
        viva.communicate()
    assert await until(lambda: not any(map(is_alive, noted())))
