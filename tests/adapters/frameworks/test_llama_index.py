"""What only LlamaIndex has: events that wait for the user, and workflows of agents that hand over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.frameworks.frameworks import calls_of, opened, tools_of
from tests.adapters.frameworks.played import DELETES, HANDS_OFF

pytestmark = pytest.mark.usefixtures("model")


@pytest.mark.parametrize(("answer", "result"), [("Yes.", "a.txt is gone"), ("No.", "refused")])
async def test_a_tool_that_waits_for_the_user_asks_and_goes_on(answer: str, result: str, workspace: Path) -> None:
    async with opened("llama_index", "asking", workspace) as session:
        assert (await session.reply(DELETES.question, 30)).text == "Delete a.txt?"
        reply = await session.reply(answer, 30)
    assert reply.text == "Done with a.txt."
    assert [(step.tool, step.agent, step.result) for step in tools_of(reply)] == [("delete_file", "asking", result)]


async def test_an_agent_that_still_waits_for_the_user_is_closed(workspace: Path) -> None:
    async with opened("llama_index", "asking", workspace) as session:
        assert (await session.reply(DELETES.question, 30)).text == "Delete a.txt?"


async def test_after_a_handoff_the_steps_name_the_other_agent(workspace: Path) -> None:
    async with opened("llama_index", "team", workspace) as session:
        reply = await session.reply(HANDS_OFF.question, 30)
    (step,) = tools_of(reply)
    assert (step.tool, step.agent) == ("handoff", "planner")
    assert [call.agent for call in calls_of(reply)] == ["planner", "booker"]
