"""What only LangGraph and LangChain have: checkpointers, interrupts, schemas of states, chains, agents in tools."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.adapters.frameworks.frameworks import opened, spec_of, tools_of
from tests.adapters.frameworks.played import DELEGATES, DELETES
from viva.adapters import StepKind
from viva.adapters.connectors.table import load_agent
from viva.adapters.inside.frameworks.langchain_messages import answer_in
from viva.errors import AgentError, SetupError

pytestmark = pytest.mark.usefixtures("model")


async def test_an_interrupt_is_a_reply_and_the_next_message_resumes(workspace: Path) -> None:
    async with opened("langgraph", "asking", workspace) as session:
        assert (await session.reply("Hello.", 30)).text == "Which colour?"
        assert (await session.reply("blue", 30)).text == "You like blue."


async def test_a_tool_that_interrupts_is_one_step_when_it_has_ended(workspace: Path) -> None:
    async with opened("langgraph", "careful", workspace) as session:
        asked = await session.reply(DELETES.question, 30)
        assert (asked.text, tools_of(asked)) == ("Delete a.txt?", [])
        reply = await session.reply("Yes.", 30)
    (step,) = tools_of(reply)
    assert (step.tool, step.result, step.error) == ("delete_file", "Yes. a.txt is gone", None)


async def test_two_interrupts_at_once_are_both_asked_and_both_answered(workspace: Path) -> None:
    async with opened("langgraph", "asking_twice", workspace) as session:
        assert (await session.reply("Hello.", 30)).text == "Which colour?\n\nWhich number?"
        assert (await session.reply("seven blue", 30)).text == "seven blue, seven blue"


async def test_a_graph_with_its_own_checkpointer_has_a_thread_for_each_run(workspace: Path) -> None:
    async with opened("langgraph", "remembering", workspace) as session:
        await session.reply("one", 30)
        assert (await session.reply("two", 30)).text == "You said: one; two"


async def test_steps_of_an_agent_inside_of_a_tool_name_it_and_are_below_the_tool(workspace: Path) -> None:
    async with opened("langgraph", "boss", workspace) as session:
        reply = await session.reply(DELEGATES.question, 30)
    ask, look_up = tools_of(reply)
    assert (ask.tool, ask.agent, ask.parent_id) == ("ask_expert", "boss", None)
    assert (look_up.tool, look_up.agent, look_up.parent_id) == ("get_weather", "weatherman", ask.id)
    below = [step for step in reply.steps if step.parent_id == ask.id and step.kind is StepKind.MODEL]
    assert [step.agent for step in below] == ["weatherman", "weatherman"]


async def test_a_state_without_messages_says_what_is_needed() -> None:
    with pytest.raises(SetupError, match=r"notes in .* the fields question, answer, depth.*RunnableLambda"):
        load_agent(spec_of("langgraph", "notes"))


async def test_functions_around_a_graph_give_it_its_input_and_pick_the_answer(workspace: Path) -> None:
    async with opened("langgraph", "adapted", workspace) as session:
        assert (await session.reply("hello", 30)).text == "HELLO"


async def test_a_chat_model_alone_gets_the_whole_conversation(workspace: Path) -> None:
    async with opened("langgraph", "chat", workspace) as session:
        await session.reply("one", 30)
        assert (await session.reply("two", 30)).text == "You said: one; two"


async def test_an_endless_graph_is_an_error_of_the_agent(workspace: Path) -> None:
    async with opened("langgraph", "endless", workspace) as session:
        with pytest.raises(AgentError, match="GraphRecursionError"):
            await session.reply("go", 30)


async def test_nodes_can_read_the_workspace_and_config_var(workspace: Path) -> None:
    async with opened("langgraph", "reading", workspace, colour="blue") as session:
        assert (await session.reply("go", 30)).text == f"{workspace} {{'colour': 'blue'}}"


@pytest.mark.parametrize(
    ("result", "form", "text"),
    [
        ("plain", "text", "plain"),
        (SimpleNamespace(content=[{"type": "text", "text": "in "}, "blocks"]), "history", "in blocks"),
        ({"question": "q", "summary": "s"}, ("key", "question"), "s"),
        ({"input": "q", "output": "o", "chat_history": []}, ("key", "input"), "o"),
        (
            {"messages": [SimpleNamespace(content="")], "structured_response": {"degrees": 5}},
            "messages",
            '{"degrees": 5}',
        ),
    ],
)
def test_the_answer_is_found_in_what_is_returned(result: Any, form: Any, text: str) -> None:
    assert answer_in(result, form) == text


def test_an_answer_that_cannot_be_found_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"the fields one, two, .*graph \| "):
        answer_in({"one": 1, "two": 2}, "messages")
