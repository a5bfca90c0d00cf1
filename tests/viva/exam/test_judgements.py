"""What an evaluator may return: each kind becomes a sound insight, and anything else is no judgement."""

from __future__ import annotations

import asyncio
import math
from collections import UserDict
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.exam.evaluation import evaluate_all
from viva.exam.judging.judgements import NoJudgement, insights_of
from viva.exam.record import make_record
from viva.judge.loaded_evaluator import load_evaluator
from viva.records.codec import decode, encode, loads
from viva.records.evaluator import Context
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Round, StopReason, Transcript, Usage
from viva.records.verdict import Evidence, Insight, Label, Verdict, Vote
from viva.statistics.scores import LAST_BIT

TALK = Transcript(rounds=(Round(number=1, examiner="Well?", agent="Well."),), stop=StopReason.FINISHED)


class Tone(Enum):
    WARM = "warm"


class Style(StrEnum):
    DRY = "dry"


class Scalar:
    """A number of another library: it has a shape, and an `item` of Python's own."""

    def __init__(self, value: object) -> None:
        self.shape, self._value = (), value

    def item(self) -> object:
        return self._value


def one(found: object) -> Insight:
    (insight,) = insights_of(found, "tone", "run")
    assert (insight.evaluator, insight.subject) == ("tone", "run")
    return insight


@pytest.mark.parametrize(
    ("found", "label", "score"),
    [
        (True, "yes", 1.0),
        (False, "no", 0.0),
        (Scalar(True), "yes", 1.0),
        (1, "judged", 1.0),
        (0.25, "judged", 0.25),
        (Fraction(1, 4), "judged", 0.25),
        (Scalar(0.5), "judged", 0.5),
        (1 + 1e-12, "judged", 1.0),
        ("warm", "warm", None),
        (Tone.WARM, "warm", None),
        (Style.DRY, "dry", None),
        ("skipped", "skipped", None),
    ],
)
def test_one_value_is_one_verdict_on_the_run(found: object, label: str, score: float | None) -> None:
    insight = one(found)
    assert (insight.label, insight.score, insight.low, insight.high) == (label, score, score, score)
    assert insight.verdicts == (Verdict("run", "tone", label, score),)
    assert type(insight.label) is str


@pytest.mark.parametrize("kind", [dict, UserDict])
def test_named_scores_have_their_mean(kind: Any) -> None:
    insight = one(kind({"warm": True, "clear": 0.5, "brief": Scalar(0.0)}))
    assert insight.scores == {"warm": 1.0, "clear": 0.5, "brief": 0.0}
    assert (insight.label, insight.score, insight.low, insight.high) == ("judged", 0.5, 0.5, 0.5)


def test_verdicts_have_their_weighted_mean_with_bounds_for_what_is_open() -> None:
    verdicts = [
        Verdict("r1", "tone", "warm", 1.0, weight=3.0),
        Verdict("r2", "tone", "cold", 0.0),
        Verdict("r3", "tone", "unsure", None, weight=4.0),
        Verdict("r4", "tone", "skipped", None),
    ]
    for found in (verdicts, tuple(verdicts), iter(verdicts), {v.subject: v for v in verdicts}.values()):
        insight = one(found)
        assert (insight.score, insight.low, insight.high) == (0.75, 0.375, 0.875)
        assert insight.verdicts == tuple(verdicts)
        assert insight.summary == "1 warm, 1 cold, 1 unsure, 1 skipped"
    assert one(verdicts[0]).label == "warm"
    assert one(verdicts[0]).score == 1.0
    assert one([verdicts[2]]).score is None


def test_an_insight_stays_as_it_is_and_may_have_the_evaluators_own_name() -> None:
    insight = Insight("tone", "run", "warm", 0.5, low=0.0, high=1.0, notes=("a",), usage=Usage(calls=1))
    assert insights_of(insight, "tone", "run") == (insight,)
    assert insights_of([insight, replace(insight, subject="r1")], "tone", "run")[1].subject == "r1"
    (renamed,) = insights_of(insight, "short", "run", "tone")
    assert renamed == replace(insight, evaluator="short")


