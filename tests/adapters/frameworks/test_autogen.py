"""What only AutoGen has: objects that keep the conversation, teams, users in teams, handoffs to the user."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.adapters.frameworks.frameworks import calls_of, in_vivas_process, opened, tools_of
from tests.adapters.frameworks.played import HANDS_TO_USER

pytestmark = pytest.mark.usefixtures("model")


async def test_an_object_is_fresh_for_each_run_in_a_process_of_its_own(workspace: Path) -> None:
    for _ in range(2):
        async with opened("autogen", "alone", workspace) as session:
            assert (await session.reply("one", 30)).text == "You said: one"


def test_an_object_that_runs_would_share_is_a_mistake_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        in_vivas_process("autogen", "alone", 1, tmp_path)
    assert "each run needs a new one. Name a function" in caught.value.stderr


async def test_a_user_in_a_team_is_the_examiner(workspace: Path) -> None:
    async with opened("autogen", "team", workspace) as session:
        first = await session.reply("one", 30)
        assert first.text == "You said: one"
        assert [step.agent for step in calls_of(first)] == ["writer"]
        second = await session.reply("two", 30)
    assert second.text == "You said: one; two"


async def test_a_team_that_still_waits_for_its_user_is_closed(workspace: Path) -> None:
    async with opened("autogen", "team", workspace) as session:
        await session.reply("one", 30)


async def test_after_a_handoff_to_the_user_the_next_message_goes_back(workspace: Path) -> None:
    async with opened("autogen", "swarm", workspace) as session:
        asked = await session.reply(HANDS_TO_USER.question, 30)
        (step,) = tools_of(asked)
        assert (step.tool, step.agent) == ("transfer_to_user", "planner")
        assert "user" in asked.text
        reply = await session.reply("blue", 30)
    assert "blue" in str(reply.text)
