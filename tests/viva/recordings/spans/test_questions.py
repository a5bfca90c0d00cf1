"""What the user asked, among what frameworks put beside it; replies without a word; calls with several spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.viva.recordings.spans.test_broken import model, span
from tests.viva.recordings.spans.test_calls_of_tools import ANSWER, TOOLS, asks, back, ran, said
from tests.viva.recordings.spans.test_conventions import openinference, read
from viva.exam.judging.references import load_references
from viva.judge.trajectory.match import StrictMatch
from viva.records.evaluator import Context
from viva.records.trajectory import answer_of, trajectory

RED = "Observation: the build is red. Why?"


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


@pytest.mark.parametrize("question", [RED, "Error while parsing the output: what does this mean?"])
def test_a_question_that_looks_like_an_observation_is_a_question(question: str, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, [span(1), said(2, [user(question)], ANSWER)])
    assert recording.subject == question
    talk = [user("Hello"), {"role": "assistant", "content": "Hello, what can I do?"}, user(question)]
    (recording,) = read(tmp_path, [span(1), said(2, talk, ANSWER)])
    asked = recording.transcript.rounds[-1].examiner
    assert asked == (question if question is RED else "Hello")


@pytest.mark.parametrize(
    "acted", ["Thought: t\nAction: f\nAction Input: {}", "Calling tools:\n[{'id': '1'}]", "<code>f()</code>", ""]
)
def test_what_comes_back_after_an_action_is_no_question(acted: str, tmp_path: Path) -> None:
    talk = [user("Warm?"), {"role": "assistant", "content": acted}, user("Observation: 25 degrees")]
    (recording,) = read(tmp_path, [span(1), said(2, talk, ANSWER)])
    assert recording.subject == "Warm?"


def test_what_a_framework_puts_before_a_question_is_not_part_of_it(tmp_path: Path) -> None:
    (recording,) = read(tmp_path, [span(1), said(2, [user("New task:\nWarm in Rome?")], ANSWER)])
    assert recording.subject == "Warm in Rome?"
    (recording,) = read(tmp_path, [span(1), said(2, [user("New task: water the plants")], ANSWER)])
    assert recording.subject == "New task: water the plants"
    task = span(1, span_kind="AGENT", attributes={"input.value": json.dumps({"task": "Warm?", "stream": False})})
    (recording,) = read(tmp_path, [task, said(2, [user("New task:\nWarm?")], ANSWER)])
    assert recording.subject == "Warm?"


def silent(number: int, given: list[dict[str, Any]]) -> dict[str, Any]:
    about = openinference(given, {"role": "assistant", "content": "x"})
    del about["llm.output_messages.0.message.content"]
    return span(number, 1, attributes={**about, **TOOLS})


def test_an_empty_reply_is_a_step(tmp_path: Path) -> None:
    spans = [span(1), said(2, [user("Warm?")], asks()), ran(3), silent(4, [user("Warm?"), asks(), back("25")])]
    (recording,) = read(tmp_path, spans)
    first, second = trajectory(recording.transcript)
    assert (first.tool, second.tool, answer_of(second)) == ("weather", None, "")
    assert recording.transcript.usage["target"].calls == 2
    (recording,) = read(tmp_path, [span(1), silent(2, [user("Warm?")])])
    assert [answer_of(step) for step in trajectory(recording.transcript)] == [""]
    parts = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": '[{"role": "assistant", "parts": []}]'}
    (recording,) = read(tmp_path, [span(1), model(2, 1, "Thought: t\nAnswer: a"), span(3, 1, attributes=parts)])
    assert len(trajectory(recording.transcript)) == 1, "without any text in it, nobody knows"


STREAMED = {"llm.model_name": "m"}


def streamed(number: int, name: str, words: str = "Yes.", parent: int = 1, **more: Any) -> dict[str, Any]:
    about = openinference([user("Warm?")], {"role": "assistant", "content": words})
    return span(number, parent, name=name, attributes={**about, **more})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("OpenAI.astream_chat", "OpenAI.stream_chat"),
        ("OpenAI.astream_complete", "OpenAI.stream_complete"),
        ("X.achat", "X.chat"),
        ("X.astream_chat_with_tools", "X.astream_chat"),
    ],
)
def test_two_spans_of_one_streamed_call_beside_each_other_count_once(first: str, second: str, tmp_path: Path) -> None:
    spans = [span(1), streamed(2, first), streamed(4, second), span(5, 1)]
    (recording,) = read(tmp_path, spans)
    usage = recording.transcript.usage["target"]
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 10, 1)
    assert [answer_of(step) for step in trajectory(recording.transcript)] == ["Yes."]
    # The span that began the stream ended before anything was said.
    blank = silent(2, [user("Warm?")])
    blank |= {
        "name": first,
        "attributes": {
            key: value for key, value in blank["attributes"].items() if "count" not in key and key not in TOOLS
        },
    }
    (recording,) = read(tmp_path, [span(1), blank, streamed(4, second)])
    assert recording.transcript.usage["target"].calls == 1
    assert [answer_of(step) for step in trajectory(recording.transcript)] == ["Yes."]


def test_calls_that_only_look_alike_are_counted_each(tmp_path: Path) -> None:
    for name, other in (
        ("the same method twice", streamed(4, "OpenAI.astream_chat")),
        ("another client", streamed(4, "Other.stream_chat")),
        ("other words", streamed(4, "OpenAI.stream_chat", "No.")),
        ("other tokens", streamed(4, "OpenAI.stream_chat", **{"llm.token_count.prompt": 11})),
        ("another place", streamed(4, "OpenAI.stream_chat", parent=5)),
        ("another question", streamed(4, "OpenAI.stream_chat", **{"llm.input_messages.0.message.content": "Cold?"})),
    ):
        (recording,) = read(tmp_path, [span(1), streamed(2, "OpenAI.astream_chat"), span(5, 1), other])
        assert recording.transcript.usage["target"].calls == 2, name


@pytest.mark.parametrize("question", ["Which one?\nAnd why?", "In\u00a0Rome?", "  Warm?  ", "x" * 300])
async def test_the_question_as_it_was_asked_is_a_key_of_a_reference(question: str, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, [span(1), said(2, [user(question)], asks()), ran(3)])
    file = tmp_path / "reference.json"
    for key in (question, recording.subject, " ".join(question.split())):
        file.write_text(json.dumps({str(key): ["weather"], "another": []}))
        assert load_references(str(file)).find(recording.subject or "", recording.transcript) == ["weather"]
    file.write_text(json.dumps({"another": []}))
    assert load_references(str(file)).find(recording.subject or "", recording.transcript) is None


async def test_a_missing_reference_names_its_subject(tmp_path: Path) -> None:
    (recording,) = read(tmp_path, [span(1), said(2, [user("Warm?")], asks()), ran(3)])
    (verdict,) = (await StrictMatch().evaluate(recording.transcript, Context("run", task="Warm?"))).verdicts
    assert verdict.reason == "there is no reference trajectory for the subject 'Warm?'"
