"""The messages of AutoGen's own agents and teams, with a scripted model, feed the collector."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskRunner
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

import viva
from viva.recordings.events.collector import EvalCollector
from viva.records.transcript import StepKind, Usage

INFO = ModelInfo(
    vision=False, function_calling=True, json_output=False, family=ModelFamily.UNKNOWN, structured_output=False
)


def calls(*given: tuple[str, str, str], thought: str | None = None) -> CreateResult:
    asked = [FunctionCall(id=identity, name=name, arguments=arguments) for identity, name, arguments in given]
    usage = RequestUsage(prompt_tokens=10, completion_tokens=3)
    return CreateResult(finish_reason="function_calls", content=asked, usage=usage, cached=False, thought=thought)


def model(*answers: CreateResult | str) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(list(answers), model_info=INFO)


def look(city: str) -> str:
    """Look up how warm a city is."""
    if city == "Oz":
        raise ValueError("no such city")
    return "21"


def collector(*, capture_content: bool = True) -> EvalCollector:
    return EvalCollector(capture_content=capture_content, source="autogen", take=viva.take_autogen_message)


def watched(runner: TaskRunner, task: str, into: EvalCollector) -> list[Any]:
    async def run() -> list[Any]:
        return [message async for message in viva.autogen_messages(runner.run_stream(task=task), into)]

    return asyncio.run(run())


def test_failures_ids_usage_and_words_of_an_agent_are_collected() -> None:
    script = [calls(("c1", "look", '{"city": "Rome"}'), ("c2", "look", '{"city": "Oz"}'), thought="Both."), "21."]
    agent = AssistantAgent("weather", model(*script), tools=[look], reflect_on_tool_use=True)
    found = collector()
    passed_on = watched(agent, "How warm?", found)
    assert type(passed_on[-1]).__name__ == "TaskResult"
    snapshot = found.snapshot()
    assert (snapshot.tool_calls, snapshot.tool_failures) == ({"look": 2}, {"look": 1})
    assert (snapshot.never_completed, snapshot.never_started, snapshot.unknown) == (0, 0, {})
    assert snapshot.usage.calls == 2
    assert snapshot.usage.input_tokens > 10
    [round_] = found.transcript().rounds
    assert (round_.examiner, round_.agent) == ("How warm?", "21.")
    rome, oz = (step for step in round_.steps if step.kind is StepKind.TOOL)
    assert (rome.tool_input, rome.result, rome.error, rome.thought) == ({"city": "Rome"}, "21", None, "Both.")
    assert (oz.attributes["call_id"], oz.error) == ("c2", "no such city")


def test_an_agent_that_is_a_tool_is_a_sub_agent_below_its_call() -> None:
    expert = AssistantAgent("expert", model("42"))
    script = [calls(("d1", "expert", '{"task": "think"}')), "It is 42."]
    boss = AssistantAgent("boss", model(*script), tools=[AgentTool(expert)], reflect_on_tool_use=True)
    found = collector()
    watched(boss, "What?", found)
    share = found.snapshot().subagents
    assert list(share) == ["expert"]
    assert (share["expert"].started, share["expert"].usage.calls) == (1, 1)
    [round_] = found.transcript().rounds
    assert (round_.examiner, round_.agent) == ("What?", "It is 42.")
    call = next(step for step in round_.steps if step.kind is StepKind.TOOL)
    [said] = [step for step in round_.steps if step.kind is StepKind.AGENT]
    assert (said.agent, said.result, said.parent_id) == ("expert", "42", call.id)


def test_the_members_of_a_team_are_told_apart_and_the_last_words_are_its_answer() -> None:
    members = [AssistantAgent("writer", model("A draft.")), AssistantAgent("critic", model("It is fine."))]
    team = RoundRobinGroupChat(list(members), termination_condition=MaxMessageTermination(3))
    found = collector()
    watched(team, "Write.", found)
    assert {name: share.usage.calls for name, share in found.snapshot().subagents.items()} == {"critic": 1}
    assert (found.transcript().rounds[0].agent or "").endswith("It is fine.")


def test_an_agent_that_raises_is_an_aborted_run_and_the_host_sees_its_exception() -> None:
    agent = AssistantAgent("weather", model(), tools=[look])  # its model has no answer
    found = collector()
    with pytest.raises(ValueError, match="No more mock responses"):
        watched(agent, "How warm?", found)
    assert found.snapshot().aborts == {"ValueError": 1}
    assert "No more mock responses" in (found.transcript().rounds[0].error or "")


def test_nothing_that_was_said_is_kept_unless_it_is_asked_for() -> None:
    script = [calls(("c1", "look", '{"city": "Oz"}'), thought="Secret."), "Secret."]
    found = collector(capture_content=False)
    watched(AssistantAgent("weather", model(*script), tools=[look], reflect_on_tool_use=True), "Secret?", found)
    assert found.snapshot().tool_failures == {"look": 1}
    text = repr(found.transcript())
    assert "Secret" not in text
    assert "Oz" not in text
    assert "no such city" not in text


def test_a_message_that_is_not_known_is_counted_and_stops_nothing() -> None:
    found = collector()
    found.take(object())
    assert found.snapshot().unknown == {"event (unreadable)": 1}


def test_sub_agents_of_a_team_are_told_apart_in_autogens_log_too() -> None:
    members = [AssistantAgent("writer", model("A draft.")), AssistantAgent("critic", model("It is fine."))]
    key = "12ab"
    found = viva.autogen_collector()
    for member in members:
        event = {
            "type": "LLMCall",
            "response": {"model": "m"},
            "prompt_tokens": 5,
            "completion_tokens": 1,
            "agent_id": f"{member.name}_{key}/{key}",
        }
        found.take(type("Record", (), {"msg": type("Event", (), {"kwargs": event}), "created": 1.0}))
    shares = found.snapshot().subagents
    assert {name: share.usage for name, share in shares.items()} == {"critic": Usage(5, 1, calls=1, cost=None)}
