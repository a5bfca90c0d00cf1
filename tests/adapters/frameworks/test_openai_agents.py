"""What only the OpenAI Agents SDK has: tools that need approval, handoffs, agents as tools, a context."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.frameworks.frameworks import calls_of, opened, tools_of
from tests.adapters.frameworks.played import DELEGATES, DELETES, HANDS_OVER, LOOKS
from tests.viva.recordings.frameworks.make.script import INPUT_TOKENS, PLAIN
from viva.errors import AgentError
from viva.records.transcript import Round
from viva.records.usage import round_usage

pytestmark = pytest.mark.usefixtures("model")


@pytest.mark.parametrize(("answer", "result"), [("Yes, do it.", "a.txt is gone"), ("No.", None)])
async def test_a_tool_that_needs_approval_asks_the_user(answer: str, result: str | None, workspace: Path) -> None:
    async with opened("openai_agents", "asking", workspace) as session:
        asked = await session.reply(DELETES.question, 30)
        assert "delete_file" in asked.text
        assert "a.txt" in asked.text
        reply = await session.reply(answer, 30)
    assert reply.text == "Done with a.txt."
    (step,) = tools_of(reply)
    assert (step.tool, step.tool_input, step.result) == ("delete_file", {"name": "a.txt"}, result)
    assert (step.error is None) == (result is not None)
    assert len(calls_of(asked)) == len(calls_of(reply)) == 1


async def test_tools_find_the_workspace_and_config_var_in_their_context(workspace: Path) -> None:
    async with opened("openai_agents", "reading", workspace, colour="blue") as session:
        (step,) = tools_of(await session.reply(LOOKS.question, 30))
    assert step.result == f"{workspace} {{'colour': 'blue'}}"


async def test_after_a_handoff_the_other_agent_goes_on(workspace: Path) -> None:
    async with opened("openai_agents", "planner", workspace) as session:
        reply = await session.reply(HANDS_OVER.question, 30)
        again = await session.reply("Thanks.", 30)
    (step,) = tools_of(reply)
    assert (step.tool, step.agent) == ("transfer_to_booker", "planner")
    assert "booker" in str(step.result)
    assert [call.agent for call in calls_of(reply)] == ["planner", "booker"]
    assert [call.agent for call in calls_of(again)] == ["booker"]


async def test_the_tokens_of_an_agent_that_is_a_tool_count(workspace: Path) -> None:
    async with opened("openai_agents", "boss", workspace) as session:
        reply = await session.reply(DELEGATES.question, 30)
    (step,) = tools_of(reply)
    assert (step.tool, step.agent, step.result) == ("ask_expert", "boss", PLAIN.turns[-1].words)
    assert round_usage(Round(1, agent=reply.text, steps=reply.steps, usage=reply.usage)).input_tokens == (
        4 * INPUT_TOKENS
    )


async def test_an_agent_that_goes_on_and_on_is_an_error_of_the_agent(workspace: Path) -> None:
    async with opened("openai_agents", "planner", workspace) as session:
        with pytest.raises(AgentError, match="get_weather"):
            await session.reply(PLAIN.question, 30)
