"""Text of ReAct agents: read as their frameworks read it, never raising, and losing nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.recordings.output_text import text_of_output
from viva.recordings.react import PartLabel, ReactText, read_react, segments

LABELS = (
    "Thought:", "Action:", "Action Input:", "Observation:", "Answer:", "Final Answer:", "**Thought:**", "Action :",
    "> Thought:", "Thought 1:", "Action_Input:", "Thought", "Answer", "action:",
)  # fmt: skip
# fmt: off
PIECES = (
    *LABELS, "search", "None", "No tool used", '{"a": {"b": [1, "x"]}}', '{"a": ', "{'a': 1}", "```json\n", "```", "{}",
    "[1", '"', "(", ")", ",", "\n", "\n\n", " ", "\t", "\r\n", "ok", "word Answer: 5", "\ufeff", "é", "\x00", "\ud800",
)
# fmt: on
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=30).map("".join))


@given(TEXTS)
def test_segments_put_together_are_the_text(text: str) -> None:
    assert "".join(part.marker + part.text for part in segments(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "Thought" + " " * 300_000 + "x",
        "#" * 300_000 + "Thought",
        "Action: a\nAction Input: ```json\n" + (" " * 100_000 + "\n") * 3 + "x",
        "Action Input: [\n" * 100_000,
    ],
    ids=["blanks", "marks", "blanks in a fence", "broken inputs"],
)
def test_the_time_grows_with_the_length_of_a_hostile_text_not_with_its_square(text: str) -> None:
    """Each took minutes, which no suite would wait for."""
    assert "".join(part.marker + part.text for part in segments(text)) == text
    read_react(text)


@given(TEXTS)
def test_reading_never_raises_and_every_word_is_in_a_part(text: str) -> None:
    read = read_react(text)
    parts = [read.thought, read.tool, read.tool_input, read.answer, read.rest]
    told = " ".join(
        part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts if part is not None
    )
    for word in re.findall(r"[a-z]{2,}", text):
        if word not in ("json", "used"):
            assert word in told or word in "thought action input observation answer final", (word, read)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.floats() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    )
)
def test_any_output_has_text_or_none(output: Any) -> None:
    found = text_of_output(output)
    assert found is None or isinstance(found, str)


ARGUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.text(st.characters(categories=["L", "N", "Zs"]), max_size=40),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True).filter(
        lambda name: name.lower() not in ("none", "na", "null")
    ),
    st.dictionaries(st.text(), ARGUMENTS, max_size=4),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_what_an_agent_writes_is_what_is_read(
    thought: str, tool: str, arguments: dict[str, Any], indent: int | None, fenced: bool
) -> None:
    body = json.dumps(arguments, indent=indent)
    text = f"Thought: {thought}\nAction: {tool}\nAction Input: " + (f"\n```json\n{body}\n```" if fenced else body)
    read = read_react(text)
    assert read == ReactText(thought.strip(), tool, arguments, None, "", True, None)


def test_a_thought_may_have_several_lines() -> None:
    read = read_react("Thought: first\nsecond: line\n\nthird\nAction: a\nAction Input: {}")
    assert read.thought == "first\nsecond: line\n\nthird"


def test_an_answer_is_never_swallowed_into_a_thought() -> None:
    assert read_react("Thought: I know. Answer: 5").answer == "5"
    assert read_react("Thought: I know.\nAnswer: 5\nThought: more").answer == "5\nThought: more"
    assert read_react("Thought: I know.\nFinal Answer: 5").thought == "I know."


def test_the_word_answer_in_a_thought_before_an_action_is_no_answer() -> None:
    read = read_react("Thought: The format is Answer: yes.\nAction: ask\nAction Input: {}")
    assert (read.thought, read.tool, read.answer) == ("The format is Answer: yes.", "ask", None)


def test_labels_within_an_input_are_part_of_it() -> None:
    value = {"body": "line\nThought: quoted\nAction: x"}
    read = read_react("Thought: t\nAction: send\nAction Input: " + json.dumps(value).replace("\\n", "\n"))
    assert "Thought: quoted" in str(read.tool_input)
    assert read.tool == "send"
    assert read.rest == ""


def test_a_broken_input_is_kept_as_it_is() -> None:
    assert read_react("Action: a\nAction Input: {'city': 'Rome',}").tool_input == "{'city': 'Rome',}"
    assert read_react('Action: a\nAction Input: {"city": ').tool_input == '{"city":'
    assert read_react("Action: a\nAction Input: Rome").tool_input == "Rome"
    assert read_react('Action: a\nAction Input: {"a": 1, "a": 2}').tool_input == '{"a": 1, "a": 2}'


def test_what_an_agent_makes_up_after_its_action_is_no_step() -> None:
    text = 'Thought: t\nAction: a\nAction Input: {"x": 1}\nObservation: invented\nThought: more\nAnswer: 7'
    read = read_react(text)
    assert (read.tool, read.tool_input, read.answer) == ("a", {"x": 1}, None)
    assert (
        read.rest
        == "Observation: invented\nThought: more\nAnswer: 7".replace("\nThought", "\n\nThought").replace(
            "\nAnswer", "\n\nAnswer"
        )
        or "invented" in read.rest
    )


@pytest.mark.parametrize("none", ["None", "N/A", "No tool used", "`none`", "(none)"])
def test_an_action_that_is_none_is_no_tool(none: str) -> None:
    assert read_react(f"Thought: t\nAction: {none}\nAnswer: a").tool is None


def test_malformed_turns_say_what_is_missing() -> None:
    assert read_react("Thought: t\nAction: a").fault == "an Action without an Action Input"
    assert read_react("Thought: t\nAction Input: {}").fault == "an Action Input without an Action"
    assert read_react("Thought: t").fault == "neither an Action nor an Answer"


def test_words_without_labels_are_the_answer() -> None:
    assert read_react(" Hi there! ") == ReactText(answer="Hi there!")
    assert read_react("") == ReactText()
    assert [part.label for part in segments("Hi")] == [PartLabel.NONE]


def test_the_action_of_langchain_as_one_json_object() -> None:
    text = 'Thought: t\nAction:\n```json\n{"action": "search", "action_input": {"q": "x"}}\n```'
    read = read_react(text)
    assert (read.thought, read.tool, read.tool_input, read.fault) == ("t", "search", {"q": "x"}, None)
    final = read_react('Action: {"action": "Final Answer", "action_input": "done"}')
    assert (final.tool, final.answer) == (None, "done")


@pytest.mark.parametrize(
    "output",
    [
        [{"message": {"role": "assistant", "content": "Thought: t"}}],
        '[{"message": {"content": "Thought: t"}}]',
        {"value": "Thought: t"},
        {"message.content": "Thought: t"},
        {"role": "assistant", "content": [{"type": "text", "text": "Thought: t"}]},
        "Thought: t",
    ],
)
def test_all_shapes_of_an_output_have_its_text(output: Any) -> None:
    assert text_of_output(output) == "Thought: t"


def test_an_answer_in_json_is_not_taken_apart() -> None:
    answer = '{"content": "x", "price": 5}'
    assert text_of_output(answer) == answer
