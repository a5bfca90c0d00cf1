"""Real coding agents are examined by the Agent Client Protocol, with a scripted model behind them.

An exam of one of them takes 15 seconds of processor time, and the start of a session a third of that: with all other
tests, one agent opens a session. The rest is for a soak, because scripted agents keep the same promises in the modules
beside this one.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.adapters.connectors.acp.coding_models import MODEL, clerk, coder
from tests.adapters.connectors.acp.scripted_sessions import PATIENCE, seen, session
from tests.environments import ROOT, program_of
from tests.model_server import ModelServer
from tests.viva.conftest import Desk
from viva.adapters.agent_state import load_state, save_state
from viva.adapters.connectors.table import load_agent
from viva.journal.reader import read_runs
from viva.journal.writer import scan

EXAMPLES = ROOT / "examples" / "agents" / "acp"
AGENTS = {"opencode": ("opencode", "acp"), "qwen": ("qwen", "--acp", "--auth-type=openai")}
PERMISSION = "session/request_permission"


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[str, str]]:
    """The environment of an agent that has its own home, and the scripted model."""
    home = tmp_path / "home"
    home.mkdir()
    with ModelServer({MODEL: coder, "clerk": clerk}) as server:
        found = {"HOME": str(home), "OPENCODE_CONFIG": str(EXAMPLES / "opencode.json")}
        found |= {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        found |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "unused", "OPENAI_MODEL": MODEL, "MODEL": MODEL}
        for name, value in found.items():
            monkeypatch.setenv(name, value)
        yield found


def command(name: str) -> list[str]:
    program, *options = AGENTS[name]
    return [str(program_of(name, program)), *options]


def spec(name: str) -> str:
    return f"acp:{shlex.join(command(name))}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("name", [pytest.param("opencode", marks=pytest.mark.soak), "qwen"])
async def test_a_session_is_opened(tmp_path: Path, variables: Mapping[str, str], name: str) -> None:
    async with session(tmp_path, agent=spec(name)) as opened:
        assert opened is not None


@pytest.mark.soak
@pytest.mark.parametrize("name", AGENTS)
def test_the_example_solves_a_bundled_case(desk: Desk, variables: Mapping[str, str], name: str) -> None:
    bin_folder = str(Path(command(name)[0]).parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", bin_folder, prepend=":")
        example = EXAMPLES / f"{name}.yaml"
        record = desk.run("same_number_in_two_files", "--agent", example, process=True, environment=dict(variables))
    assert record["outcome"] == "scored"
    assert record["insights"][0]["score"] == 1.0


@pytest.mark.soak
@pytest.mark.parametrize("name", AGENTS)
async def test_calls_permissions_and_usage_are_recorded_and_denied_calls_not_made(
    tmp_path: Path, variables: Mapping[str, str], name: str
) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    mode = {"mode": "default"} if name == "qwen" else {}
    file = tmp_path / "agent.yaml"
    file.write_text(json.dumps({"connector": "acp", "command": command(name), "permissions": "allow", **mode}))
    agent = load_agent(str(file))
    async with session(tmp_path / "first", agent=agent) as opened:
        reply = await opened.reply("RUN echo hello > out.txt; cat out.txt", PATIENCE)
        (asked,) = await seen(opened)
    assert "The task is done." in reply.text
    assert (tmp_path / "first" / "out.txt").read_text() == "hello\n"
    (call,) = [step for step in reply.steps if step.tool]
    assert call.tool_input["command"] == "echo hello > out.txt; cat out.txt"
    assert "hello" in str(call.result)
    assert call.error is None
    assert (asked.tool, asked.recorded_by) == (PERMISSION, "environment")
    assert str(asked.result).startswith("allow: ")
    assert reply.usage.input_tokens > 0

    assert agent.permit is not None
    async with session(tmp_path / "second", agent=agent.permit(agent, "deny")) as opened:
        await opened.reply("RUN touch out.txt", PATIENCE)
        (asked,) = await seen(opened)
    assert str(asked.result).startswith("deny: ")
    assert not (tmp_path / "second" / "out.txt").exists()


@pytest.mark.soak
def test_opencode_uses_the_servers_of_a_case_and_viva_sees_it(desk: Desk, variables: Mapping[str, str]) -> None:
    case, agent = ROOT / "examples" / "agents" / "mcp" / "order_desk", spec("opencode")
    arguments = (str(case), "--agent", agent, "--permissions", "allow", "--allow-pre-command")
    record = desk.run(*arguments, process=True, environment={**variables, "MODEL": "clerk"})
    assert record["insights"][0]["score"] == 1.0
    rounds = [event.data for event in scan(desk.folder / "journal") if event.kind == "round"]
    steps = [step for each in rounds for step in each["steps"] if step.get("recorded_by") == "environment"]
    assert [step["tool"] for step in steps] == ["list_orders", "cancel_order", "list_orders"]


@pytest.mark.soak
async def test_a_forked_session_of_opencode_diverges_in_its_folder(
    tmp_path: Path, variables: Mapping[str, str]
) -> None:
    agent = load_agent(spec("opencode"), permissions="allow")
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    async with session(tmp_path / "first", agent=agent) as original:
        await original.reply("remember apple", PATIENCE)
        state = await save_state(original)
        await original.reply("remember banana", PATIENCE)
        assert state is not None
        async with session(tmp_path / "first", agent=agent) as forked:
            assert await load_state(forked, json.loads(state))
            await forked.reply("remember cherry", PATIENCE)
            assert (await forked.reply("what did I say?", PATIENCE)).text == "apple / cherry"
        assert (await original.reply("what did I say?", PATIENCE)).text == "apple / banana"
    async with session(tmp_path / "second", agent=agent) as elsewhere:
        assert not await load_state(elsewhere, json.loads(state)), "OpenCode would go on in the first folder"
        await elsewhere.reply("RUN touch here.txt", PATIENCE)
    assert (tmp_path / "second" / "here.txt").exists()


@pytest.mark.soak
def test_a_conversation_of_opencode_is_replayed_with_the_servers_of_its_case(
    desk: Desk, variables: Mapping[str, str]
) -> None:
    case, agent = ROOT / "examples" / "agents" / "mcp" / "order_desk", spec("opencode")
    more = ("--permissions", "allow", "--allow-pre-command")
    environment = {**variables, "MODEL": "clerk"}
    desk.run(str(case), "--agent", agent, *more, process=True, environment=environment)
    arguments = ("--fork-at", "1", "--against", agent, "--sandbox", "process", "--out", "forked")
    desk.viva("replay", "journal", *arguments, *more, process=True, environment=environment, expect=0)
    (forked,) = read_runs(desk.folder / "forked")
    assert forked.record is not None
    assert forked.record.setting.forked_from["by"] == "replay"
    seen_tools = [
        [step.tool for step in each.steps if step.recorded_by == "environment"] for each in forked.transcript.rounds
    ]
    assert seen_tools == [["list_orders", "cancel_order"], ["list_orders"]]
