"""Spans of a real LlamaIndex ReActAgent, from a chat model and from a completion model, give the same nine steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recordings import LLAMA_INDEX, llama_index_spans
from viva.recordings.react import IMPLICIT_THOUGHT
from viva.recordings.recording import Recording
from viva.recordings.table import read_recordings
from viva.records.trajectory import answer_of, marked, stated_thought, trajectory

Row = tuple[str | None, str | None, str | None, Any, str | None]


def rows(recordings: list[Recording]) -> list[Row]:
    """Question, thought, tool, input and answer of each step."""
    return [
        (recording.transcript.rounds[0].examiner, step.thought, step.tool, step.tool_input, answer_of(step))
        for recording in recordings
        for step in trajectory(recording.transcript)
    ]


def read(path: Path, reader: str = "spans") -> list[Recording]:
    return list(read_recordings(f"{reader}:{path}"))


def parsed(path: Path) -> list[dict[str, Any]]:
    """What the parser's spans hold, by start time; one that failed holds its input and its error."""
    spans = sorted(json.loads(path.read_text()), key=lambda span: span["start_time"])
    found = []
    for span in spans:
        if span["name"] == "ReActOutputParser.parse":
            attributes = span["attributes"]
            given = json.loads(attributes["input.value"])["output"]
            output = json.loads(attributes["output.value"]) if span["status_code"] == "OK" else {}
            found.append({"given": given, **output, "fault": span["status_message"]})
    return found


@pytest.mark.parametrize("name", LLAMA_INDEX)
def test_nine_steps_in_four_traces_equal_what_the_parser_of_llama_index_made_of_them(name: str) -> None:
    path = llama_index_spans(name)
    recordings = read(path)
    assert len(recordings) == 4
    steps = [step for recording in recordings for step in trajectory(recording.transcript)]
    truth = parsed(path)
    assert len(steps) == len(truth) == 9
    for step, said in zip(steps, truth, strict=True):
        if "action" in said:
            assert (step.thought, step.tool, step.tool_input) == (said["thought"], said["action"], said["action_input"])
            assert answer_of(step) is None
        elif "response" in said:
            assert (step.thought, step.tool, answer_of(step)) == (said["thought"], None, said["response"])
        else:
            assert step.error is not None
            assert f"ValueError: {step.error}" == said["fault"]
            assert step.thought in said["given"]
            assert step.result is None


def test_both_files_give_the_same_steps() -> None:
    chat, completion = (read(llama_index_spans(name)) for name in LLAMA_INDEX)
    assert rows(chat) == rows(completion)
    results = [
        [(step.result, step.error) for recording in recordings for step in trajectory(recording.transcript)]
        for recordings in (chat, completion)
    ]
    assert results[0] == results[1]
    assert ("repo not found", "ValueError: repo not found") in results[0]
    assert [recording.subject for recording in chat] == [recording.subject for recording in completion]


@pytest.mark.parametrize("name", LLAMA_INDEX)
def test_the_parsers_spans_are_not_needed(name: str, tmp_path: Path) -> None:
    path = llama_index_spans(name)
    spans = [span for span in json.loads(path.read_text()) if span["name"] != "ReActOutputParser.parse"]
    without = tmp_path / "without.json"
    without.write_text(json.dumps(spans))
    before, after = read(path), read(without)
    assert rows(before) == rows(after)
    for one, other in zip(before, after, strict=True):
        steps = [
            [(step.id, step.result, step.error, step.usage, step.model) for step in trajectory(each.transcript)]
            for each in (one, other)
        ]
        assert steps[0] == steps[1]


@pytest.mark.parametrize("name", LLAMA_INDEX)
def test_every_span_is_a_step_and_the_raw_span_is_kept(name: str) -> None:
    path = llama_index_spans(name)
    raw = {span["context"]["span_id"]: span for span in json.loads(path.read_text())}
    steps = [step for recording in read(path) for step in recording.transcript.rounds[0].steps]
    assert sorted(step.id for step in steps) == sorted(raw)
    for step in steps:
        assert step.attributes["span"] == raw[step.id]
    microseconds = raw[steps[0].id]["start_time"].partition(".")[2][:6]
    assert steps[0].attributes["start_ns"] % 10**9 == int(microseconds) * 1000


def test_nested_model_spans_count_once() -> None:
    chat, completion = (read(llama_index_spans(name)) for name in LLAMA_INDEX)
    for one, other in zip(chat, completion, strict=True):
        calls = [each.transcript.usage["target"].calls for each in (one, other)]
        assert calls[0] == calls[1] == len(trajectory(one.transcript))
        outermost = trajectory(other.transcript)
        assert other.transcript.usage["target"].input_tokens == sum(step.usage.input_tokens for step in outermost)
        assert {step.model for step in outermost} == {"scripted-completion"}


def test_a_thought_of_the_frameworks_own_is_no_stated_thought() -> None:
    steps = [step for recording in read(llama_index_spans("chat_model")) for step in trajectory(recording.transcript)]
    implicit = [step for step in steps if step.thought == IMPLICIT_THOUGHT]
    assert len(implicit) == 1
    assert stated_thought(implicit[0]) is None
    assert (marked(implicit[0]) or {})["implicit"] is True


def test_traces_come_by_start_time_though_the_dump_has_the_newest_first() -> None:
    path = llama_index_spans("chat_model")
    starts = [span["start_time"] for span in json.loads(path.read_text()) if span["parent_id"] is None]
    assert starts == sorted(starts, reverse=True), "the dump is as a server answers"
    began = [recording.transcript.rounds[0].started or 0 for recording in read(path)]
    assert began == sorted(began)


def test_the_tools_that_the_agent_was_told_of_are_found_whether_it_called_them_or_not() -> None:
    for recording in read(llama_index_spans("chat_model")):
        names = [tool["function"]["name"] for tool in recording.transcript.tools]
        assert names == ["list_my_repos", "list_issues"]
        issues = recording.transcript.tools[1]["function"]
        assert issues["parameters"]["required"] == ["repo"]
        assert "List open issues of a repository." in issues["description"]
