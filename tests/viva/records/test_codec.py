"""Records as JSON: every type comes back as it was, and whatever an adapter puts into one can be written and read."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import datetime
import decimal
import functools
import json
import math
import pickle
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.records import (
    Evidence,
    Insight,
    Label,
    Metrics,
    Outcome,
    Reply,
    Round,
    RunRecord,
    Setting,
    Step,
    StepKind,
    StopReason,
    Timing,
    Transcript,
    Usage,
    Verdict,
    Vote,
)
from viva.records.codec import checked, decode, encode, loads, to_plain
from viva.records.open_enum import OpenEnum
from viva.records.transcript import LEFT_OUT, MOST_TOKENS, NO_USAGE

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
number = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | number | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field with this type."""
    plain = {str: text, int: st.integers(), float: number, bool: st.booleans(), type(None): st.none(), Any: json_values}
    if hint in plain:
        return plain[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return st.one_of([values(each) for each in arguments])
    if origin is tuple:
        return st.lists(st.deferred(lambda: values(arguments[0])), max_size=2).map(tuple)
    if origin is Mapping:
        return st.dictionaries(text, st.deferred(lambda: values(arguments[1])), max_size=2)
    if issubclass(hint, OpenEnum):
        return st.sampled_from(hint) | text.map(hint)
    return st.sampled_from(hint) if issubclass(hint, Enum) else records(hint)


@functools.cache
def records(kind: type) -> st.SearchStrategy[Any]:
    """Any record of a kind, with each field drawn by its own type."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: values(hints[field.name]) for field in dataclasses.fields(kind)})


KINDS = [Evidence, Insight, Metrics, Reply, Round, RunRecord, Setting, Step, Timing, Transcript, Usage, Verdict, Vote]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_every_record_comes_back_as_it_was(kind: type, data: st.DataObject) -> None:
    record = data.draw(records(kind))
    line = encode(record)
    assert b"\n" not in line
    assert decode(kind, json.loads(line)) == record


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_fields_of_a_later_version_are_ignored_and_missing_ones_defaulted(kind: type, data: st.DataObject) -> None:
    record = data.draw(records(kind))
    plain = to_plain(record)
    optional = [
        field
        for field in dataclasses.fields(kind)
        if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    ]
    dropped = data.draw(st.sets(st.sampled_from([field.name for field in optional]))) if optional else set()
    for name in dropped:
        plain.pop(name, None)
    again = decode(kind, {**plain, "added_in_version_9": {"x": [1]}})
    for field in dataclasses.fields(kind):
        if field.name in dropped:
            default = field.metadata.get(LEFT_OUT, field.default)
            assert getattr(again, field.name) == (
                default if default is not dataclasses.MISSING else field.default_factory()
            )
        else:
            assert getattr(again, field.name) == getattr(record, field.name)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(60))
@given(data=json_values)
def test_json_of_another_shape_is_a_value_error_and_nothing_else(kind: type, data: Any) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(decode(kind, data), kind)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_unknown_values_of_enums_are_written_again_as_they_were_read(word: str) -> None:
    round_ = {"number": 1, "agent": "tell", "steps": [{"id": "s", "kind": word}]}
    assert json.loads(encode(decode(Round, round_)))["steps"] == [
        {"id": "s"} if word == "tool" else {"id": "s", "kind": word}
    ]
    assert json.loads(encode(decode(Transcript, {"stop": word, "fault": word}))) == {"stop": word, "fault": word}
    record = {"id": "r", "subject": "s", "agent": "a", "outcome": word, "score": None, "stop": word}
    assert json.loads(encode(decode(RunRecord, record))) == record
    assert to_plain(decode(RunRecord, record), full=True)["outcome"] == word
    verdict = {"subject": "s", "criterion": "c", "label": word, "score": None, "fault": word}
    assert json.loads(encode(decode(Verdict, verdict))) == verdict


def test_an_unknown_outcome_counts_against_nobody() -> None:
    assert [Outcome(word).counts for word in ("scored", "target_error", "infra_error", "made_up")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("kind", [Outcome, StepKind, StopReason])
@given(word=st.text())
def test_an_unknown_value_is_its_own_text_and_harmless_where_it_is_shown(kind: type[OpenEnum], word: str) -> None:
    value = kind(word)
    assert value == word
    assert hash(value) == hash(word)
    assert value.known == (word in [each.value for each in kind])
    assert 0 < len(value.value) <= 60
    assert not set(value.value) & set("<>|\"'`=&[]()\\\n\r\x1b\u202e")
    assert not value.value.startswith(("+", "-", "@", "="))
    again = pickle.loads(pickle.dumps(value))
    assert (again, again.value, copy.deepcopy(value)) == (value, value.value, value)


def test_an_unknown_value_of_plain_words_is_shown_as_it_is() -> None:
    assert [StepKind(word).value for word in ("retriever", "tool_use", "guard-rail", "a.b")] == [
        "retriever",
        "tool_use",
        "guard-rail",
        "a.b",
    ]


def test_labels_are_what_files_say() -> None:
    verdict = Verdict("run", "p", Label.HIT, 1.0)
    assert json.loads(encode(verdict))["label"] == "hit"
    assert decode(Verdict, json.loads(encode(verdict))).label == Label.HIT


def test_votes_of_older_files_are_read_and_of_newer_ones_keep_their_order_and_reasons() -> None:
    plain = {"subject": "run", "criterion": "p", "label": "hit", "score": 1.0}
    old = decode(Verdict, {**plain, "votes": {"code": "hit", "gpt": "miss"}})
    assert old.votes == (Vote("code", "hit"), Vote("gpt", "miss"))
    thrice = (Vote("gpt", "hit", "said so"), Vote("gpt", "miss", "did not"), Vote("gpt", "hit"))
    assert decode(Verdict, json.loads(encode(Verdict("run", "p", "hit", 1.0, votes=thrice)))).votes == thrice
    assert decode(Insight, {"evaluator": "e", "subject": "s", "label": "l", "score": None, "verdicts": [plain]})
    with pytest.raises(ValueError, match="votes"):
        decode(Verdict, {**plain, "votes": {"code": 5}})


def test_defaults_are_left_out_of_the_line() -> None:
    assert json.loads(encode(Round(3, "ask", "tell"))) == {"number": 3, "examiner": "ask", "agent": "tell"}


class _Refuses:
    """Raises whatever is asked of it, as half-closed handles and lazy objects of agent libraries do."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not now")

    def __repr__(self) -> str:
        raise RuntimeError("not now")


