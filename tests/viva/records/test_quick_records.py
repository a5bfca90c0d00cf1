"""What is read quickly is what is read at leisure, to the type of each number; whatever is odd is left to the codec."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from collections.abc import Mapping
from enum import Enum
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.records.codec import decode_json, encode, to_plain, to_plain_decoded
from viva.records.quick.records import _BOUNDED as BOUNDED
from viva.records.quick.records import is_struct, read_record, write_record
from viva.records.run_record import Outcome, RunRecord, Setting, Timing, as_earned
from viva.records.transcript import NO_USAGE, Metrics, StopReason, SubAgentShare, Usage
from viva.records.unfair_attempts import UnfairAttempt
from viva.records.verdict import Evidence, Insight, Verdict, Vote
from viva.reports.json_document import _record as as_document

USED = Usage(10, 2, 1, 1, 3, 1, 0.00001, cache_write_tokens=4, reported=False)
WHOLE = RunRecord(
    "a run",
    "a case",
    "agents.py:One",
    Outcome.TARGET_ERROR,
    1 / 3,
    low=0.0,
    high=1e15,
    points=1.0,
    max_points=3.0,
    error='broke off \x7f é 😀 \u2028 "quoted" \\ {\'a\': 1, "b": 2}',
    agent_version="2",
    trial=3,
    attempt=2,
    rounds=4,
    stop=StopReason.TARGET_ERROR,
    tags=("one", "two"),
    insights=(
        Insight(
            "scoring_points",
            "a run",
            "miss",
            0.5,
            low=0.25,
            high=0.75,
            scores={"tone": 1.0, "e-5": 2e-7},
            summary="1 of 3",
            notes=("a note",),
            verdicts=(
                Verdict(
                    "a run",
                    "p1",
                    "miss",
                    None,
                    reason="why\n  not",
                    evidence=(Evidence("r1", "quote"),),
                    votes=(Vote("code", "hit", "it is"),),
                    flags=("judges-disagree",),
                    fault="judge",
                    seconds=1e-9,
                ),
            ),
            usage=USED,
            isolation=({"host": "docker"},),
            details={"list": [1, 1e-5, 1e22, {"x": None}], "big": 10**30},
        ),
        Insight("polite", "a run", "polite", None),
    ),
    usage={"target": USED, "judge": NO_USAGE},
    timing=Timing(1.7e9, 1.5, 0.1, 0.2, 0.3),
    trace_id="0" * 32,
    success=False,
    metrics=Metrics(
        usage_by_model={"m": USED}, tool_calls={"t": 2}, subagents={"s": SubAgentShare(started=1, usage=USED)}
    ),
    setting=Setting(
        case="a case",
        versions={"python": "3.11"},
        evaluators=("scoring_points", "polite"),
        trial=3,
        unfair_attempts=(UnfairAttempt(1, ("role_flip",), 1e-5), UnfairAttempt(2, ())),
    ),
)
ODD = (
    *(None, True, 0, -1, 2**63, 10**15 + 1, 10**40, 0.0, -0.0, 1e-5, 1e-400, 1e16, 1e300, -1e-7, 0.1 + 0.2),
    *(
        "",
        "1",
        "true",
        "scored",
        "Scored <b>",
        "SCORED",
        "\ud800",
        "\udc00x",
        "é",
        "😀",
        "\x00\x1f\x7f",
        'x":1e5',
        "x" * 300,
    ),
    *([], {}, [1.5], {"a": "b"}, {"code": "hit"}, [[[[]]]], {"id": 1, "cost": 2}),
)
LITERALS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-0",
    "1E5",
    "0.10",
    "1" * 30,
    "9" * 400,
    "9" * 5000,
    "01",
    "1.",
    '"\\x"',
)


def test_every_field_and_property_is_there_and_equal() -> None:
    quick, whole = read_record(encode(WHOLE)), decode_json(RunRecord, encode(WHOLE))
    assert quick is not None
    assert is_struct(quick)
    assert not is_struct(whole)
    assert _same(quick, whole)


@pytest.mark.parametrize(
    "change", [{}, {"error": None}, {"insights": ()}, {"high": 0.5}, {"outcome": Outcome("new <b>")}]
)
def test_a_struct_is_written_as_the_dataclass_is(change: dict[str, Any]) -> None:
    record = dataclasses.replace(WHOLE, **change)
    quick = read_record(encode(record))
    assert quick is not None
    assert write_record(quick) == json.dumps(to_plain(record, full=True))


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from((1e-4, 9.999e-5, 1e-5, 1.25e-7, 1e15, 9999999999999998.0, 5e-324)).flatmap(
        lambda number: st.sampled_from((number, -number))
    ),
)


@settings(max_examples=examples(400))
@given(NUMBERS, NUMBERS, NUMBERS, st.text(max_size=8))
def test_every_number_is_written_as_python_writes_it(one: float, two: float, three: float, text: str) -> None:
    """Numbers near 0 and large ones have several forms; texts that look like them, such as `e-1,`, change nothing."""
    verdict = dataclasses.replace(WHOLE.insights[0].verdicts[0], seconds=one, reason=f"case-1, e-1,{text}0.0000")
    insight = dataclasses.replace(WHOLE.insights[0], scores={"e-1": two}, verdicts=(verdict,), details={})
    setting = dataclasses.replace(WHOLE.setting, run_seconds=three, model_seconds={"judge": one})
    record = dataclasses.replace(WHOLE, score=three, insights=(insight,), setting=setting)
    whole = decode_json(RunRecord, encode(record))
    quick = read_record(encode(record))
    if quick is None:
        assert max(map(abs, (one, two, three))) >= 1e16
    else:
        assert write_record(quick) == json.dumps(to_plain_decoded(whole))


@pytest.mark.parametrize("number", [1e16, -1e16, 1e300])
def test_a_number_that_python_writes_with_an_exponent_is_left_to_the_codec(number: float) -> None:
    assert read_record(encode(dataclasses.replace(WHOLE, low=number))) is None
    metrics = dataclasses.replace(WHOLE.metrics or Metrics(), billing_by_model={"m": {"unit": number}})
    assert read_record(encode(dataclasses.replace(WHOLE, metrics=metrics))) is None


def test_every_number_of_a_record_is_bounded() -> None:
    kinds = (RunRecord, Setting, Timing, Insight, Verdict, Vote, Evidence, Metrics, SubAgentShare)
    hints = (hint for kind in kinds for hint in get_type_hints(kind).values() if "float" in str(hint))
    assert {hint for hint in hints if hint not in BOUNDED} == set()


def test_a_struct_is_replaced_as_the_dataclass_is() -> None:
    quick, whole = read_record(encode(WHOLE)), decode_json(RunRecord, encode(WHOLE))
    assert quick is not None
    assert _same(as_earned(quick, answered=False), as_earned(whole, answered=False))
    spent = quick.usage["target"] + quick.usage["judge"]
    assert spent == whole.usage["target"] + whole.usage["judge"]


@given(st.randoms(use_true_random=False))
def test_changed_values_are_read_alike_or_left_to_the_codec(chance: random.Random) -> None:
    plain = json.loads(encode(WHOLE))
    for _ in range(chance.choice((1, 1, 2, 5))):
        _change(plain, chance)
    text = json.dumps(plain, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    if chance.random() < 0.3:
        text = text.replace(b"0.5", chance.choice(LITERALS).encode())
    _check(text)


@given(st.randoms(use_true_random=False))
def test_changed_bytes_are_read_alike_or_left_to_the_codec(chance: random.Random) -> None:
    text = bytearray(encode(WHOLE))
    for _ in range(chance.choice((1, 1, 2, 4))):
        begin = chance.randrange(len(text))
        end = begin + chance.choice((0, 1, 1, 3, 40))
        text[begin:end] = chance.choice(
            (b"", b"\xff", b'"', b",", b"e", b"0", b"\\", b"{", b"]", b" ", b"\n", b"\x01", b"\xed\xa0\x80")
        )
    _check(bytes(text))


@pytest.mark.parametrize("part", ["", "insights", "usage", "timing", "setting"])
def test_unknown_fields_are_left_to_the_codec(part: str) -> None:
    plain = json.loads(encode(WHOLE))
    place = plain[part] if part else plain
    place = place[0] if isinstance(place, list) else place.get("target", place)
    place["of a newer version"] = 1
    text = json.dumps(plain).encode()
    assert read_record(text) is None
    assert decode_json(RunRecord, text).id == "a run"


@pytest.mark.parametrize("depth", [150, 300, 900, 50_000])
@pytest.mark.parametrize(("begin", "end"), [(b"[", b"]"), (b'{"x":[1,', b"]}")])
def test_deep_nesting_is_left_to_the_codec(depth: int, begin: bytes, end: bytes) -> None:
    text = encode(WHOLE).replace(b'"big":', b'"deep":' + begin * depth + b"2" + end * depth + b',"big":')
    assert b"deep" in text
    assert read_record(text) is None


def test_nesting_that_a_journal_may_hold_is_read_quickly() -> None:
    deep: Any = 1
    for _ in range(90):
        deep = [deep]
    record = dataclasses.replace(WHOLE, insights=(dataclasses.replace(WHOLE.insights[0], details={"deep": deep}),))
    quick = read_record(encode(record))
    assert quick is not None
    assert _same(quick, decode_json(RunRecord, encode(record)))


def _check(text: bytes) -> None:
    quick = read_record(text)
    if quick is None:
        return
    whole = decode_json(RunRecord, text)
    assert _same(quick, whole)
    # A dataclass with half of a sign is written without its defaults first, to which -0.0 is equal.
    assert as_document(quick).replace(": -0.0", ": 0.0") == as_document(whole).replace(": -0.0", ": 0.0")


def _change(plain: Any, chance: random.Random) -> None:
    """Change a value somewhere in some JSON, or give it or take away a key."""
    while True:
        key = chance.choice(list(plain)) if isinstance(plain, dict) else chance.randrange(len(plain))
        if not isinstance(plain[key], dict | list) or not plain[key] or chance.random() < 0.15:
            break
        plain = plain[key]
    if isinstance(plain, dict) and chance.random() < 0.1:
        del plain[key]
        return
    if isinstance(plain, dict) and chance.random() < 0.05:
        key = chance.choice(("_texts", "_steps", "new", "\ud800"))
    plain[key] = copy.deepcopy(chance.choice(ODD))


def _same(quick: Any, whole: Any) -> bool:
    """Return whether two values are equal in every field and property, and in the types of everything."""
    if dataclasses.is_dataclass(whole) and not isinstance(whole, type):
        public = [name for name, each in vars(type(whole)).items() if isinstance(each, property)]
        names = [field.name for field in dataclasses.fields(whole)]
        return all(_same(getattr(quick, name), getattr(whole, name)) for name in (*names, *public))
    if isinstance(whole, Mapping):
        return list(quick) == list(whole) and all(_same(quick[key], whole[key]) for key in whole)
    if isinstance(whole, tuple | list):
        return len(quick) == len(whole) and all(map(_same, quick, whole))
    if isinstance(whole, Enum):
        return type(quick) is type(whole) and str.__str__(quick) == str.__str__(whole)
    return type(quick) is type(whole) and repr(quick) == repr(whole)
