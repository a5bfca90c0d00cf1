"""What an agent reports by the Agent Client Protocol becomes the reply: its words, its steps and its usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.connectors.acp.scripted_sessions import do, session, spec
from viva.adapters.connectors.table import load_agent
from viva.errors import AgentError
from viva.records.transcript import StepKind


async def test_chunks_are_one_text_and_messages_are_paragraphs(workspace: Path) -> None:
    async with session(workspace) as opened:
        plain = await opened.reply("hello ✓", 30)
        reply = await do(
            opened,
            ["say", "Let me "],
            ["say", "look."],
            ["update", {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "look"}],
            ["say", "Done."],
        )
    assert plain.text == "you said hello ✓"
    assert reply.text == "Let me look.\n\nDone."


async def test_white_space_at_the_ends_is_kept(workspace: Path) -> None:
    async with session(workspace) as opened:
        reply = await do(opened, ["say", "\n a \r\n\n"], ["say", "b", {"messageId": "2"}])
    assert reply.text == "\n a \r\n\nb"


async def test_a_tool_call_is_one_step_with_all_that_its_updates_say(workspace: Path) -> None:
    diff = {"type": "diff", "path": "/w/a.txt", "oldText": "1", "newText": "2"}
    async with session(workspace) as opened:
        reply = await do(
            opened,
            [
                "update",
                {"sessionUpdate": "tool_call", "toolCallId": "7", "title": "edit", "kind": "edit", "status": "pending"},
            ],
            [
                "update",
                {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "7",
                    "title": "Edit a.txt",
                    "rawInput": {"file": "a.txt"},
                    "locations": [{"path": "/w/a.txt", "line": 3}],
                },
            ],
            [
                "update",
                {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "7",
                    "status": "completed",
                    "content": [diff, {"type": "content", "content": {"type": "text", "text": "edited"}}],
                    "rawOutput": {"changed": 1},
                },
            ],
        )
    (step,) = reply.steps
    assert (step.id, step.kind, step.tool) == ("7", StepKind.TOOL, "edit")
    assert (step.tool_input, step.result, step.error) == ({"file": "a.txt"}, "edited", None)
    assert step.attributes["content"] == [diff]
    assert step.attributes["locations"] == [{"path": "/w/a.txt", "line": 3}]
    assert (step.attributes["title"], step.attributes["rawOutput"]) == ("Edit a.txt", {"changed": 1})
    assert step.recorded_by == "agent"


async def test_a_failed_call_is_an_error_of_its_step(workspace: Path) -> None:
    async with session(workspace) as opened:
        reply = await do(
            opened,
            ["update", {"sessionUpdate": "tool_call", "toolCallId": "7", "title": "run", "status": "pending"}],
            [
                "update",
                {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "7",
                    "status": "failed",
                    "content": [{"type": "content", "content": {"type": "text", "text": "no such file"}}],
                },
            ],
        )
    assert reply.steps[0].error == "no such file"


async def test_thoughts_plans_and_unknown_updates_are_steps(workspace: Path) -> None:
    thought = {"sessionUpdate": "agent_thought_chunk"}
    async with session(workspace) as opened:
        reply = await do(
            opened,
            ["update", {**thought, "content": {"type": "text", "text": "First "}}],
            ["update", {**thought, "content": {"type": "text", "text": "this."}}],
            [
                "update",
                {"sessionUpdate": "plan", "entries": [{"content": "Read", "status": "completed", "priority": "low"}]},
            ],
            ["update", {"sessionUpdate": "of_a_later_version", "what": 1}],
            ["update", {"sessionUpdate": "available_commands_update", "availableCommands": []}],
        )
    think, plan, later = reply.steps
    assert (think.kind, think.thought) == (StepKind.THINK, "First this.")
    assert plan.plan == "[completed] Read"
    assert (later.kind, later.tool, later.attributes) == (StepKind.ACTION, "of_a_later_version", {"what": 1})


async def test_usage_is_that_of_the_turn(workspace: Path) -> None:
    usage = {"inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 3, "thoughtTokens": 2, "totalTokens": 20}

    def cost(amount: float) -> list[object]:
        money = {"amount": amount, "currency": "USD"}
        return ["update", {"sessionUpdate": "usage_update", "used": 9, "size": 99, "cost": money}]

    async with session(workspace) as opened:
        first = await do(opened, ["say", "1"], cost(0.5), ["answer", {"stopReason": "end_turn", "usage": usage}])
        second = await do(opened, ["say", "2"], cost(0.75), ["answer", {"stopReason": "end_turn", "usage": usage}])
        third = await do(opened, ["say", "3"])
    assert (first.usage.input_tokens, first.usage.cached_tokens) == (13, 3)
    assert (first.usage.output_tokens, first.usage.reasoning_tokens) == (7, 2)
    assert (first.usage.cost, second.usage.cost) == (0.5, 0.25)
    assert third.usage.input_tokens == 0


async def test_cached_tokens_within_the_input_are_counted_once(workspace: Path) -> None:
    usage = {"inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 3, "thoughtTokens": 2, "totalTokens": 15}
    async with session(workspace) as opened:
        reply = await do(opened, ["say", "1"], ["answer", {"stopReason": "end_turn", "usage": usage}])
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (10, 5, 3)


async def test_the_usage_of_each_call_of_a_model_is_added_up(workspace: Path) -> None:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}}
    meta = {"usage": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}}
    async with session(workspace) as opened:
        reply = await do(opened, ["update", {**chunk, "_meta": meta}], ["update", {**chunk, "_meta": meta}])
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.calls) == (20, 4, 2)


@pytest.mark.parametrize("stop", ["refusal", "max_tokens", "max_turn_requests", "cancelled"])
async def test_a_turn_that_did_not_end_by_itself_says_why(workspace: Path, stop: str) -> None:
    async with session(workspace) as opened:
        reply = await do(opened, ["say", "I will not."], ["answer", {"stopReason": stop}])
        with pytest.raises(AgentError, match=f"without an answer: {stop}"):
            await do(opened, ["answer", {"stopReason": stop}])
    assert reply.text == "I will not."
    assert reply.steps[-1].error == f"the turn stopped: {stop}"
    assert reply.steps[-1].attributes["stop_reason"] == stop


async def test_an_agent_may_say_nothing(workspace: Path) -> None:
    async with session(workspace) as opened:
        assert (await do(opened)).text == ""


async def test_a_large_reply_arrives_whole(workspace: Path) -> None:
    async with session(workspace) as opened:
        assert len((await do(opened, ["big", 50_000_000])).text) == 50_000_000


async def test_the_session_is_in_the_workspace_with_the_servers_of_the_case(workspace: Path) -> None:
    servers = [{"name": "tools", "url": "http://127.0.0.1:1/x", "command": "/bin/bridge", "args": ["1"]}]
    async with session(workspace, config={"mcp_servers": servers}) as opened:
        assert (await do(opened, ["folder"])).text == str(workspace)
    asked = json.loads((workspace / "new_session.json").read_text())
    assert asked["cwd"] == str(workspace)
    assert asked["mcpServers"] == [{"name": "tools", "command": "/bin/bridge", "args": ["1"], "env": []}]
    async with session(workspace, "--offers", "http", config={"mcp_servers": servers}):
        asked = json.loads((workspace / "new_session.json").read_text())
    assert asked["mcpServers"] == [{"type": "http", "name": "tools", "url": "http://127.0.0.1:1/x", "headers": []}]


def test_an_agent_says_its_name_and_version() -> None:
    loaded = load_agent(spec())
    assert (loaded.name, loaded.version, loaded.kind) == ("Scripted agent", "1.2.3", "acp")
