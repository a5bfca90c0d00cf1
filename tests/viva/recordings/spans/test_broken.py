"""Whatever a file of spans holds, it is read or refused in words, and nothing is lost silently."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.spans import files
from viva.recordings.spans.span import read_span
from viva.recordings.spans.trajectories import read_trace
from viva.recordings.spans.values import read_id, read_time
from viva.recordings.table import read_recordings
from viva.records.codec import decode, encode
from viva.records.trajectory import answer_of, trajectory
from viva.records.transcript import Transcript

TRACE = "0af7651916cd43dd8448eb211c80319c"

SAID = 'Thought: t\nAction: f\nAction Input: {"a": [1]}'


def span(number: int, parent: int | None = None, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": f"span {number}",
        "context": {"trace_id": TRACE, "span_id": f"{number:016x}"},
        "parent_id": None if parent is None else f"{parent:016x}",
        "span_kind": "CHAIN",
        "start_time": f"2026-01-01T00:00:{number:02}.5+00:00",
        "end_time": f"2026-01-01T00:00:{number:02}.75+00:00",
        "status_code": "OK",
        "attributes": {},
    }
    return {**made, **more}


def model(number: int, parent: int | None, said: str, question: str = "Q?", **attributes: Any) -> dict[str, Any]:
    about = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": question,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": said,
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 1,
    }
    return span(number, parent, span_kind="LLM", attributes={**about, **attributes})


def read(tmp_path: Path, content: Any, reader: str = "spans") -> list[Recording]:
    file = tmp_path / "spans.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return list(read_recordings(f"{reader}:{file}"))


def test_broken_json_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"spans.json, line 3: not valid JSON"):
        read(tmp_path, '[\n{"a": 1},\n{"b": }]')
    with pytest.raises(RecordingError, match="line 1: not valid JSON"):
        read(tmp_path, json.dumps([span(1)], indent=1)[:-5].replace("\n", " "))
    with pytest.raises(RecordingError, match="the file is empty"):
        read(tmp_path, " \n")
    with pytest.raises(RecordingError, match="there is no span in it"):
        read(tmp_path, "[]")
    with pytest.raises(RecordingError, match=r"there is no span in it.*left out because they are not spans: 1"):
        read(tmp_path, '{"x": 1}')


def test_torn_lines_and_what_is_no_span_are_counted_and_told(tmp_path: Path) -> None:
    lines = [json.dumps(span(1)), "{torn", json.dumps([span(2, 1), 5, {"x": 1}]), json.dumps(span(3, 1))[:-9]]
    (recording,) = read(tmp_path, "\n".join(lines))
    assert len(recording.transcript.rounds[0].steps) == 2
    assert "spans.json: lines left out because they are not valid JSON: 2 (first: line 2)" in recording.notes
    assert "spans.json: elements left out because they are not spans: 2" in recording.notes


def test_a_file_whose_lines_are_long_is_read_as_far_as_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FIRST_LINE", 100)
    whole = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [otlp(1), otlp(2)]}]}]})
    (recording,) = read(tmp_path, f"{whole}\n{whole[:200]}", "otlp")
    assert len(recording.transcript.rounds[0].steps) == 2
    assert "what comes after is left out" in recording.notes[0]


def otlp(number: int, **more: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": f"s{number}",
        "startTimeUnixNano": f"176722560000000000{number}",
        "endTimeUnixNano": f"176722560100000000{number}",
        "attributes": [{"key": "n", "value": {"intValue": "9007199254740993"}}],
        **more,
    }


@pytest.mark.parametrize("form", ["document", "pretty", "lines", "list"])
def test_otlp_in_all_its_forms_keeps_nanoseconds_and_large_integers(form: str, tmp_path: Path) -> None:
    documents = [{"resourceSpans": [{"scopeSpans": [{"spans": [otlp(number)]}]}]} for number in (1, 2)]
    merged = {"resourceSpans": [each for document in documents for each in document["resourceSpans"]]}
    text = {
        "document": json.dumps(merged),
        "pretty": json.dumps(merged, indent=2),
        "lines": "\n".join(json.dumps(document) for document in documents),
        "list": json.dumps([otlp(1), otlp(2)]),
    }[form]
    (recording,) = read(tmp_path, text, "otlp")
    first, second = recording.transcript.rounds[0].steps
    assert (first.attributes["start_ns"], second.attributes["start_ns"]) == (1767225600000000001, 1767225600000000002)
    assert first.seconds == 1.0
    parsed = read_span(otlp(1))
    assert parsed is not None
    assert parsed.attributes["n"] == 9007199254740993


def test_what_opentelemetrys_console_exporter_writes_is_read(tmp_path: Path) -> None:
    spans = [span(1), span(2, 1)]
    for each in spans:
        each["context"] = {key: f"0x{value}" for key, value in each["context"].items()}
        each["parent_id"] = each["parent_id"] and f"0x{each['parent_id']}"
        each["status"] = {"status_code": "ERROR", "description": "broke"}
        del each["status_code"]
    (recording,) = read(tmp_path, "\n".join(json.dumps(each, indent=4) for each in spans))
    first, second = recording.transcript.rounds[0].steps
    assert (first.id, second.parent_id, first.error) == (f"{1:016x}", first.id, "broke")


@pytest.mark.parametrize(
    "output",
    [
        '[{"message": {"role": "assistant", "content": "Thought: t\\nAction: a\\nAction Input: {}"}}]',
        "Thought: t\nAction: a\nAction Input: {}",
    ],
)
def test_a_model_without_output_messages_is_read_from_its_output_value(output: str, tmp_path: Path) -> None:
    said = {"output.value": output, "llm.prompts": ["You act with Action Input:\nQuestion: Q?"]}
    one = span(2, 1, span_kind="LLM", attributes=said)
    prompt = f"Question: Q?\n{output}\nObservation: 5\nThought:"
    two = span(4, 1, span_kind="LLM", attributes={"output.value": "Answer: 5", "llm.prompts": [prompt]})
    (recording,) = read(tmp_path, [span(1), one, two])
    first, second = trajectory(recording.transcript)
    assert (first.thought, first.tool, first.tool_input) == ("t", "a", {})
    assert answer_of(second) == "5"
    if output.startswith("Thought"):
        assert first.result == "5"


@pytest.mark.parametrize("message", [{"message": {"role": "assistant", "content": SAID}}, {"message.content": SAID}])
def test_a_list_of_messages_may_be_one_json_text(message: dict[str, Any], tmp_path: Path) -> None:
    made = span(1, span_kind="LLM", attributes={"llm.output_messages": json.dumps([message])})
    (recording,) = read(tmp_path, [made])
    (step,) = trajectory(recording.transcript)
    assert (step.thought, step.tool, step.tool_input) == ("t", "f", {"a": [1]})


def test_attributes_may_be_nested(tmp_path: Path) -> None:
    flat = model(2, 1, "Hi")
    nested = {"llm": {"input_messages": [{"message.role": "user", "message.content": "Q?"}],
                      "output_messages": [{"message": {"role": "assistant", "content": "Hi"}}],
                      "token_count": {"prompt": 10, "completion": 1}}}  # fmt: skip
    for attributes in (flat["attributes"], nested):
        (recording,) = read(tmp_path, [span(1), {**flat, "attributes": attributes}])
        assert [(recording.subject, answer_of(step)) for step in trajectory(recording.transcript)] == [("Q?", "Hi")]
        assert recording.transcript.usage["target"].input_tokens == 10


def test_ids_in_base64_are_the_same_ids() -> None:
    assert read_id("CvdlGRbNQ92ESOshHIAxnA==", 32) == TRACE
    assert read_id("t61rcWkgMzE=", 16) == "b7ad6b7169203331"
    assert read_id(TRACE.upper(), 32) == TRACE
    assert read_id("0" * 32, 32) is None
    assert read_id("", 32) is None
    assert read_id(None, 32) is None


@pytest.mark.parametrize(
    "value",
    [None, math.nan, math.inf, -1, 0, "0", "soon", "", 10**40, "9" * 25, True, [], "0001-01-01T00:00:00", 1e300],
)
def test_what_is_no_time_is_none(value: Any) -> None:
    assert read_time(value) is None


def test_an_id_that_no_encoding_takes_loses_nothing_else(tmp_path: Path) -> None:
    odd = model(2, None, "Hello.")
    odd["context"] = {"trace_id": "\ud800", "span_id": "\udfff"}
    first, second = read(tmp_path, [model(1, None, "Hello."), odd])
    assert {first.transcript.trace_id, second.transcript.trace_id} == {TRACE, "\\ud800"}


def test_spans_without_times_parents_or_names_are_read_and_told(tmp_path: Path) -> None:
    spans = [
        span(1, None, start_time="soon", end_time=None),
        span(2, 77, start_time=None),
        {"context": {"trace_id": TRACE, "span_id": "x"}},
        span(4, None, end_time="2020-01-01T00:00:00Z"),
    ]
    (recording,) = read(tmp_path, spans)
    (round_,) = recording.transcript.rounds
    assert len(round_.steps) == 4
    assert all(step.seconds is None for step in round_.steps)
    notes = recording.transcript.notes
    assert "spans whose parent is not in the trace: 1" in notes
    assert "spans without a start time, put last: 3" in notes


def test_cycles_of_parents_end(tmp_path: Path) -> None:
    spans = [span(1, 3), span(2, 1), span(3, 2), span(4, 4), model(5, 2, "Hi")]
    (recording,) = read(tmp_path, spans)
    assert sorted(step.id for step in recording.transcript.rounds[0].steps) == [f"{n:016x}" for n in range(1, 6)]
    assert [answer_of(step) for step in trajectory(recording.transcript)] == ["Hi"]
    assert any("cycles" in note for note in recording.transcript.notes)


def test_spans_may_nest_thousands_deep(tmp_path: Path) -> None:
    spans = [span(1)] + [
        {**span(1), "context": {"trace_id": TRACE, "span_id": f"{number:016x}"}, "parent_id": f"{number - 1:016x}"}
        for number in range(2, 3000)
    ]
    (recording,) = read(tmp_path, spans)
    assert len(recording.transcript.rounds[0].steps) == len(spans)


def test_a_span_that_was_exported_twice_counts_once(tmp_path: Path) -> None:
    running = {**model(2, 1, "Hi"), "end_time": None}
    (recording,) = read(tmp_path, [span(1), running, model(2, 1, "Hi"), running])
    assert len(recording.transcript.rounds[0].steps) == 2
    assert recording.transcript.usage["target"].input_tokens == 10
    assert recording.transcript.rounds[0].steps[1].seconds == 0.25
    assert "spans that were recorded more than once, counted once: 2" in recording.transcript.notes
    assert not recording.lost


RUNNING = {"end_time": None}
FAILED = {"status_code": "ERROR"}


@pytest.mark.parametrize(
    "exported",
    [
        [model(2, 1, "Hi", score=math.nan), model(2, 1, "Hi", score=math.nan)],
        [model(2, 1, "Hi") | RUNNING, model(2, 1, "Hi", more=1) | RUNNING, model(2, 1, "Hi", more=1, late=2)],
        [model(2, 1, "Hi", more=1) | RUNNING, model(2, 1, "Hi") | RUNNING, model(2, 1, "Hi", more=1, late=2)],
        [model(2, 1, "Hi") | RUNNING, model(2, 1, "Hi") | FAILED],
    ],
    ids=["nan", "running", "out-of-order", "failed-later"],
)
def test_a_span_all_of_which_another_one_with_its_id_says_is_not_lost(
    tmp_path: Path, exported: list[dict[str, Any]]
) -> None:
    (recording,) = read(tmp_path, [span(1), *exported])
    assert not recording.lost


GOOD = model(2, 1, "Good")


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (model(2, 1, "Bad"), GOOD),
        (model(2, 1, "Bad") | RUNNING, GOOD | RUNNING),
        (model(2, 1, "Bad") | RUNNING, GOOD),
        (GOOD | FAILED | RUNNING, GOOD),
        (model(2, 1, "Good", more=1), GOOD),
        (GOOD | {"events": [{"name": "exception", "attributes": {}}]}, GOOD),
    ],
)
def test_a_span_that_says_something_else_than_another_one_with_its_id_is_lost(
    tmp_path: Path, bad: dict[str, Any], good: dict[str, Any]
) -> None:
    (recording,) = read(tmp_path, [span(1), bad, good, {**good, "start_time": "2026-01-01T00:00:02.500001Z"}])
    (words,) = recording.lost
    assert words.endswith(f"{TRACE}: spans left out that say something else than another one with their id: 1")


def test_model_spans_without_output_are_no_steps_and_their_tokens_are_kept(tmp_path: Path) -> None:
    silent = model(2, 1, "")
    silent["attributes"] = {key: value for key, value in silent["attributes"].items() if "output_messages" not in key}
    (recording,) = read(tmp_path, [span(1), silent, model(3, 1, "Hi")])
    assert [answer_of(step) for step in trajectory(recording.transcript)] == ["Hi"]
    assert recording.transcript.usage["target"].input_tokens == 20


def test_two_instrumentations_of_one_call_count_once(tmp_path: Path) -> None:
    one = {**model(2, 1, "Hi"), "scope": {"name": "openinference.instrumentation.litellm"}}
    other = {**model(3, 1, "Hi"), "scope": {"name": "opentelemetry.instrumentation.openai"}}
    other["start_time"], other["end_time"] = "2026-01-01T00:00:02.6+00:00", "2026-01-01T00:00:02.7+00:00"
    (recording,) = read(tmp_path, [span(1), one, other])
    assert len(trajectory(recording.transcript)) == 1
    assert recording.transcript.usage["target"].calls == 1


def test_a_sum_that_the_root_repeats_counts_once(tmp_path: Path) -> None:
    total = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 2}
    root = span(1, None, span_kind="AGENT", attributes=total)
    (both,) = read(tmp_path, [root, model(2, 1, "a"), model(3, 1, "b")])
    assert both.transcript.usage["target"].input_tokens == 20
    bare = {"llm.token_count.prompt": None, "llm.token_count.completion": None}
    (only,) = read(tmp_path, [root, model(2, 1, "a", **bare), model(3, 1, "b", **bare)])
    assert only.transcript.usage["target"].input_tokens == 20


def test_tokens_that_nobody_reported_are_unknown(tmp_path: Path) -> None:
    bare = {"llm.token_count.prompt": "many", "llm.token_count.completion": -1}
    (recording,) = read(tmp_path, [span(1), model(2, 1, "a", **bare)])
    assert not recording.transcript.usage["target"].reported


def test_a_question_is_the_last_message_of_the_user_that_is_no_observation(tmp_path: Path) -> None:
    more = {
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Observation: 5",
        "llm.input_messages.2.message.role": "user",
        "llm.input_messages.2.message.content": "Error while parsing the output: x",
    }
    (recording,) = read(tmp_path, [span(1), model(2, 1, "Answer: 5", **more)])
    assert recording.subject == "Q?"


def test_a_question_on_the_root_is_taken_from_there(tmp_path: Path) -> None:
    for value in (
        "Real?",
        '{"question": "Real?"}',
        '{"messages": [{"role": "user", "content": "Real?"}]}',
        '{"input": "Real?"}',
    ):
        (recording,) = read(
            tmp_path, [span(1, attributes={"input.value": value}), model(2, 1, "a", "Context: x. Real?")]
        )
        assert recording.subject == "Real?"
    for value in ("AgentInput(x=1)", '{"ctx": "<object>"}', "[1, 2]", ""):
        (recording,) = read(tmp_path, [span(1, attributes={"input.value": value}), model(2, 1, "a", "Real?")])
        assert recording.subject == "Real?"


def test_two_traces_of_one_question_are_two_runs_with_one_subject(tmp_path: Path) -> None:
    other = [{**each, "context": {**each["context"], "trace_id": "1" * 32}} for each in (span(1), model(2, 1, "b"))]
    recordings = read(tmp_path, [span(1), model(2, 1, "a"), *other])
    assert len({recording.run_key for recording in recordings}) == 2
    assert {recording.subject for recording in recordings} == {"Q?"}


def test_long_questions_with_one_beginning_are_different_subjects(tmp_path: Path) -> None:
    subjects = {read(tmp_path, [span(1), model(2, 1, "a", "x" * 500 + end)])[0].subject for end in ("1", "2")}
    assert len(subjects) == 2


def test_a_trace_in_which_no_model_was_recorded_has_its_tools_as_steps(tmp_path: Path) -> None:
    tool = span(2, 1, span_kind="TOOL", attributes={"tool.name": "t", "input.value": '{"a": 1}', "output.value": "5"})
    (recording,) = read(tmp_path, [span(1), tool])
    (step,) = trajectory(recording.transcript)
    assert (step.tool, step.tool_input, step.result) == ("t", {"a": 1}, "5")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
KEYS = (
    "openinference.span.kind", "gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages",
    "gen_ai.tool.definitions", "gen_ai.tool.call.id", "gen_ai.tool.name", "gen_ai.system_instructions", "input.value",
    "output.value", "llm.input_messages.0.message.role", "llm.input_messages.0.message.content", "llm.output_messages",
    "llm.output_messages.0.message.content", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "llm.token_count.prompt", "llm.prompts",
    "llm.tools.0.tool.json_schema", "llm.invocation_parameters", "tool.name", "tool.parameters", "tool.parameters.a.b",
    "tool.parameters.a", "events", "gen_ai.prompt.0.content", "metadata", "pydantic_ai.all_messages",
)  # fmt: skip
CONTENTS = (
    "LLM", "TOOL", "AGENT", "chat", "execute_tool", "invoke_agent", "Thought: a\nAction: b\nAction Input: {}",
    '[{"role": "user", "parts": [{"type": "tool_call", "name": 5}, 7]}]',
    '[{"role": "assistant", "parts": [{"type": "text", "content": {"x": 1}}]}]',
    '{"type": "tool", "data": {"content": [1], "tool_call_id": 5}}',
    '{"blocks": [1, {"text": 2}], "tool_name": "x"}',
)  # fmt: skip
VALUES = st.sampled_from(CONTENTS) | JSON
SPANS = st.lists(
    st.fixed_dictionaries(
        {
            "context": st.fixed_dictionaries({"trace_id": st.just(TRACE), "span_id": st.sampled_from("abcdef")}),
            "attributes": st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8) | JSON,
        },
        optional={
            "name": JSON | st.sampled_from(["ReActAgent.run", "LangGraph"]),
            "parent_id": st.sampled_from("abcdefg") | JSON,
            "span_kind": st.sampled_from(["LLM", "TOOL", "AGENT", "CHAIN"]) | JSON,
            "start_time": st.integers(1, 10**18) | JSON,
            "end_time": st.integers(1, 10**18) | JSON,
            "status_code": st.sampled_from(["OK", "ERROR"]) | JSON,
            "events": JSON,
            "resource": JSON,
            "scope": JSON,
            "status": JSON,
        },
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(SPANS)
def test_any_spans_are_read_each_once_and_can_be_written_to_a_journal(raw: list[dict[str, Any]]) -> None:
    spans = [read for each in raw if (read := read_span(each)) is not None]
    recordings = list(read_trace(spans, "here", "spans"))
    steps = [step for recording in recordings for step in recording.transcript.rounds[0].steps]
    ids = [step.id for step in steps]
    assert len(ids) == len(set(ids))
    assert {each for each in ids if "#" not in each} == {each.id for each in spans}
    for recording in recordings:
        for round_ in recording.transcript.rounds:
            assert decode(type(round_), json.loads(encode(round_))).number == 1
        assert isinstance(decode(Transcript, json.loads(encode(recording.transcript.without_rounds()))), Transcript)
