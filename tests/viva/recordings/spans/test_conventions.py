"""One conversation, written by each of the conventions that instrumentations follow, gives the same steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.viva.recordings.spans.test_broken import model, span
from viva.recordings.recording import Recording
from viva.recordings.table import read_recordings
from viva.records.trajectory import answer_of, trajectory

Turn = tuple[list[dict[str, Any]], dict[str, Any]]

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
SYSTEM, USER = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Warm in Rome?"}
ASKS = {"role": "assistant", "content": "I look.", "tool_calls": [CALL]}
BACK = {"role": "tool", "tool_call_id": "c1", "content": "25 degrees"}
ANSWERS = {"role": "assistant", "content": "Yes, 25 degrees."}
TURNS: list[Turn] = [([SYSTEM, USER], ASKS), ([SYSTEM, USER, ASKS, BACK], ANSWERS)]


def as_parts(message: dict[str, Any]) -> dict[str, Any]:
    """Write a message as the current convention has it."""
    if message["role"] == "tool":
        part = {"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}
        return {"role": "tool", "parts": [part]}
    parts: list[Any] = [{"type": "text", "content": message["content"]}]
    for call in message.get("tool_calls", ()):
        arguments = json.loads(call["function"]["arguments"])
        parts.append({"type": "tool_call", "id": call["id"], "name": call["function"]["name"], "arguments": arguments})
    return {"role": message["role"], "parts": parts}


def parts(given: list[dict[str, Any]], said: dict[str, Any]) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": SYSTEM["content"]}]),
        "gen_ai.input.messages": json.dumps([as_parts(message) for message in given[1:]]),
        "gen_ai.output.messages": json.dumps([as_parts(said)]),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 1,
        "gen_ai.response.model": "m",
    }


def openinference(given: list[dict[str, Any]], said: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
    flat |= {"llm.token_count.prompt": 10, "llm.token_count.completion": 1}
    for side, messages in (("input", given), ("output", [said])):
        for place, message in enumerate(messages):
            start = f"llm.{side}_messages.{place}.message"
            flat |= {f"{start}.{key}": value for key, value in message.items() if key != "tool_calls"}
            for number, call in enumerate(message.get("tool_calls", ())):
                at = f"{start}.tool_calls.{number}.tool_call"
                flat[f"{at}.id"] = call["id"]
                flat |= {f"{at}.function.{key}": value for key, value in call["function"].items()}
    return flat


def openllmetry(given: list[dict[str, Any]], said: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {"llm.request.type": "chat", "gen_ai.request.model": "m"}
    flat |= {"gen_ai.usage.prompt_tokens": "10", "gen_ai.usage.completion_tokens": "1"}
    for side, messages in (("prompt", given), ("completion", [said])):
        for place, message in enumerate(messages):
            start = f"gen_ai.{side}.{place}"
            flat |= {f"{start}.{key}": value for key, value in message.items() if key != "tool_calls"}
            for number, call in enumerate(message.get("tool_calls", ())):
                at = f"{start}.tool_calls.{number}"
                flat |= {f"{at}.id": call["id"], **{f"{at}.{key}": value for key, value in call["function"].items()}}
    return flat


def events_of(given: list[dict[str, Any]], said: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of earlier releases: one for each message, one for each choice."""
    found = []
    for message in given:
        body = {**message, "id": message.get("tool_call_id")}
        found.append({"event.name": f"gen_ai.{message['role']}.message", **body})
    return [*found, {"event.name": "gen_ai.choice", "index": 0, "message": said}]


def spans_by(convention: str) -> list[dict[str, Any]]:
    spans = [span(1, name="ask")]
    plain = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    plain |= {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1}
    for number, (given, said) in enumerate(TURNS):
        made = span(2 + 2 * number, 1, span_kind="")
        told = events_of(given, said)
        if convention == "events":
            bodies = [{"name": event["event.name"], "attributes": {"event.body": json.dumps(event)}} for event in told]
            made |= {"attributes": plain, "events": bodies}
        elif convention == "events in an attribute":
            made["attributes"] = {**plain, "events": json.dumps(told)}
        elif convention == "both, one of them cut":
            cut = openinference(given, {"role": "assistant", "content": "(cut)"})
            made["attributes"] = {**cut, **parts(given, said)}
        else:
            writers = {"parts": parts, "openinference": openinference, "openllmetry": openllmetry}
            made["attributes"] = writers[convention](given, said)
        spans.append(made)
    return spans