def _cycle() -> Any:
    knot: dict[str, Any] = {"name": "knot"}
    knot["self"] = knot
    return knot


def _nest(levels: int) -> Any:
    value: Any = "core"
    for _ in range(levels):
        value = [value]
    return value


ODD: dict[str, Callable[[], Any]] = {
    "a lone surrogate": lambda: "\ud800 and \udfff",
    "a surrogate as key": lambda: {"\ud800": {"\udfff": 1}},
    "bytes": lambda: b"\xff\x00\xfe",
    "bytes as key": lambda: {b"\xff": 1},
    "NaN": lambda: [math.nan, math.inf, -math.inf],
    "a number longer than Python reads": lambda: 10**5000,
    "the same beside a surrogate": lambda: [-(10**5000), "\ud800"],
    "a set of bytes": lambda: {b"\xff"},
    "a date and money": lambda: [datetime.date(2024, 2, 29), decimal.Decimal("0.1")],
    "a path": lambda: Path("/a/\udcff"),
    "tuples as keys": lambda: {(1, 2): 3, None: 4, True: 5},
    "a complex number": lambda: 3 + 4j,
    "a class": lambda: _Refuses,
    "a function": lambda: len,
    "an exception": lambda: ValueError("\ud800"),
    "an object that raises": _Refuses,
    "objects that raise in a list": lambda: [_Refuses(), {"x": _Refuses()}],
    "a cycle": _cycle,
    "500 levels": lambda: _nest(500),
    "100,000 levels": lambda: _nest(100_000),
    "a read-only mapping": lambda: MappingProxyType({"a": 1}),
    "a record within": lambda: [Step("inner", result="\ud800")],
    "a generator": lambda: (each for each in "abc"),
}


@pytest.mark.parametrize("name", ODD)
def test_objects_that_json_does_not_know_are_kept_in_words_and_lose_nothing_around_them(name: str) -> None:
    step = Step("s1", tool="search", tool_input=ODD[name](), result="fine", attributes={"odd": ODD[name](), "even": 2})
    line = encode(Round(4, "ask", "tell", (step,)))
    again = decode(Round, loads(line))
    assert (again.number, again.examiner, again.agent) == (4, "ask", "tell")
    kept = again.steps[0]
    assert (kept.id, kept.tool, kept.result, kept.attributes["even"]) == ("s1", "search", "fine", 2)
    assert set(kept.attributes) == {"odd", "even"}
    line.decode("ascii" if b"\\ud8" in line else "utf-8")


@pytest.mark.parametrize("name", ODD)
def test_an_odd_object_where_text_belongs_becomes_text(name: str) -> None:
    """An adapter may hand out steps whose fields have the wrong type; the round must be readable all the same."""
    again = decode(Round, loads(encode(Round(4, "ask", "tell", (Step("s1", result=ODD[name]()),)))))
    assert again.agent == "tell"
    assert again.steps[0].result is None or isinstance(again.steps[0].result, str)


@pytest.mark.parametrize(
    ("step", "field", "value"),
    [
        (Step("s", result={"a": 1}), "result", '{"a": 1}'),  # type: ignore[arg-type]
        (Step(5), "id", "5"),  # type: ignore[arg-type]
        (Step("s", seconds="soon"), "seconds", None),  # type: ignore[arg-type]
        (Step("s", kind=["dance"]), "kind", "tool"),  # type: ignore[arg-type]
        (Step("s", images=["a.png"]), "images", ("a.png",)),  # type: ignore[arg-type]
        (Step("s", usage=None), "usage", NO_USAGE),  # type: ignore[arg-type]
        (Step("s", attributes=None), "attributes", {}),  # type: ignore[arg-type]
        (Step("s", attributes=[1]), "attributes", {}),  # type: ignore[arg-type]
    ],
)
def test_a_field_of_the_wrong_type_costs_that_field_at_most(step: Step, field: str, value: object) -> None:
    again = decode(Round, loads(encode(Round(1, "ask", "tell", (step, Step("t", result="second"))))))
    assert getattr(again.steps[0], field) == value
    assert again.steps[1].result == "second"


