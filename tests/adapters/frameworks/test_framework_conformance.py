"""Agents of every framework are examined alike: their steps are what their models and tools have done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.frameworks.frameworks import FRAMEWORKS, calls_of, check_reply, in_vivas_process, opened, tools_of
from tests.adapters.frameworks.played import CRASHES
from tests.model_server import ModelServer, ServerError
from tests.viva.recordings.frameworks.make.script import CONVERSATION, FAILING, PARALLEL, PLAIN, UNKNOWN
from viva.errors import AgentError

pytestmark = pytest.mark.usefixtures("model")
AT_ONCE = 20
EVERY_KIND = ("autogen", "pydantic_ai")
"""One of each kind: its objects keep the conversation, or are shared by all runs. The soak tries the others, because
each takes a process that imports a framework."""
STATEFUL = ("autogen",)
"""Frameworks whose objects keep the conversation: each run has its own."""
STRICT = ("openai_agents",)
"""Frameworks that end a run whose model asks for a tool that does not exist."""


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_steps_usage_and_answers_are_those_of_the_script_and_the_conversation_is_remembered(
    framework: str, workspace: Path
) -> None:
    tasks = (PLAIN, FAILING, PARALLEL, *(() if framework in STRICT else (UNKNOWN,)), *CONVERSATION)
    async with opened(framework, "made", workspace) as session:
        replies = [await session.reply(task.question, 30) for task in tasks]
        last = await session.reply("And now?", 30)
    for reply, task in zip(replies, tasks, strict=True):
        check_reply(reply, task)
    assert last.text == f"You said: {'; '.join(task.question for task in tasks)}; And now?"
    ids = [step.id for reply in (*replies, last) for step in reply.steps]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "framework",
    [each if each in EVERY_KIND else pytest.param(each, marks=pytest.mark.soak) for each in FRAMEWORKS],
)
def test_runs_at_the_same_time_do_not_mix(framework: str, tmp_path: Path) -> None:
    name = "made" if framework in STATEFUL else "shared"
    said = json.loads(in_vivas_process(framework, name, AT_ONCE, tmp_path))
    assert said == [f"You said: one {number}; two {number}; three {number}" for number in range(AT_ONCE)]


async def test_a_tool_that_crashes_is_told_with_its_own_words(framework: str, workspace: Path) -> None:
    async with opened(framework, "made", workspace) as session:
        told = ""
        try:
            told = str(tools_of(await session.reply(CRASHES.question, 30))[0].error)
        except AgentError as error:  # where the framework ends the run
            told = str(error)
            at = told.partition(": ")[0]
        else:
            at = f"with_{framework}.py:"
    assert "the tool crashed" in told
    assert at.startswith(f"with_{framework}.py:")


async def test_a_model_that_fails_ends_the_run_with_its_words(
    framework: str, model: ModelServer, workspace: Path
) -> None:
    model.parts["scripted"] = ServerError(400)
    async with opened(framework, "made", workspace) as session:
        with pytest.raises(AgentError, match="the server had an error"):
            await session.reply(PLAIN.question, 60)


async def test_an_asynchronous_function_makes_an_agent_and_closes_it(framework: str, workspace: Path) -> None:
    async with opened(framework, "made_async", workspace, colour="blue") as session:
        reply = await session.reply(PLAIN.question, 30)
        assert reply.text == PLAIN.turns[-1].words
        assert len(calls_of(reply)) == 2
        assert not (workspace / "closed").exists()
    assert (workspace / "closed").read_text() == "{'colour': 'blue'}"
