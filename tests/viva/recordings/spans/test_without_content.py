"""Traces that do not record what models were given and said: what the other spans say is read."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from viva.recordings.recording import Recording
from viva.recordings.spans.span import read_span
from viva.recordings.spans.tree import tree_of
from viva.recordings.table import read_recordings
from viva.records.trajectory import trajectory

TRACE = "0af7651916cd43dd8448eb211c80319c"


def span(number: int, parent: int | None, operation: str, **attributes: Any) -> dict[str, Any]:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "name": operation,
        "context": {"trace_id": TRACE, "span_id": f"{number:016x}"},
        "parent_id": None if parent is None else f"{parent:016x}",
        "start_time": number * 10**9,
        "end_time": number * 10**9 + 5,
        "attributes": {"gen_ai.operation.name": operation, **named},
    }


def agent(number: int, name: str, asked: str, answered: str) -> list[dict[str, Any]]:
    """An agent that calls a model, a tool, and a model again."""
    question = json.dumps([{"role": "user", "parts": [{"type": "text", "content": asked}]}])
    answer = json.dumps([{"role": "assistant", "content": answered, "name": name}])
    used = {"gen_ai__usage__input_tokens": 100, "gen_ai__usage__output_tokens": 7}
    called = {"gen_ai__tool__name": "look", "gen_ai__tool__call__arguments": '{"at": 1}'}
    said = {"gen_ai__input__messages": question, "gen_ai__output__messages": answer}
    return [
        span(number, 1, "invoke_agent", gen_ai__agent__name=name, **said),
        span(number + 1, number, "chat", **used),
        span(number + 2, number, "execute_tool", **called, gen_ai__tool__call__result="seen"),
        span(number + 3, number, "chat", **used),
    ]


def read(folder: Path, spans: list[dict[str, Any]]) -> list[Recording]:
    (folder / "spans.json").write_text(json.dumps(spans))
    return list(read_recordings(f"spans:{folder}/spans.json"))


def test_question_answer_steps_and_tokens_of_an_agent_are_read(tmp_path: Path) -> None:
    (recording,) = read(tmp_path, [span(1, None, "request"), *agent(10, "one", "What?", "That.")])
    round_ = recording.transcript.rounds[-1]
    assert (recording.agent, round_.examiner, round_.agent) == ("one", "What?", "That.")
    (step,) = trajectory(recording.transcript)
    assert (step.tool, step.tool_input, step.result, step.error) == ("look", {"at": 1}, "seen", None)
    usage = recording.transcript.usage["target"]
    assert (usage.input_tokens, usage.output_tokens) == (200, 14)


def test_what_was_not_recorded_is_counted(tmp_path: Path) -> None:
    whole = [span(1, None, "request"), *agent(10, "one", "What?", "That.")]
    (recording,) = read(tmp_path, whole)
    assert recording.damage == {"model calls whose output was not recorded": 2}
    for each in whole:
        for key in ("input.messages", "output.messages", "tool.call.arguments", "tool.call.result"):
            each["attributes"].pop(f"gen_ai.{key}", None)
    (recording,) = read(tmp_path, whole)
    assert recording.damage == {
        "model calls whose output was not recorded": 2,
        "tool calls whose input was not recorded": 1,
        "tool calls whose result was not recorded": 1,
        "runs whose question was not recorded": 1,
        "runs whose answer was not recorded": 1,
    }
    assert "tool calls whose input was not recorded: 1" in recording.transcript.notes


def test_each_agent_of_a_trace_has_its_own_steps_question_and_answer(tmp_path: Path) -> None:
    spans = [span(1, None, "request"), *agent(10, "one", "What?", "That."), *agent(20, "two", "Who?", "He.")]
    recordings = read(tmp_path, spans)
    told = [(each.agent, each.transcript.rounds[-1].examiner, each.transcript.rounds[-1].agent) for each in recordings]
    assert told == [("one", "What?", "That."), ("two", "Who?", "He.")]
    assert [len(trajectory(each.transcript)) for each in recordings] == [1, 1]
    assert len({each.run_key for each in recordings}) == 2


def test_of_spans_that_begin_at_once_the_one_that_ended_first_is_first() -> None:
    parent, slow, quick = (span(number, parent, "chat") for number, parent in ((1, None), (2, 1), (3, 1)))
    for each, end in ((parent, 9), (slow, 8), (quick, 5)):
        each |= {"start_time": 10**9, "end_time": 10**9 + end}
    for order in itertools.permutations((parent, slow, quick)):
        spans = tree_of(made for raw in order if (made := read_span(raw)) is not None).spans
        assert [int(each.id, 16) for each in spans] == [1, 3, 2]