# --- a cost that nobody told is unknown, and not 0 ---

TOLD = [Usage(5), Usage(5, cost=None), Usage(5, cost=0.0), Usage(5, cost=0.25), Usage(), NO_USAGE]


@pytest.mark.parametrize("usage", TOLD, ids=repr)
@pytest.mark.parametrize("result", ["plain", object()], ids=["sound", "odd"])
def test_a_cost_is_the_same_after_a_file_known_or_not(usage: Usage, result: Any) -> None:
    round_ = Round(1, "ask", "tell", (Step("s", result=result, usage=usage),), usage=usage)
    again = decode(Round, loads(encode(round_)))
    assert (again.usage, again.steps[0].usage) == (usage, usage)


def test_a_sum_with_an_unknown_cost_is_unknown_and_with_no_usage_is_not() -> None:
    assert Usage(5).cost is None
    assert (Usage(5) + Usage(1, cost=0.5)).cost is None
    assert (NO_USAGE + Usage(1, cost=0.5)).cost == 0.5
    assert NO_USAGE.cost == 0


def test_a_cost_left_out_of_an_older_file_is_the_0_that_it_was() -> None:
    assert decode(Usage, {"input_tokens": 5}) == Usage(5, cost=0.0)
    assert decode(Round, {"number": 1, "usage": {"calls": 1}, "steps": [{"id": "s"}]}).usage.cost == 0
    assert decode(Usage, {"input_tokens": 5, "cost": None}).cost is None


@pytest.mark.parametrize("cost", ["free", math.inf, math.nan, [1]])
def test_a_cost_that_is_no_number_is_unknown(cost: Any) -> None:
    assert decode(Usage, loads(encode(Usage(5, cost=cost)))) == Usage(5, cost=None)


def test_a_score_that_is_no_number_does_not_cost_the_insight() -> None:
    insight = Insight("mine", "run", "odd", math.nan, scores={"a": math.inf, "b": 0.5}, summary="kept")
    again = decode(Insight, json.loads(encode(insight)))
    assert (again.score, again.scores, again.summary) == (None, {"b": 0.5}, "kept")
    record = RunRecord("r", "case", "agent", "scored", 1.0, insights=(insight,))  # type: ignore[arg-type]
    assert decode(RunRecord, json.loads(encode(record))).insights == (again,)


def test_a_missing_field_without_default_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="number"):
        decode(Round, {"examiner": "ask"})
    with pytest.raises(ValueError, match="outcome"):
        decode(RunRecord, {"id": "r", "subject": "s", "agent": "a", "outcome": None, "score": None})


@given(st.lists(records(Usage), min_size=3, max_size=3))
def test_usage_adds_up_and_an_unknown_price_stays_unknown(parts: list[Usage]) -> None:
    first, second, third = (dataclasses.replace(each, cost=1.5) for each in parts)
    total = first + second + third
    for name in ("input_tokens", "cache_write_tokens", "calls"):
        counts = [getattr(each, name) for each in (first, second, third)]
        assert getattr(total, name) == min(sum(counts), MOST_TOKENS)
    assert total.reported == all(each.reported for each in (first, second, third))
    assert total.cost == 4.5
    assert (first + dataclasses.replace(second, cost=None) + third).cost is None


VERDICT = Verdict("r", "c", "hit", 1.0, evidence=(Evidence("r1", "quote"),))


@pytest.mark.parametrize(
    ("field", "make", "kept"),
    [
        ("verdicts", lambda: (VERDICT for _ in range(2)), (VERDICT, VERDICT)),
        ("verdicts", lambda: iter([VERDICT]), (VERDICT,)),
        ("verdicts", lambda: [dataclasses.replace(VERDICT, evidence=iter(VERDICT.evidence))], (VERDICT,)),  # type: ignore[arg-type]
        ("notes", lambda: map(str, (1, 2)), ("1", "2")),
        ("details", lambda: {"words": (word for word in "ab"), "odd": b"c"}, {"words": ["a", "b"], "odd": "c"}),
        ("details", lambda: dict.fromkeys(("\ud800", "\ud801"), 1), {"\\ud800": 1, "\\ud801": 1}),
    ],
)
def test_what_can_be_read_only_once_is_not_lost(field: str, make: Callable[[], Any], kept: Any) -> None:
    insight = dataclasses.replace(Insight("e", "r", "hit", 1.0), **{field: make()})
    assert getattr(checked(Insight, insight), field) == kept


@pytest.mark.parametrize("items", [lambda: iter([1]), lambda: (each for each in ("good", 2))])
def test_items_of_the_wrong_type_are_told_also_if_they_are_read_once(items: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"^notes\.\d: "):
        checked(Insight, dataclasses.replace(Insight("e", "r", "hit", 1.0), notes=items()))
