"""What is written quickly reads as what the codec writes; whatever is odd is left to the codec."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.journal.writer import encode_data
from viva.records.codec import decode_json, encode
from viva.records.quick.lines import write_line
from viva.records.run_record import NO_SETTING, NO_TIMING, Outcome, RunRecord, Setting, Timing
from viva.records.transcript import (
    NO_USAGE,
    Metrics,
    Round,
    Step,
    StopReason,
    SubAgentShare,
    Transcript,
    Usage,
)
from viva.records.unfair_attempts import UnfairAttempt
from viva.records.verdict import Evidence, Insight, Label, Verdict, Vote

USED = Usage(10, 2, 1, 1, 3, 1, 0.00001, cache_write_tokens=4, reported=False)
TEXTS = st.text(max_size=9)
SOME = st.none() | TEXTS
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from((0.0, 1.0, 1e-9, 1e16, 1e22))
USAGES = st.sampled_from((NO_USAGE, Usage(cost=0.0), Usage(), USED))
METRICS = st.sampled_from(
    (
        None,
        Metrics(),
        Metrics(usage_by_model={"m": USED}, tool_calls={"t": 2}, subagents={"s": SubAgentShare(started=1, usage=USED)}),
    )
)
STOPS = st.sampled_from((None, StopReason.FINISHED, StopReason("of a newer version"), StopReason("<b>")))
TUPLES = st.lists(TEXTS, max_size=2).map(tuple)
SETTINGS = st.builds(
    Setting,
    case=TEXTS,
    app_dir=SOME,
    check_seconds=st.none() | NUMBERS,
    evaluators=TUPLES,
    prompts=st.dictionaries(TEXTS, TEXTS, max_size=2),
    trial=st.none() | st.integers(0, 9),
    in_process=st.booleans(),
)
VERDICTS = st.builds(
    Verdict,
    TEXTS,
    TEXTS,
    TEXTS | st.sampled_from(Label),
    st.none() | NUMBERS,
    evidence=st.sampled_from(((), (Evidence("r1", "quote"),))),
    weight=NUMBERS,
    votes=st.sampled_from(((), (Vote("code", "hit", "it is"),))),
    flags=TUPLES,
)
INSIGHTS = st.builds(
    Insight,
    TEXTS,
    TEXTS,
    TEXTS | st.sampled_from(Label),
    st.none() | NUMBERS,
    scores=st.dictionaries(TEXTS, NUMBERS, max_size=2),
    verdicts=st.lists(VERDICTS, max_size=2).map(tuple),
    usage=USAGES,
    isolation=st.sampled_from(((), ({"host": "docker"},))),
    details=st.sampled_from(({}, {"a": [1, 1e-5, {"x": None}], "big": 10**30})),
)
ROUNDS = st.builds(
    Round,
    st.integers(1, 9),
    SOME,
    SOME,
    st.sampled_from(((), (Step("s1", tool="t", tool_input={"a": 1}),))),
    images=TUPLES,
    error=SOME,
    usage=USAGES,
    examiner_usage=USAGES,
    started=st.none() | NUMBERS,
    examiner_seconds=NUMBERS,
    attributes=st.sampled_from(({}, {"odd": 1})),
)
TRANSCRIPTS = st.builds(
    Transcript,
    participants=st.dictionaries(TEXTS, TEXTS, max_size=2),
    stop=STOPS,
    usage=st.dictionaries(TEXTS, USAGES, max_size=2),
    tools=st.sampled_from(((), ({"name": "t"},))),
    printed=st.dictionaries(TEXTS, TEXTS, max_size=1),
    metrics=METRICS,
    success=st.none() | st.booleans(),
    round_count=st.none() | st.integers(0, 9),
)
RECORDS = st.builds(
    RunRecord,
    TEXTS,
    TEXTS,
    TEXTS,
    st.sampled_from(Outcome) | st.just(Outcome("of a newer version")),
    st.none() | NUMBERS,
    low=st.none() | NUMBERS,
    stop=STOPS,
    tags=TUPLES,
    insights=st.lists(INSIGHTS, max_size=2).map(tuple),
    usage=st.dictionaries(TEXTS, USAGES, max_size=2),
    timing=st.just(NO_TIMING) | st.builds(Timing, NUMBERS, NUMBERS),
    metrics=METRICS,
    setting=st.just(NO_SETTING) | SETTINGS,
)


@given(SETTINGS | VERDICTS | INSIGHTS | ROUNDS | TRANSCRIPTS | RECORDS)
def test_what_is_written_quickly_reads_as_what_the_codec_writes(record: Any) -> None:
    written, kind = encode_data(record, lambda *_: None), type(record)
    assert decode_json(kind, written) == decode_json(kind, encode(record))
    assert b"\n" not in written


PLAIN: list[Any] = [
    Setting(case="a case", versions={"python": "3.11"}, trial=3),
    Round(1, "é \u2028 \x7f", "here", started=1.7e9, examiner_seconds=1e-05),
    Round(1, "hello", "here", examiner_usage=USED),
    Round(1, "hello", "here", usage=USED, images=("images/a.png",)),
    Transcript(stop=StopReason.FINISHED, usage={"target": NO_USAGE}, metrics=Metrics(), round_count=1),
    Insight("polite", "a run", Label.HIT, 1.0, verdicts=(Verdict("a run", "p", "hit", 1.0),), usage=USED),
    RunRecord("a run", "a case", "an agent", Outcome.SCORED, 1.0, timing=Timing(1.7e9), setting=Setting(case="a case")),
    Setting(case="a case", unfair_attempts=(UnfairAttempt(1, ("role_flip",), 0.5),)),
]


@pytest.mark.parametrize("record", PLAIN, ids=lambda record: type(record).__name__)
def test_the_usual_records_are_written_quickly_and_to_the_byte_as_the_codec_does(record: object) -> None:
    assert write_line(record) == encode(record)


def test_the_settings_of_trials_are_written_as_each_alone_would_be() -> None:
    for trial, workspace in ((1, "workspaces/a"), (20, 'workspaces/"b" \u0000é'), (3, "workspaces/a")):
        for setting in (
            Setting(case="c", agent="a", workspace=workspace, trial=trial, versions={"python": "3.11"}),
            Setting(case="c", agent="a", workspace=workspace, trial=trial, suite="s", prompts={"workspace": "trial"}),
        ):
            assert write_line(setting) == encode(setting)
    assert write_line(Setting(case="c", agent="a", workspace="\ud800", trial=1)) is None


def test_a_record_is_written_around_the_lines_of_its_setting_and_its_insights() -> None:
    setting = Setting(case="c", agent="a", workspace="workspaces/r", trial=1)
    insights = (
        Insight("one", "r", Label.HIT, 1.0, verdicts=(Verdict("r", "p", Label.HIT, 1.0, reason=',"usage":{'),)),
        Insight("two", "r", "label", None, usage=USED),
    )
    usage = {"target": NO_USAGE, "judge": USED}
    record = RunRecord(
        "r", "c", "a", Outcome.SCORED, 1.0, insights=insights, usage=usage, timing=Timing(1.7e9), setting=setting
    )
    for part in (setting, *insights):
        write_line(part)
    for each in (record, dataclasses.replace(record, error=',"usage":{')):
        assert decode_json(RunRecord, write_line(each) or b"") == decode_json(RunRecord, encode(each))


def test_the_transcripts_and_records_of_trials_are_written_as_each_alone_would_be() -> None:
    setting = Setting(case="c", agent="a", workspace="workspaces/r", trial=1)
    for error in (None, ',"trial":9876543210987', ',"usage":{'):
        for trial in (1, 1, 1, 20, 20):
            insight = Insight("one", f"r-{trial}", Label.HIT, 1.0, usage=NO_USAGE)
            transcript = Transcript(stop=StopReason.FINISHED, usage={"target": NO_USAGE}, notes=(error or "",))
            record = RunRecord(
                f'r-{trial}"é',
                "c",
                "a",
                Outcome.SCORED,
                1.0,
                error=error,
                trial=trial,
                insights=(insight,),
                usage={"target": NO_USAGE, "judge": USED},
                timing=Timing(1.7e9 + trial, 1e-05),
                setting=setting,
            )
            assert write_line(transcript) == encode(transcript)
            assert decode_json(RunRecord, write_line(record) or b"") == record
    changed = dataclasses.replace(record, usage={"target": USED})
    assert decode_json(RunRecord, write_line(changed) or b"") == changed
    assert write_line(dataclasses.replace(record, id="\ud800")) is None


class Raises:
    """An object that cannot be written, read or shown."""

    def __getattr__(self, name: str) -> Any:
        raise OSError(name)


@pytest.mark.parametrize(
    ("record", "change"),
    [
        (PLAIN[1], {"steps": (Step("s1"),)}),
        (PLAIN[1], {"attributes": {"further": "data"}}),
        (PLAIN[1], {"agent": 7}),
        (PLAIN[1], {"number": "7"}),
        (PLAIN[1], {"number": True}),
        (PLAIN[1], {"agent": "\ud800"}),
        (PLAIN[1], {"agent": Raises()}),
        (PLAIN[1], {"usage": Raises()}),
        (PLAIN[1], {"examiner_usage": {}}),
        (PLAIN[1], {"images": iter(("a",))}),
        (PLAIN[4], {"stop": StopReason("<b>")}),
        (PLAIN[4], {"metrics": Metrics(tool_calls={"t": "many"})}),  # type: ignore[dict-item]
        (PLAIN[4], {"notes": "a text"}),
        (PLAIN[5], {"details": {"b": b"bytes"}}),
        (PLAIN[6], {"outcome": "an outcome"}),
        (PLAIN[6], {"insights": (Raises(),)}),
        (PLAIN[6], {"usage": {"judge": Raises()}}),
        (PLAIN[6], {"timing": Raises()}),
        (PLAIN[6], {"setting": Raises()}),
        (PLAIN[6], {"metrics": Raises()}),
        (PLAIN[5], {"usage": Raises()}),
        (PLAIN[5], {"usage": "much"}),
        (PLAIN[5], {"verdicts": ({"subject": "r", "criterion": "c", "label": "hit", "score": None},)}),
        (PLAIN[5], {"verdicts": iter(())}),
        (PLAIN[5], {"notes": (note for note in "ab")}),
    ],
)
def test_whatever_is_odd_is_left_to_the_codec(record: Any, change: dict[str, Any]) -> None:
    odd = dataclasses.replace(record, **change)
    if not any(isinstance(value, Iterator) for value in change.values()):  # which can be read only once
        assert encode_data(odd, lambda *_: None) == encode(odd)
    assert write_line(odd) is None


@pytest.mark.parametrize(
    "odd",
    [
        dataclasses.replace(PLAIN[1], number=10**30),
        dataclasses.replace(PLAIN[5], scores=MappingProxyType({"a": 1.0})),
    ],
    ids=["a huge number", "another mapping"],
)
def test_what_is_odd_and_yet_written_quickly_reads_as_what_the_codec_writes(odd: Any) -> None:
    written = write_line(odd)
    assert written is not None
    assert decode_json(type(odd), written) == decode_json(type(odd), encode(odd))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_becomes_null(number: float) -> None:
    assert b'"agent_seconds":null' in (write_line(Round(1, agent_seconds=number)) or b"")


def test_other_kinds_of_values_are_left_to_the_codec() -> None:
    assert write_line(USED) is write_line({"a": 1}) is write_line(None) is None
