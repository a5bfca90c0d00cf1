"""The reader of chat-format recordings: what becomes of each message, and that none is lost."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.recordings import TAU, tau_conversations
from viva.errors import SetupError
from viva.journal.reader import read_runs
from viva.journal.writer import Journal
from viva.recordings.chat import read_conversations
from viva.recordings.chat_rounds import read_messages
from viva.recordings.recording import Recording, RecordingError
from viva.records.codec import decode, encode
from viva.records.transcript import StepKind, StopReason, Transcript

Message = dict[str, Any]


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def agent(text: Any, *calls: Message, **more: Any) -> Message:
    return {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {}), **more}


def call(identity: str, name: str, arguments: Any = "{}") -> Message:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(identity: str, text: Any, **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": identity, "content": text, **more}


def rounds(*messages: Message) -> Transcript:
    return read_messages(messages)


def test_a_user_message_its_tool_calls_and_the_answer_are_one_round() -> None:
    transcript = rounds(
        {"role": "system", "content": "be kind"},
        user("weather?"),
        agent("let me look", call("1", "find", '{"city": "Oslo"}'), call("2", "clock")),
        result("2", "noon"),
        result("1", "rain"),
        agent("rain"),
        user("thanks"),
    )
    assert transcript.system == "be kind"
    first, last = transcript.rounds
    assert (first.examiner, first.agent, last.examiner, last.agent) == ("weather?", "rain", "thanks", None)
    found, clock = first.steps
    assert (found.id, found.kind, found.tool, found.tool_input, found.result) == (
        "r1.1",
        StepKind.TOOL,
        "find",
        {"city": "Oslo"},
        "rain",
    )
    assert (found.thought, clock.thought, clock.result) == ("let me look", None, "noon")
    assert found.attributes["tool_call_id"] == "1"


def test_an_agent_that_speaks_first_and_turns_that_are_doubled_keep_their_place() -> None:
    transcript = rounds(agent("hello"), user("a"), user("b"), agent("c"), agent("d"))
    assert [(each.examiner, each.agent) for each in transcript.rounds] == [
        (None, "hello"),
        ("a", None),
        ("b", "c"),
        (None, "d"),
    ]


def test_a_call_without_a_result_and_a_result_without_a_call_are_kept_and_noted() -> None:
    transcript = rounds(user("go"), agent(None, call("1", "lost")), result("9", "stray", name="other"), agent("done"))
    lost, stray = transcript.rounds[0].steps
    assert (lost.tool, lost.result) == ("lost", None)
    assert (stray.tool, stray.result, stray.attributes["without_call"]) == ("other", "stray", True)
    assert transcript.notes == ("tool calls without a result: 1", "tool results without a call: 1")


def test_a_late_result_still_finds_its_call() -> None:
    transcript = rounds(user("go"), agent(None, call("1", "slow")), user("well?"), result("1", "here"), agent("done"))
    assert transcript.rounds[0].steps[0].result == "here"
    assert transcript.rounds[1].steps == ()


def test_a_second_result_for_one_call_does_not_replace_the_first() -> None:
    steps = rounds(user("go"), agent(None, call("1", "t")), result("1", "one"), result("1", "two")).rounds[0].steps
    assert [step.result for step in steps] == ["one", "two"]


def test_arguments_that_are_no_json_stay_as_they_came() -> None:
    steps = rounds(
        agent(
            None,
            call("1", "t", '{"a": '),
            call("2", "t", {"a": 1}),
            call("3", "t", ""),
            call("4", "t", '{"a": NaN}'),
            call("5", "t", '{"a": 1, "a": 2}'),
            call("6", "t", "[" * 100_000),
        )
    )
    given = [step.tool_input for step in steps.rounds[0].steps]
    assert given == ['{"a": ', {"a": 1}, "", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000]


def test_the_older_function_format_is_matched_by_name() -> None:
    transcript = rounds(
        user("go"),
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "add", "content": "2"},
        agent("2"),
    )
    (step,) = transcript.rounds[0].steps
    assert (step.tool, step.tool_input, step.result) == ("add", {"a": 1}, "2")


def test_calls_whose_name_lies_beside_their_id_are_read_too() -> None:
    flat = {"id": "1", "name": "add", "arguments": {"a": 1}, "requestor": "assistant"}
    (step,) = rounds(agent(None, flat), result("1", "2")).rounds[0].steps
    assert (step.tool, step.tool_input, step.result) == ("add", {"a": 1}, "2")
    assert step.attributes["call"] == {"requestor": "assistant"}


def test_unknown_roles_and_late_system_text_become_steps_named_by_their_role() -> None:
    transcript = rounds(user("a"), {"role": "critic", "content": "hm"}, {"role": "system", "content": "now b"})
    assert [(step.kind, step.agent, step.result) for step in transcript.rounds[0].steps] == [
        (StepKind.AGENT, "critic", "hm"),
        (StepKind.AGENT, "system", "now b"),
    ]


def test_parts_become_text_and_images_and_stay_whole_where_that_is_not_all() -> None:
    image = {"type": "image_url", "image_url": {"url": "file.png"}}
    audio = {"type": "input_audio", "input_audio": {"data": "…"}}
    transcript = rounds(
        user([{"type": "text", "text": "look"}, image]), agent([{"type": "text", "text": "heard"}, audio])
    )
    assert transcript.rounds[0].examiner == "look"
    assert transcript.rounds[0].images == ("file.png",)
    assert transcript.rounds[0].agent == "heard"
    assert transcript.attributes == {"messages": {"1": {"content": [{"type": "text", "text": "heard"}, audio]}}}


def test_a_refusal_is_what_the_agent_said() -> None:
    transcript = rounds(user("a"), agent(None, refusal="I will not"))
    assert transcript.rounds[0].agent == "I will not"
    assert transcript.attributes == {"messages": {"1": {"refusal": "I will not"}}}


# --- files ---


def write(folder: Path, text: str, name: str = "talk.jsonl") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


TALK = [user("a"), agent("b")]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (json.dumps(TALK), 1),
        (json.dumps(TALK, indent=1), 1),
        (json.dumps({"messages": TALK}), 1),
        (json.dumps({"traj": TALK}, indent=1), 1),
        (json.dumps([TALK, TALK]), 2),
        (json.dumps([{"traj": TALK}, {"messages": TALK}], indent=1), 2),
        ("\n".join(json.dumps(message) for message in TALK), 1),
        (f"\n{json.dumps(TALK)}\n\n{json.dumps({'traj': TALK})}\n", 2),
        ("\ufeff" + json.dumps({"traj": TALK}) + "\r\n" + json.dumps(TALK), 2),
        ("[]", 0),
    ],
)
def test_every_shape_of_file_gives_the_same_conversation(tmp_path: Path, text: str, count: int) -> None:
    found = list(read_conversations(write(tmp_path, text)))
    assert len(found) == count
    for each in found:
        assert [(r.examiner, r.agent) for r in each.transcript.rounds] == [("a", "b")]


def test_the_wrapper_is_read_and_what_is_unknown_in_it_kept(tmp_path: Path) -> None:
    wrapper = {
        "task_id": 7,
        "trial": 2,
        "reward": 1,
        "info": {"source": "user"},
        "messages": "two of them",
        "tools": [{"name": "t"}],
        "traj": [user("a"), agent("b", name="Bo")],
    }
    (found,) = read_conversations(write(tmp_path, json.dumps(wrapper)))
    assert (found.subject, found.trial, found.reward) == ("7", 2, 1.0)
    assert found.transcript.tools == ({"name": "t"},)
    assert found.transcript.attributes == {
        "recording": {"info": {"source": "user"}, "messages": "two of them"},
        "messages": {"1": {"name": "Bo"}},
    }


def test_what_a_recording_says_besides_its_rounds_is_in_the_journal_too(tmp_path: Path) -> None:
    wrapper = {"info": {"seed": 7}, "messages": [user("a"), agent("b", name="Bo")], "task_id": "t"}
    (found,) = read_conversations(write(tmp_path, json.dumps(wrapper)))
    with Journal(tmp_path / "journal") as journal:
        for round_ in found.transcript.rounds:
            journal.append("round", "r", 1, round_)
        journal.append("transcript", "r", 1, replace(found.transcript, rounds=(), stop=StopReason.FINISHED))
    (stored,) = read_runs(tmp_path / "journal")
    assert stored.transcript == replace(found.transcript, stop=StopReason.FINISHED)
    assert stored.transcript.attributes == {"recording": {"info": {"seed": 7}}, "messages": {"1": {"name": "Bo"}}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        (f"{json.dumps(TALK)}\n{{broken\n", "line 2, column 2: not valid JSON"),
        ('[\n {"role": "user"\n', "line 3"),
        ("7", "line 1: not a conversation"),
        ('{"text": "a"}', "it must be a list of messages, or an object with `traj` or `messages`"),
        (json.dumps([*TALK, "b"]), "line 1: message 3 is not a chat message: it is text"),
        (json.dumps([{"role": 3}]), "message 1 is not a chat message: its role is 3"),
        (json.dumps([{"traj": TALK}, 4]), "line 1, element 2: not a conversation"),
        (f"{json.dumps(TALK[0])}\n{json.dumps(TALK)}", "line 2: the file mixes single messages"),
        (f"{json.dumps(TALK)}\n{json.dumps(TALK[0])}", "line 2: the file mixes single messages"),
        ("[" * 100_000, "line 1: cannot be read"),
        ("9" * 5000, "line 1: cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RecordingError) as caught:
        list(read_conversations(path))
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_bytes_that_are_no_utf_8_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(json.dumps(TALK).encode() + b'\n["\xff"]\n')
    with pytest.raises(RecordingError, match="line 2: not UTF-8"):
        list(read_conversations(path))


def test_a_missing_file_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        list(read_conversations(tmp_path / "none.jsonl"))


def test_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    reader = read_conversations(write(tmp_path, f"{json.dumps(TALK)}\n{json.dumps(TALK)}\nbroken"))
    next(reader)
    next(reader)
    with pytest.raises(RecordingError, match="line 3"):
        next(reader)


@pytest.mark.parametrize("reward", ["1", None, float("nan"), float("inf"), 10**400])
def test_what_is_no_number_is_no_reward_and_is_kept(tmp_path: Path, reward: Any) -> None:
    (found,) = read_conversations(write(tmp_path, json.dumps({"traj": TALK, "reward": reward})))
    assert found.reward is None
    assert "reward" in found.transcript.attributes["recording"]


# --- the recorded truth ---


@pytest.fixture(scope="module")
def tau() -> list[Recording]:
    return tau_conversations()


def test_nothing_of_the_shared_conversations_is_lost(tau: list[Recording]) -> None:
    lines = [json.loads(line) for line in TAU.read_text().splitlines()]
    for each, line in zip(tau, lines, strict=True):
        assert each.transcript.notes == ()
        assert each.transcript.system == line["traj"][0]["content"]
        assert each.transcript.attributes == {"recording": {"info": line["info"]}}
        assert _said(each.transcript) == _given(line["traj"])
        assert decode(Transcript, json.loads(encode(each.transcript))) == each.transcript


# --- whatever the messages are ---

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ids = st.sampled_from(["1", "2", "3"])
calls = st.builds(call, ids, st.sampled_from("fg"), st.sampled_from(["{}", '{"a": 1}', "no json", "[1]", "NaN"]))
messages = st.one_of(
    st.builds(user, st.text(max_size=8)),
    st.builds(agent, st.text(max_size=8)),
    st.builds(
        lambda text, found: agent(text, *found),
        st.none() | st.text(max_size=8),
        st.lists(calls, min_size=1, max_size=3),
    ),
    st.builds(result, ids, st.text(max_size=8)),
    st.builds(
        lambda role, text: {"role": role, "content": text}, st.sampled_from(["system", "critic"]), st.text(max_size=8)
    ),
)


def _said(transcript: Transcript) -> Counter[tuple[str, str]]:
    """Every text of the transcript with who said it."""
    found: Counter[tuple[str, str]] = Counter()
    for each in transcript.rounds:
        found.update([("user", each.examiner)] if each.examiner is not None else [])
        found.update([("assistant", each.agent)] if each.agent is not None else [])
        for step in each.steps:
            if step.kind is StepKind.TOOL:
                found.update([("call", step.tool or "")] if "without_call" not in step.attributes else [])
                found.update([("tool", step.result)] if step.result is not None else [])
                found.update([("assistant", step.thought)] if step.thought is not None else [])
            else:
                found.update([(step.agent or "", step.result or "")])
    return found


def _given(sent: list[Message]) -> Counter[tuple[str, str]]:
    """The same of the messages, but for the leading system text."""
    found: Counter[tuple[str, str]] = Counter()
    leading = True
    for message in sent:
        leading = leading and message["role"] == "system"
        if leading:
            continue
        if message["content"] is not None:
            found[message["role"], message["content"]] += 1
        for each in message.get("tool_calls", ()):
            found["call", each["function"]["name"]] += 1
    return found


@settings(max_examples=examples(300))
@given(st.lists(messages, max_size=20))
def test_every_message_is_in_the_transcript_exactly_once(sent: list[Message]) -> None:
    transcript = read_messages(sent)
    assert transcript.attributes == {}
    assert _said(transcript) == _given(sent)
    assert [each.number for each in transcript.rounds] == list(range(1, len(transcript.rounds) + 1))
    steps = [step.id for each in transcript.rounds for step in each.steps]
    assert len(set(steps)) == len(steps)


any_message = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "function", "system", "x"])},
    optional=dict.fromkeys(
        ("content", "tool_calls", "tool_call_id", "function_call", "name", "refusal", "more"), json_values
    ),
)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str) and len(value) > 2:
        yield json.dumps(value)[1:-1]


@settings(max_examples=examples(300))
@given(st.lists(any_message, max_size=8))
def test_messages_of_any_content_are_read_stored_and_none_of_their_texts_is_lost(sent: list[Message]) -> None:
    transcript = read_messages(sent)
    stored = json.loads(encode(transcript))
    assert decode(Transcript, stored) == transcript
    everything = json.dumps(stored)
    # Content that is no text is kept as JSON text, once more escaped.
    everything += json.dumps(stored).replace("\\\\", "\\").replace('\\"', '"')
    for text in _leaves([{key: value for key, value in message.items() if key != "role"} for message in sent]):
        assert text in everything


@settings(max_examples=examples(200))
@given(st.text(max_size=60) | json_values.map(json.dumps) | st.lists(json_values.map(json.dumps)).map("\n".join))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with contextlib.suppress(SetupError):
        for each in read_conversations(path):
            assert str(path) in each.place


def test_an_agent_that_acts_in_words_has_steps_where_its_words_were_observed() -> None:
    transcript = read_messages(
        [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": 'Thought: I look.\nAction: weather\nAction Input: {"city": "Rome"}'},
            {"role": "user", "content": "Observation: 25 degrees"},
            {"role": "assistant", "content": "Action: nothing\nAction Input: of that kind"},
            {"role": "user", "content": "What?"},
            {"role": "assistant", "content": "Thought: I know.\nAnswer: 25"},
        ]
    )
    first, second = transcript.rounds
    (step,) = first.steps
    assert (step.thought, step.tool, step.tool_input, step.result) == (
        "I look.",
        "weather",
        {"city": "Rome"},
        "25 degrees",
    )
    assert step.attributes["text"].startswith("Thought: I look.")
    assert (first.examiner, first.agent) == ("Weather?", "Action: nothing\nAction Input: of that kind")
    assert (second.examiner, second.agent, second.steps) == ("What?", "Thought: I know.\nAnswer: 25", ())
