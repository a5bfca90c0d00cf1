"""What a tool was given, whether it failed, and whether it was called at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.viva.recordings.spans.test_broken import model, span
from tests.viva.recordings.spans.test_conventions import openinference, read
from viva.judge.trajectory.calls import Loops, RepeatedCalls, ToolSuccess
from viva.judge.trajectory.decisions import decisions
from viva.judge.trajectory.match import StrictMatch
from viva.judge.trajectory.schemas import ArgumentSchema
from viva.recordings.atif.writer import to_atif
from viva.recordings.table import read_recordings
from viva.records.evaluator import Context
from viva.records.trajectory import WRITTEN, marked, tool_calls, trajectory
from viva.records.transcript import Transcript

USER = {"role": "user", "content": "Warm in Rome?"}
GIVEN = {"city": "Rome"}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = {"llm.tools.0.tool.json_schema": json.dumps({"name": "weather", "parameters": SCHEMA})}


def asks(name: str = "weather", arguments: str = json.dumps(GIVEN), identity: str = "c1") -> dict[str, Any]:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "I look.", "tool_calls": [call]}


def said(number: int, given: list[dict[str, Any]], message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return span(number, 1, attributes={**openinference(given, message), **TOOLS, **more})


def back(words: str, identity: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": words}


def ran(number: int, parent: int = 1, value: Any = GIVEN, name: str = "weather", **more: Any) -> dict[str, Any]:
    given = value if isinstance(value, str) else json.dumps(value)
    about = {"tool.name": name, "input.value": given, "output.value": "25 degrees"}
    return span(number, parent, span_kind="TOOL", attributes=about, **more)


ANSWER = {"role": "assistant", "content": "Yes."}


def one_call(tool: dict[str, Any], first: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    asked = first or asks()
    return [span(1), said(2, [USER], asked), tool, said(9, [USER, asked, back("25 degrees")], ANSWER)]


WRAPPERS: dict[str, Any] = {
    "smolagents": {"args": [], "sanitize_inputs_outputs": True, "kwargs": GIVEN},
    "smolagents, one object": {"args": [GIVEN], "sanitize_inputs_outputs": True, "kwargs": {}},
    "OpenLLMetry, LangChain": {
        "input_str": "{'city': 'Rome'}",
        "tags": [],
        "metadata": {},
        "inputs": GIVEN,
        "kwargs": {"color": "green"},
    },
    "OpenLLMetry, LangChain, without inputs": {"input_str": '{"city": "Rome"}', "tags": ["seq:step:1"], "kwargs": {}},
    "LlamaIndex": {"kwargs": GIVEN},
    "LangChain's tool call": {"name": "weather", "args": GIVEN, "id": "c1", "type": "tool_call"},
    "any wrapper around what the model wrote": {"arguments": GIVEN, "run": 4},
    "the same, as text": {"arguments": '{"city": "Rome"}', "context": None},
    "no wrapper": GIVEN,
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
async def test_the_models_arguments_are_the_input_whatever_wraps_them(wrapper: str, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, one_call(ran(3, value=WRAPPERS[wrapper])))
    step = trajectory(recording.transcript)[0]
    assert (step.tool, step.tool_input, step.result) == ("weather", GIVEN, "25 degrees")
    assert WRITTEN not in (marked(step) or {})
    context = Context("run", reference=[{"tool": "weather", "arguments": GIVEN}])
    for evaluator in (StrictMatch(), ArgumentSchema()):
        assert (await evaluator.evaluate(recording.transcript, context)).score == 1.0


@pytest.mark.parametrize(
    "value", [{"city": "Rome, Italy"}, {"args": ["a", "b"], "kwargs": {"c": 1}}, {"query": GIVEN, "depth": 2}]
)
def test_what_a_tool_was_given_instead_of_the_models_arguments_is_shown(value: Any, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, one_call(ran(3, value=value)))
    step = trajectory(recording.transcript)[0]
    assert step.tool_input == value
    assert (marked(step) or {})[WRITTEN] == {"tool": "weather", "tool_input": GIVEN}


async def labels(transcript: Transcript) -> list[str]:
    found = await ToolSuccess().evaluate(transcript, Context("run"))
    return [verdict.label for verdict in found.verdicts]


@pytest.mark.parametrize(
    "words",
    [
        "Tool with name wether not found. Please select a tool that is available.",
        "Unknown tool name: 'wether'. Available tools: weather",
        None,
    ],
)
async def test_a_call_of_a_tool_that_the_trace_does_not_list_failed(words: str | None, tmp_path: Path) -> None:
    asked = asks("wether")
    results = [] if words is None else [back(words)]
    spans = [span(1), said(2, [USER], asked), said(9, [USER, asked, *results], ANSWER)]
    (recording,) = read(tmp_path, spans)
    (step, _) = trajectory(recording.transcript)
    assert (step.error, step.result) == ("the agent has no tool called wether", words)
    assert await labels(recording.transcript) == ["failed"]


async def test_without_a_list_of_tools_or_with_a_span_of_the_tool_nothing_is_said_of_a_name(tmp_path: Path) -> None:
    asked = asks("other")
    spans = [span(1), said(2, [USER], asked), ran(3, name="other"), said(9, [USER, asked, back("5")], ANSWER)]
    (recording,) = read(tmp_path, spans)
    assert await labels(recording.transcript) == ["succeeded"]
    del spans[2]
    for each in spans:
        each["attributes"] = {key: value for key, value in each["attributes"].items() if key not in TOOLS}
    (recording,) = read(tmp_path, spans)
    assert await labels(recording.transcript) == ["succeeded"]


BROKE: dict[str, Any] = {"status_code": "ERROR", "status_message": "ValueError: no such city"}


async def test_an_error_on_the_inner_span_of_a_tool_is_a_failure_of_the_tool(tmp_path: Path) -> None:
    for name, inner in (
        ("directly", [ran(4, 3, **BROKE)]),
        ("deeper", [ran(4, 3), span(5, 4), ran(6, 5, **BROKE)]),
        ("tried twice", [ran(4, 3, **BROKE), ran(5, 3, **BROKE)]),
    ):
        (recording,) = read(tmp_path, [*one_call(ran(3)), *inner])
        assert trajectory(recording.transcript)[0].error == BROKE["status_message"], name
        assert await labels(recording.transcript) == ["failed"], name


async def test_a_tool_that_recovers_inside_did_not_fail(tmp_path: Path) -> None:
    for name, inner in (
        ("another tool failed in it", [ran(4, 3, name="http", **BROKE)]),
        ("a second attempt", [ran(4, 3, **BROKE), ran(5, 3)]),
    ):
        (recording,) = read(tmp_path, [*one_call(ran(3)), *inner])
        calls = [step for step in trajectory(recording.transcript) if step.tool == "weather"]
        assert [step.error for step in calls] == [None], name


async def test_calls_whose_input_or_result_was_not_read_are_not_called_repeated_or_a_loop(tmp_path: Path) -> None:
    def empty(number: int, *keys: str) -> dict[str, Any]:
        made = ran(number)
        made["attributes"] = {key: value for key, value in made["attributes"].items() if key not in keys}
        return made

    for missing in (("input.value",), ("output.value",), ("input.value", "output.value")):
        spans = [span(1), *(empty(number, *missing) for number in range(2, 6))]
        (recording,) = read(tmp_path, spans)
        found = await RepeatedCalls().evaluate(recording.transcript, Context("run"))
        assert [verdict.label for verdict in found.verdicts] == ["first", *["unsure"] * 3], missing
        assert (found.score, found.low) == (1.0, 0.25)
        looping = await Loops().evaluate(recording.transcript, Context("run"))
        assert looping.label == ("no-loop" if "input.value" in missing else "loop")
    (recording,) = read(tmp_path, [span(1), ran(2), ran(3)])
    found = await RepeatedCalls().evaluate(recording.transcript, Context("run"))
    assert [verdict.label for verdict in found.verdicts] == ["first", "repeated"]


REACT = "Thought: I look.\nAction: weather\nAction Input: {}"


async def test_what_was_not_dispatched_is_a_step_and_no_call(tmp_path: Path) -> None:
    complaint = "Error while parsing the output: no Action Input"
    unparsed = 'Thought: t\nAction: weather\nAction Input: {"city": '
    without = "Thought: t\nAction: weather"
    fine = REACT.replace("{}", '{"city": "Rome"}')
    spans = [
        span(1),
        model(2, 1, unparsed),
        said(
            4,
            [USER, {"role": "assistant", "content": unparsed}, {"role": "user", "content": complaint}],
            {"role": "assistant", "content": without},
        ),
        said(6, [USER], {"role": "assistant", "content": fine}),
        ran(7),
        model(8, 1, "Thought: t\nAnswer: Yes."),
    ]
    (recording,) = read(tmp_path, spans)
    path = decisions(recording.transcript)
    assert [each.tool for each in path] == ["Not parsed", "Not parsed", "weather", "No tool used"]
    assert len(tool_calls(recording.transcript.rounds[-1].steps)) == 1
    assert await labels(recording.transcript) == ["succeeded"]
    context = Context("run", reference=[{"tool": "weather", "arguments": GIVEN}])
    assert (await StrictMatch().evaluate(recording.transcript, context)).score == 1.0
    assert "weather" in path[0].written


async def test_arguments_that_were_cut_at_the_limit_are_no_call(tmp_path: Path) -> None:
    cut = asks(arguments='{"city": "Ro')
    spans = [span(1), said(2, [USER], cut, **{"llm.finish_reason": "length"})]
    (recording,) = read(tmp_path, spans)
    assert [each.tool for each in decisions(recording.transcript)] == ["Cut off"]
    assert await labels(recording.transcript) == ["skipped"]
    (recording,) = read(tmp_path, [span(1), said(2, [USER], cut)])
    assert [each.tool for each in decisions(recording.transcript)] == ["Not parsed"]


async def test_a_call_whose_result_was_not_recorded_is_still_a_call(tmp_path: Path) -> None:
    (recording,) = read(tmp_path, [span(1), said(2, [USER], asks())])
    assert await labels(recording.transcript) == ["unsure"]


def test_what_was_not_dispatched_stays_so_in_atif(tmp_path: Path) -> None:
    cut = asks(arguments='{"city": "Ro')
    (recording,) = read(tmp_path, [span(1), said(2, [USER], cut, **{"llm.finish_reason": "length"})])
    document = to_atif(recording.transcript, agent="a", version=None, session="s", extra={})
    file = tmp_path / "trajectory.json"
    file.write_text(json.dumps(document))
    (again,) = read_recordings(f"atif:{file}")
    assert [each.tool for each in decisions(again.transcript)] == ["Cut off"]
