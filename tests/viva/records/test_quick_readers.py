"""What is read quickly is what the codec reads; whatever is odd is left to the codec."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.records.codec import decode_json, encode
from viva.records.quick.readers import (
    read_ending,
    read_record_facts,
    read_round,
    read_round_lines,
    read_transcript,
    read_whole_setting,
)
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import (
    IN_PLACE_OF_A_REPLY,
    GivenTurn,
    Metrics,
    Round,
    Step,
    StepKind,
    StopReason,
    SubAgentShare,
    Transcript,
    Usage,
)

DEEP = b"[" * 150 + b"]" * 150
TEXTS = st.text(max_size=9)
SECONDS = st.floats(0, 1e9)
USED = st.builds(
    Usage,
    st.integers(0, 9),
    calls=st.integers(0, 9),
    cost=st.none() | SECONDS.map(lambda cost: cost / 1e9),
    reported=st.booleans(),
)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
FURTHER = st.dictionaries(TEXTS, DATA, max_size=2)
STEPS = st.builds(
    Step,
    TEXTS,
    st.sampled_from(list(StepKind)),
    st.none() | TEXTS,
    thought=st.none() | TEXTS,
    tool=st.none() | TEXTS,
    tool_input=DATA,
    result=st.none() | TEXTS,
    images=st.lists(TEXTS, max_size=2).map(tuple),
    usage=USED,
    seconds=st.none() | SECONDS,
    attributes=FURTHER,
    recorded_by=st.sampled_from(("agent", "environment")),
)
ROUNDS = st.builds(
    Round,
    st.integers(-1, 10**12),
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.lists(STEPS, max_size=2).map(tuple),
    usage=USED,
    examiner_usage=USED,
    attributes=FURTHER,
    images=st.lists(TEXTS, max_size=2).map(tuple),
    error=st.none() | TEXTS,
    started=st.none() | SECONDS,
    examiner_seconds=SECONDS,
    agent_seconds=SECONDS,
    state=st.none() | TEXTS,
)
SETTINGS = st.builds(
    Setting,
    case=TEXTS,
    workspace=st.none() | TEXTS,
    trial=st.none() | st.integers(0, 9),
    evaluators=st.just(("a", "b")),
)


COUNTS = st.dictionaries(TEXTS, st.integers(0, 9), max_size=2)
USAGES = st.dictionaries(TEXTS, USED, max_size=2)
TRANSCRIPTS = st.builds(
    Transcript,
    source=TEXTS,
    system=st.none() | TEXTS,
    images=st.lists(TEXTS, max_size=2).map(tuple),
    participants=st.dictionaries(TEXTS, TEXTS, max_size=2),
    stop=st.none() | st.sampled_from(list(StopReason)),
    notes=st.lists(TEXTS, max_size=2).map(tuple),
    usage=USAGES,
    metrics=st.none() | st.builds(Metrics, usage_by_model=USAGES, tool_calls=COUNTS, never_completed=st.integers(0, 9)),
    success=st.none() | st.booleans(),
    round_count=st.none() | st.integers(0, 10**12),
)


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    read_whole_setting.cache_clear()


@given(ROUNDS)
def test_a_round_is_what_the_codec_reads(round_: Round) -> None:
    line = encode(round_)
    found = read_round(line)
    assert found == read_round(line.decode()) == decode_json(Round, line) == round_
    assert read_round_lines([_line(line), _line(line)]) == [found, found]
    assert type(found) is Round
    assert {type(step) for step in found.steps} <= {Step}
    assert {type(step.kind) for step in found.steps} <= {StepKind}
    assert {type(used) for used in (found.usage, found.examiner_usage, *(step.usage for step in found.steps))} == {
        Usage
    }


def test_a_step_of_an_unknown_kind_is_what_the_codec_reads() -> None:
    line = b'{"number":1,"steps":[{"id":"s","kind":"of a newer version","tool_input":"{torn"}]}'
    found, read = read_round(line), decode_json(Round, line)
    assert found == read
    assert found is not None
    assert (found.steps[0].kind, found.steps[0].kind.value) == (read.steps[0].kind, read.steps[0].kind.value)


@given(SETTINGS)
def test_a_setting_is_what_the_codec_reads(setting: Setting) -> None:
    line = encode(setting)
    assert read_whole_setting(line) == decode_json(Setting, line) == setting
    assert type(read_whole_setting(line)) is Setting


@pytest.mark.parametrize(
    "odd",
    [
        b'{"number":1,"attributes":{"deep":%s}}' % DEEP,
        b'{"number":1,"steps":[{"id":"s","attributes":{"deep":%s}}]}' % DEEP,
        b'{"number":1,"steps":[{"id":"s","tool_input":%s}]}' % DEEP,
        b'{"number":1,"steps":[{"id":"s","tool_input":1e999}]}',
        b'{"number":1,"steps":[{"id":"s","usage":{"calls":-1}}]}',
        b'{"number":1,"steps":[{"id":7}]}',
        b'{"number":1,"steps":[{}]}',
        b'{"number":1,"steps":null}',
        b'{"number":1,"usage":{"cost":1e300}}',
        f'{{"number":1,"agent":"{IN_PLACE_OF_A_REPLY}x","error":"x"}}'.encode(),
        b'{"number":"1"}',
        b'{"number":1,"agent":7}',
        b'{"number":1,"agent":null,"images":null}',
        b'{"number":1,"of a newer version":1}',
        rb'{"number":1,"agent":"\ud800"}',
        b'{"number":1,"agent":"\xff"}',
        b'{"number":1',
        b"[]",
    ],
)
def test_an_odd_round_is_left_to_the_codec(odd: bytes) -> None:
    assert read_round(odd) is None
    assert read_round_lines([_line(b'{"number":1}'), _line(odd)]) is None


def _line(data: bytes, kind: str = "round") -> str:
    """Return a line of a journal as its readers have it."""
    line = b'{"v":1,"event":"%b","run":"r","attempt":1,"data":%b,"crc":"01234567"}' % (kind.encode(), data)
    return line.decode(errors="surrogateescape")


def test_only_rounds_are_read_together() -> None:
    sound = _line(b'{"number":1}')
    assert read_round_lines([sound]) == [Round(1)]
    for odd in (
        _line(b'{"number":1}', "setting"),
        sound.replace('"v":1', '"v":2'),
        sound.replace('"crc"', '"more"'),
        sound + sound,
        "",
        " " + sound[1:],
    ):
        assert read_round_lines([sound, odd]) is None


@pytest.mark.parametrize("stop", ["finished", "cancelled", "of a newer version", None])
def test_the_end_of_a_conversation_is_what_its_transcript_says(stop: str | None) -> None:
    line = encode(Transcript(source="chat", stop=None if stop is None else StopReason(stop), round_count=3))
    assert read_ending(line) == {"source": "chat", "stop": stop, "round_count": 3}
    assert read_ending(b"{}") == {"source": None, "stop": None, "round_count": None}
    for odd in (b'{"stop":1}', b'{"round_count":"3"}', b'{"round_count":3.5}', b"[]", b'{"stop"'):
        assert read_ending(odd) is None


@given(TRANSCRIPTS)
def test_a_transcript_is_what_the_codec_reads(transcript: Transcript) -> None:
    line = encode(transcript)
    found = read_transcript(line)
    assert found == read_transcript(line.decode()) == decode_json(Transcript, line) == transcript
    assert type(found) is Transcript
    assert found.metrics is None or type(found.metrics) is Metrics
    assert {type(used) for used in found.usage.values()} <= {Usage}


@pytest.mark.parametrize(
    "odd",
    [
        encode(Transcript((Round(1, "?", "a"),))),
        encode(Transcript(tools=({"name": "search"},))),
        encode(Transcript(given=(GivenTurn("user", "Hi"),))),
        encode(Transcript(attributes={"further": 1})),
        encode(Transcript(metrics=Metrics(subagents={"one": SubAgentShare(started=1)}))),
        b'{"usage":{"target":{"input_tokens":-1}}}',
        b'{"usage":{"target":{"cost":1e300}}}',
        b'{"usage":{"target":{"calls":1e300}}}',
        b'{"round_count":"1"}',
        b'{"notes":null}',
        b'{"of a newer version":1}',
        b"[]",
    ],
)
def test_an_odd_transcript_is_left_to_the_codec(odd: bytes) -> None:
    assert read_transcript(odd) is None


def test_a_transcript_has_the_stop_reason_that_the_codec_reads() -> None:
    for stop in ("finished", "cancelled", "of a newer version"):
        line = f'{{"stop":"{stop}"}}'
        quick = read_transcript(line)
        assert quick is None or quick == decode_json(Transcript, line)


@pytest.mark.parametrize(
    "odd",
    [
        b'{"case":1}',
        b'{"trial":"1"}',
        b'{"newer":1}',
        b'{"unfair_attempts":[{"attempt":1,"kinds":[]}]}',
        b"null",
        b'{"case":"\xff"}',
    ],
)
def test_an_odd_setting_is_left_to_the_codec(odd: bytes) -> None:
    assert read_whole_setting(odd) is None


def test_the_facts_of_a_record_are_read_without_the_rest() -> None:
    record = RunRecord(
        "r", "s", "a", Outcome.SCORED, 1.0, tags=("t",), trial=3, agent_version="2", timing=Timing(1.0, 2.0, 0.5)
    )
    facts: Any = read_record_facts(encode(record))
    assert (facts.subject, facts.outcome, facts.trial, facts.agent_version, facts.tags) == (
        "s",
        "scored",
        3,
        "2",
        ("t",),
    )
    assert facts.outcome is Outcome.SCORED
    assert (facts.timing.started, facts.timing.seconds, facts.timing.examiner_seconds) == (1.0, 2.0, 0.5)
    assert read_record_facts(b'{"subject":1}') is None
    assert read_record_facts(b'{"trial":1}') is None