@pytest.mark.parametrize(
    "convention", ["parts", "openinference", "openllmetry", "events", "events in an attribute", "both, one of them cut"]
)
def test_every_convention_says_the_same(convention: str, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, spans_by(convention))
    first, second = trajectory(recording.transcript)
    assert (first.thought, first.tool, first.tool_input, first.result) == (
        "I look.",
        "weather",
        {"city": "Rome"},
        "25 degrees",
    )
    assert (answer_of(second), second.model) == ("Yes, 25 degrees.", "m")
    assert (recording.subject, recording.transcript.system) == ("Warm in Rome?", "Be brief.")
    usage = recording.transcript.usage["target"]
    assert (usage.input_tokens, usage.output_tokens, usage.calls) == (20, 2, 2)


def read(folder: Path, spans: list[dict[str, Any]]) -> list[Recording]:
    file = folder / "spans.json"
    file.write_text(json.dumps(spans))
    return list(read_recordings(f"spans:{file}"))


def test_nodes_of_a_graph_that_are_called_agents_are_one_run(tmp_path: Path) -> None:
    spans = [span(1, name="LangGraph")]
    for number, (given, said) in enumerate(TURNS):
        spans.append(span(2 + 3 * number, 1, name="agent", span_kind="AGENT"))
        spans.append(span(3 + 3 * number, 2 + 3 * number, attributes=openinference(given, said)))
    (recording,) = read(tmp_path, spans)
    assert len(trajectory(recording.transcript)) == 2
    assert recording.transcript.attributes["framework"] == "langgraph"


def test_agents_that_work_side_by_side_keep_their_results_apart(tmp_path: Path) -> None:
    def words(city: str, place: int, parent: int) -> list[dict[str, Any]]:
        call = {**CALL, "function": {"name": "weather", "arguments": json.dumps({"city": city})}}
        asks, back = {**ASKS, "tool_calls": [call]}, {**BACK, "content": f"{place} degrees"}
        user = {"role": "user", "content": f"Warm in {city}?"}
        return [
            span(place, parent, attributes=openinference([user], asks)),
            span(place + 20, parent, attributes=openinference([user, asks, back], ANSWERS)),
        ]

    agents = [span(number, 1, name=f"agent {number}", span_kind="AGENT") for number in (2, 3)]
    # The one starts before the other ends: a, b, then a again, b again.
    spans = [span(1), *agents, *words("Rome", 10, 2), *words("Oslo", 11, 3)]
    rome, oslo = read(tmp_path, spans)
    for recording, city, result in ((rome, "Rome", "10 degrees"), (oslo, "Oslo", "11 degrees")):
        step = trajectory(recording.transcript)[0]
        assert (recording.subject, step.tool_input, step.result) == (f"Warm in {city}?", {"city": city}, result)


def test_reasoning_is_the_thought_of_an_answer_and_comes_before_the_words_of_a_call(tmp_path: Path) -> None:
    reasoning = {"type": "reasoning", "content": "Hm."}
    asks, answers = as_parts(ASKS), as_parts(ANSWERS)
    for message in (asks, answers):
        message["parts"].insert(0, reasoning)
    spans = [span(1)]
    for number, message in ((2, asks), (3, answers)):
        about = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([message])}
        spans.append(span(number, 1, attributes=about))
    (recording,) = read(tmp_path, spans)
    first, second = trajectory(recording.transcript)
    assert (first.thought, second.thought, answer_of(second)) == ("Hm.\nI look.", "Hm.", "Yes, 25 degrees.")


def test_another_tool_than_the_written_one_is_what_ran(tmp_path: Path) -> None:
    said = "Thought: t\nAction: serch\nAction Input: {'q': 1}"
    ran = span(
        3, 1, span_kind="TOOL", attributes={"tool.name": "search", "input.value": '{"q": 1}', "output.value": "5"}
    )
    (recording,) = read(tmp_path, [span(1), model(2, 1, said), ran, model(4, 1, "Thought: t\nAnswer: 5")])
    first, second = trajectory(recording.transcript)
    assert (first.tool, first.tool_input, first.result) == ("search", {"q": 1}, "5")
    assert first.attributes["trajectory"]["written"] == {"tool": "serch", "tool_input": "{'q': 1}"}
    assert answer_of(second) == "5"
