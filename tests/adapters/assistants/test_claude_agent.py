"""Agents of the Claude Agent SDK: the real SDK and Claude Code, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.assistants.opened import AGENTS, kill_with, opened, processes_with
from tests.adapters.assistants.shop_server import ShopServer
from tests.environments import folder_of
from tests.messages_server import Hangs, MessagesServer, Play, Refused, Request, Says, results, said
from viva.adapters import StepKind
from viva.errors import AgentError, AgentTimeout, SetupError

WRITE = {"command": "echo 42 > a.txt; cat a.txt", "description": "Write"}


def model(request: Request) -> Play:
    """Play by the last words of the user: the results of tools so far decide how far it is."""
    word, done = said(request)[-1], len(results(request))
    if word == "write":
        call = ("toolu_write", "Bash", WRITE)
        fails = ("toolu_fail", "Bash", {"command": "echo lost >&2; exit 3", "description": "Fail"})
        return (
            Says("Done.", usage=(150, 20)) if done else Says("I write.", (call, fails), "It is easy.", usage=(100, 10))
        )
    if word == "delegate":
        task = {
            "description": "Look",
            "prompt": "look for me",
            "subagent_type": "general-purpose",
            "run_in_background": False,
        }
        return Says("It found it.") if done else Says("", (("toolu_task", "Agent", task),))
    if word == "look for me":
        call = ("toolu_sub", "Bash", {"command": "echo found", "description": "Look"})
        return Says("Found.") if done else Says("", (call,))
    if word == "read":
        return (
            Says("I cannot.") if done else Says("", (("toolu_read", "Write", {"file_path": "b.txt", "content": "x"}),))
        )
    if word == "price":
        call = ("toolu_price", "mcp__shop__price", {"of": "tea"})
        return Says("It costs 3.") if done else Says("", (call,))
    if word == "refuse":
        return Refused(401)
    if word == "hang":
        return Hangs()
    asked = [text for text in said(request) if text.startswith("say ")]
    return Says("; ".join(asked), usage=(10 * len(asked), 1))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    with MessagesServer(model) as server:
        for name, value in {
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": str(tmp_path / "home"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


pytestmark = pytest.mark.usefixtures("home")


def spec_of(name: str) -> str:
    return f"{AGENTS}/with_claude.py:{name}@{folder_of('claude_agent_sdk')}"


async def test_tools_results_failures_thoughts_and_tokens_are_those_of_the_script(workspace: Path) -> None:
    async with opened(spec_of("options"), workspace) as session:
        reply = await session.reply("write", 60)
        assert (workspace / "a.txt").read_text() == "42\n"
        again = await session.reply("say more", 60)
    assert reply.text == "Done."
    wrote, failed = reply.steps
    assert (wrote.kind, wrote.tool, wrote.tool_input) == (StepKind.TOOL, "Bash", WRITE)
    assert (wrote.result, wrote.error, wrote.thought) == ("42", None, "It is easy.\nI write.")
    assert failed.error is not None
    assert "lost" in failed.error
    assert "3" in failed.error
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.calls) == (250, 30, 2)
    assert reply.usage.cost is not None
    assert (again.usage.input_tokens, again.usage.output_tokens, again.usage.calls) == (10, 1, 1)
    assert again.usage.cost is not None
    assert 0 < again.usage.cost < reply.usage.cost


async def test_the_steps_of_a_sub_agent_are_below_the_call_that_started_it(workspace: Path) -> None:
    async with opened(spec_of("options"), workspace) as session:
        reply = await session.reply("delegate", 60)
    assert reply.text == "It found it."
    task, found = reply.steps
    assert (task.tool, task.agent, task.parent_id) == ("Agent", None, None)
    assert "Found." in str(task.result)
    assert (found.tool, found.result, found.parent_id, found.agent) == ("Bash", "found", task.id, "general-purpose")
    assert reply.usage.input_tokens == 400


async def test_the_servers_of_the_case_are_the_agents_without_a_line_for_it(workspace: Path) -> None:
    with ShopServer() as shop:
        async with opened(spec_of("unasked"), workspace, mcp_servers=[{"name": "shop", "url": shop.url}]) as session:
            reply = await session.reply("price", 60)
    (step,) = reply.steps
    assert (step.tool, step.tool_input, step.error) == ("mcp__shop__price", {"of": "tea"}, None)
    assert "tea costs 3" in str(step.result)
    assert shop.called == [{"name": "price", "arguments": {"of": "tea"}}]


async def test_a_tool_that_was_not_permitted_is_a_failed_step(workspace: Path) -> None:
    async with opened(spec_of("unasked"), workspace) as session:
        reply = await session.reply("read", 60)
    (step,) = reply.steps
    assert step.error is not None
    assert "permission" in step.error
    assert step.attributes["permission_denied"]
    assert not (workspace / "b.txt").exists()


async def test_runs_at_the_same_time_remember_their_own_conversation(tmp_path: Path) -> None:
    async def talk(number: int) -> list[str]:
        async with opened(spec_of("options"), tmp_path / f"workspace{number}") as session:
            return [(await session.reply(f"say {number}.{turn}", 120)).text for turn in (1, 2)]

    for number, texts in enumerate(await asyncio.gather(*map(talk, range(2)))):
        assert texts == [f"say {number}.1", f"say {number}.1; say {number}.2"]


async def test_a_key_that_is_refused_is_told_in_the_programs_own_words(workspace: Path) -> None:
    async with opened(spec_of("options"), workspace) as session:
        with pytest.raises(AgentError, match=r"(?s)Claude Code failed: .*(API key|API Error)"):
            await session.reply("refuse", 60)


async def test_a_program_that_is_missing_is_told_with_what_to_do(workspace: Path) -> None:
    async with opened(spec_of("missing"), workspace) as session:
        with pytest.raises(AgentError, match=r"(?s)/nowhere/claude.*set cli_path"):
            await session.reply("write", 60)


async def test_a_program_that_dies_is_told_with_the_end_of_what_it_printed(tmp_path: Path, workspace: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 'no such flag' >&2\nexit 3\n")
    program.chmod(0o755)
    async with opened(spec_of("made"), workspace, cli=str(program)) as session:
        with pytest.raises(AgentError, match=r"(?s)exit code 3|no such flag"):
            await session.reply("write", 60)


async def test_a_program_that_is_killed_while_it_works_ends_the_reply(tmp_path: Path, workspace: Path) -> None:
    mark = f"mark-{tmp_path.name}-{id(workspace)}"
    async with opened(spec_of("marked"), workspace, mark=mark) as session:
        await session.reply("say one", 60)
        asked = asyncio.ensure_future(session.reply("hang", 60))
        await asyncio.sleep(1)
        kill_with(mark, "claude")
        with pytest.raises(AgentError, match=r"(?i)exit code|ended without a result"):
            await asked


async def test_a_run_that_hangs_ends_with_its_processes(tmp_path: Path, workspace: Path) -> None:
    mark = f"mark-{tmp_path.name}-{id(workspace)}"
    async with opened(spec_of("marked"), workspace, mark=mark) as session:
        with pytest.raises(AgentTimeout):
            await session.reply("hang", 4)
        assert processes_with(mark)
    assert not processes_with(mark)


async def test_a_client_cannot_serve_several_exams(workspace: Path) -> None:
    with pytest.raises(SetupError, match="ClaudeAgentOptions"):
        async with opened(spec_of("client"), workspace):
            pass