VERDICT = Verdict("r1", "tone", "warm", 1.0)
INSIGHT = Insight("tone", "run", "warm", 1.0)
NO_JUDGEMENTS: list[tuple[Any, str]] = [
    (None, "None, which is not a judgement"),
    ({0.5}, "set ({0.5}), which is not a judgement"),
    (b"warm", "bytes"),
    (Decimal("0.5"), "Decimal"),
    (object(), "object"),
    (1.7, "a score of 1.7, and a score must be between 0 and 1"),
    (-0.1, "a score of -0.1"),
    (math.nan, "a score of nan"),
    (math.inf, "a score of inf"),
    (10**400, "a score of 1000"),
    ("", "a text of 0 characters"),
    ("It was warm.\nVery.", "on one line"),
    ("a" * 101, "a text of 101 characters"),
    ({}, "a mapping without scores"),
    ({"warm": 1.7}, "a score of 1.7"),
    ({"warm": "very"}, "str ('very') for 'warm'"),
    ({"warm": None}, "None for 'warm'"),
    ({1: 0.5}, "a score named 1"),
    ([], "no insight or verdict"),
    ([True, False], "of which one is bool (True)"),
    ([VERDICT, INSIGHT], "of which one is Verdict"),
    ([INSIGHT, INSIGHT], "two insights about 'run'"),
    (replace(INSIGHT, evaluator="other"), "an insight with the name of the evaluator 'other'"),
    (replace(VERDICT, score=8.0), "a score of 8.0"),
    (replace(VERDICT, weight=0.0), "a weight of 0.0"),
    (replace(VERDICT, weight=math.nan), "a weight of nan"),
    (replace(VERDICT, label=None), "a wrong Verdict: label"),  # type: ignore[arg-type]
    (replace(INSIGHT, notes=3), "a wrong Insight: notes"),  # type: ignore[arg-type]
    (replace(INSIGHT, verdicts=(replace(VERDICT, evidence=("r1",)),)), "a wrong Insight: verdicts.0.evidence.0"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("found", "words"), NO_JUDGEMENTS, ids=[words for _, words in NO_JUDGEMENTS])
def test_what_is_no_judgement_is_refused_in_words(found: Any, words: str) -> None:
    with pytest.raises(NoJudgement) as refused:
        insights_of(found, "tone", "run")
    assert words in str(refused.value)


def test_a_generator_without_an_end_is_refused() -> None:
    def verdicts() -> Iterator[Verdict]:
        while True:
            yield VERDICT

    with pytest.raises(NoJudgement, match="more than 100,000 verdicts"):
        insights_of(verdicts(), "tone", "run")


# Any value in any field, so that each may be of the wrong type.
KNOWN = ("tone", "run", "r1", "error", "unsure", "hit", "x" * 200)
TEXTS = st.text(st.characters(), max_size=20) | st.sampled_from(KNOWN)
SCORES = st.floats(0, 1) | st.none() | st.booleans() | st.floats()
ODD_VALUES = (SimpleNamespace(shape=()), Tone.WARM, Style.DRY, int, print, NotImplemented, ...)
NUMBERS = st.integers() | st.floats() | st.decimals() | st.fractions() | st.complex_numbers()


@st.composite
def odd(draw: st.DrawFn) -> Any:
    """A value of any type, or a list or mapping of such values."""
    plain = NUMBERS | TEXTS | st.none() | st.booleans() | st.binary(max_size=5) | st.sampled_from(ODD_VALUES)
    return draw(plain | st.lists(plain, max_size=3) | st.dictionaries(TEXTS, plain, max_size=3))


@st.composite
def verdicts(draw: st.DrawFn) -> Any:
    """A verdict, in which up to two fields have a value of any type."""
    fields: dict[str, Any] = {
        "subject": draw(TEXTS), "criterion": draw(TEXTS), "label": draw(TEXTS), "score": draw(SCORES),
        "reason": draw(TEXTS), "evidence": (Evidence(draw(TEXTS), draw(TEXTS)),), "weight": draw(st.floats(0.1, 10)),
        "votes": (Vote(draw(TEXTS), draw(TEXTS)),), "flags": (draw(TEXTS),), "fault": draw(st.none() | TEXTS),
    }  # fmt: skip
    return Verdict(**fields | draw(st.dictionaries(st.sampled_from(list(fields)), odd(), max_size=2)))


@st.composite
def insights(draw: st.DrawFn) -> Any:
    """An insight, in which up to two fields have a value of any type."""
    fields: dict[str, Any] = {
        "evaluator": "tone", "subject": draw(TEXTS), "label": draw(TEXTS), "score": draw(SCORES), "low": draw(SCORES),
        "high": draw(SCORES), "scores": {draw(TEXTS): draw(st.floats(0, 1))}, "summary": draw(TEXTS),
        "notes": (draw(TEXTS),), "verdicts": tuple(draw(st.lists(verdicts(), max_size=2))), "usage": Usage(calls=1),
        "isolation": (), "details": {draw(TEXTS): draw(odd())},
    }  # fmt: skip
    return Insight(**fields | draw(st.dictionaries(st.sampled_from(list(fields)), odd(), max_size=2)))


@st.composite
def returned(draw: st.DrawFn) -> Any:
    """What an evaluator may return, and what it must not."""
    single = draw(st.sampled_from((odd, verdicts, insights)))()
    several = st.lists(single, max_size=3)
    kinds = (
        single, SCORES, NUMBERS, several, several.map(iter), several.map(tuple), st.sets(st.integers()),
        st.dictionaries(TEXTS | st.integers(), SCORES | odd(), max_size=3), st.lists(odd() | verdicts() | insights()),
    )  # fmt: skip
    return draw(draw(st.sampled_from(kinds)))


@given(returned(), st.booleans())
@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_returned_becomes_a_sound_insight_or_an_error(found: Any, plain: bool) -> None:
    def tone(transcript: Transcript, context: Context) -> Any:
        return found

    async def later(transcript: Transcript, context: Context) -> Any:
        return found

    evaluator = load_evaluator("tone", tone if plain else later, {"name": "tone"}, {})
    found_insights = asyncio.run(evaluate_all([evaluator], TALK, Context("run"), 1))
    assert found_insights
    record = make_record("run", Setting(evaluators=("tone",)), TALK, found_insights, Timing())
    # The journal holds what the reports of this process show.
    assert decode(RunRecord, loads(encode(record))) == record
    for insight in found_insights:
        assert insight.evaluator == "tone"
        scores = [insight.score, insight.low, insight.high, *insight.scores.values()]
        for score in (*scores, *(verdict.score for verdict in insight.verdicts)):
            assert score is None or -LAST_BIT <= score <= 1 + LAST_BIT
        if any(verdict.label == Label.ERROR and verdict.fault == "judge" for verdict in insight.verdicts):
            assert record.outcome is not Outcome.SCORED or insight.subject != "run"


def test_verdicts_and_evidence_that_can_be_read_only_once_are_kept() -> None:
    quote = Evidence("r1", "Well.")
    verdicts = (Verdict("run", name, "hit", 1.0, evidence=iter([quote])) for name in "ab")  # type: ignore[arg-type]
    insight = one(Insight("tone", "run", "hit", 1.0, verdicts=verdicts))  # type: ignore[arg-type]
    assert [(each.criterion, each.evidence) for each in insight.verdicts] == [("a", (quote,)), ("b", (quote,))]


def test_a_wrong_score_is_told_also_if_the_verdicts_can_be_read_only_once() -> None:
    verdicts = iter([Verdict("run", "a", "hit", 2.0)])
    with pytest.raises(NoJudgement, match=r"a score of 2\.0"):
        one(Insight("tone", "run", "hit", 1.0, verdicts=verdicts))  # type: ignore[arg-type]


def test_verdicts_without_end_are_no_judgement() -> None:
    verdicts = (Verdict("run", "a", "hit", 1.0) for _ in iter(int, 1))
    with pytest.raises(NoJudgement, match="more than 100,000 verdicts"):
        one(Insight("tone", "run", "hit", 1.0, verdicts=verdicts))  # type: ignore[arg-type]
