"""Traces of Amazon Bedrock's agents, beside those of `frameworks/bedrock_agents`: what is broken, or says little."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from viva.recordings.recording import Recording, RecordingError, SourceNotes
from viva.recordings.table import load_reader, read_recordings
from viva.records.trajectory import trajectory


def step(**given: Any) -> dict[str, Any]:
    return {"trace": {"orchestrationTrace": given}}


def called(**given: Any) -> dict[str, Any]:
    return step(invocationInput={"actionGroupInvocationInput": {"actionGroupName": "shop", **given}})


def gave(text: str) -> dict[str, Any]:
    return step(observation={"actionGroupInvocationOutput": {"text": text}})


ANSWERED = step(observation={"finalResponse": {"text": "Done."}})


def read(folder: Path, *elements: Any, whole: Any = None) -> list[Recording]:
    file = folder / "traces.json"
    file.write_text(json.dumps(list(elements) if whole is None else whole))
    return list(read_recordings(f"bedrock:{file}"))


def test_parameters_have_the_types_that_the_action_declares(tmp_path: Path) -> None:
    listed = [
        ("count", "integer", "3"),
        ("price", "number", "2.5"),
        ("gift", "boolean", "true"),
        ("zip", "string", "0"),
    ]
    listed += [("wrong", "integer", "three"), ("endless", "number", "inf"), ("many", "array", "[1]")]
    given = [dict(zip(("name", "type", "value"), each, strict=True)) for each in listed]
    (recording,) = read(tmp_path, called(function="order", parameters=given), gave("ok"), ANSWERED)
    (order, _) = trajectory(recording.transcript)
    expected = {"count": 3, "price": 2.5, "gift": True, "zip": "0", "wrong": "three", "endless": "inf", "many": "[1]"}
    assert order.tool_input == expected


def test_an_action_of_an_api_is_named_by_method_and_path_and_has_its_body(tmp_path: Path) -> None:
    body = {"content": {"application/json": [{"name": "item", "type": "string", "value": "tea"}]}}
    (recording,) = read(tmp_path, called(verb="post", apiPath="/orders", requestBody=body), gave("ok"), ANSWERED)
    order = trajectory(recording.transcript)[0]
    assert (order.tool, order.tool_input, order.result) == ("post /orders", {"item": "tea"}, "ok")


def test_a_failure_ends_the_run_and_the_tool_that_had_not_answered(tmp_path: Path) -> None:
    failure = {"trace": {"failureTrace": {"failureReason": "the function timed out"}}}
    (recording,) = read(tmp_path, called(function="order"), failure)
    (order,) = trajectory(recording.transcript)
    assert order.error == "the function timed out"
    assert recording.transcript.rounds[0].error == "the function timed out"


def test_code_that_failed_is_a_failed_step(tmp_path: Path) -> None:
    code = step(invocationInput={"codeInterpreterInvocationInput": {"code": "1/0"}})
    error = step(observation={"codeInterpreterInvocationOutput": {"executionError": "division by zero"}})
    (recording,) = read(tmp_path, code, error, ANSWERED)
    assert trajectory(recording.transcript)[0].error == "division by zero"


def test_the_result_of_an_action_that_the_caller_carries_out_is_unknown(tmp_path: Path) -> None:
    (recording,) = read(tmp_path, called(function="order", executionType="RETURN_CONTROL", invocationId="1"))
    (order,) = trajectory(recording.transcript)
    assert (order.tool, order.result, order.error) == ("order", None, None)


def test_calls_of_one_session_are_runs_of_their_own(tmp_path: Path) -> None:
    one = [called(function="order"), gave("ok"), ANSWERED]
    recordings = read(tmp_path, *one, *one)
    assert [len(trajectory(each.transcript)) for each in recordings] == [2, 2]
    assert len({each.run_key for each in recordings}) == 2


@pytest.mark.parametrize("form", ["events", "parts", "responses"])
def test_each_form_of_a_file_says_the_same(tmp_path: Path, form: str) -> None:
    parts = [called(function="order"), gave("ok"), ANSWERED]
    events = [{"trace": part} for part in parts]
    chunk = {"chunk": {"bytes": "RG9uZS4="}}
    forms = {"events": [*events, chunk], "parts": parts, "responses": {"completion": [*events, chunk]}}
    (recording,) = read(tmp_path, whole=forms[form])
    steps = trajectory(recording.transcript)
    assert [(each.tool, each.result) for each in steps] == [("order", "ok"), (None, None)]
    assert recording.transcript.rounds[0].agent == "Done."


def test_steps_beside_the_agents_own_cost_tokens_but_are_no_answer(tmp_path: Path) -> None:
    usage = {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 1}}, "parsedResponse": {"isValid": True}}
    before = {"trace": {"preProcessingTrace": {"modelInvocationOutput": usage}}}
    (recording,) = read(tmp_path, before, ANSWERED)
    assert recording.transcript.usage["target"].input_tokens == 5
    assert [each.tool for each in trajectory(recording.transcript)] == [None]


def test_what_is_no_trace_is_counted_and_what_should_be_one_is_lost(tmp_path: Path) -> None:
    torn, foreign = {"trace": "torn"}, [5, {"a": 1}]
    file = tmp_path / "traces.json"
    file.write_text(json.dumps([ANSWERED, torn, *foreign, {"completion": [{"trace": ANSWERED}, torn]}]))
    told = SourceNotes()
    assert len(list(load_reader(f"bedrock:{file}").read(told))) == 2
    assert told.lost == ["traces.json: traces left out because they cannot be read: 2"]
    assert "traces.json: elements left out because they are not of an agent's call: 2" in told.waiting


@pytest.mark.parametrize("whole", [[], [{"chunk": {"bytes": "RG9uZS4="}}], [1, "two", None], {"completion": []}])
def test_a_file_without_traces_says_what_switches_them_on(tmp_path: Path, whole: Any) -> None:
    with pytest.raises(RecordingError, match="enableTrace"):
        read(tmp_path, whole=whole)


@pytest.mark.parametrize("inner", [None, 7, "x", [], {"invocationInput": 3}, {"observation": {"finalResponse": 1}}])
def test_parts_of_unexpected_types_are_passed_over(tmp_path: Path, inner: Any) -> None:
    broken = {"trace": {"orchestrationTrace": inner, "failureTrace": None}, "callerChain": 4, "eventTime": {}}
    (recording,) = read(tmp_path, broken, ANSWERED)
    assert recording.transcript.rounds[-1].agent == "Done."


def test_files_of_a_folder_are_read_packed_or_not(tmp_path: Path) -> None:
    lines = "".join(f"{json.dumps(part)}\n" for part in (called(function="order"), gave("ok"), ANSWERED))
    (tmp_path / "one.jsonl").write_text(lines)
    (tmp_path / "two.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    recordings = list(read_recordings(f"bedrock:{tmp_path}"))
    assert [len(trajectory(each.transcript)) for each in recordings] == [2, 2]
    assert len({each.run_key for each in recordings}) == 2
