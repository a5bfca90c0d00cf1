"""What filter expressions mean, run by run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from viva.filters.fields import UNFINISHED, FilterContext
from viva.filters.matching import matcher, result_fields
from viva.filters.parsing import parse_filter
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import StopReason, Usage
from viva.records.verdict import Insight, Label, Verdict

VERDICTS = (
    Verdict("r", "p-1", Label.HIT, 1.0, reason="it asks", statement="The agent asks for the code."),
    Verdict("r", "p-2", Label.MISS, 0.0, reason="it named 300", statement="The agent names 320 euros."),
)
RUN = RunRecord(
    "refund-1",
    "refund",
    "agents/air.py:Agent",
    Outcome.SCORED,
    0.5,
    low=0.5,
    high=0.5,
    points=1.0,
    agent_version="2.1",
    trial=2,
    rounds=3,
    stop=StopReason.FINISHED,
    tags=("smoke", "money"),
    insights=(
        Insight("scoring_points", "refund-1", label="miss", score=0.5, low=0.5, high=0.5, verdicts=VERDICTS),
        Insight("politeness", "refund-1", label="rude", score=0.2, low=0.2, high=0.2),
    ),
    usage={"target": Usage(100, 20, calls=1, cost=0.25), "judge": Usage(30, 10, calls=1, cost=0.05)},
    timing=Timing(1_795_000_000.0, 90.0),
    setting=Setting(case_file="cases/air.yaml", persona="impatient", evaluators=("scoring_points", "politeness")),
)
EXCLUDED = replace(RUN, outcome=Outcome.INFRA_ERROR, score=None, low=None, high=None, error="no disk", insights=())
OPEN = replace(EXCLUDED, outcome=UNFINISHED, error=None, rounds=0, usage={})
CASE = {"metadata": {"team": "blue", "level": 3, "beta": True, "areas": ["air", "rail"]}, "row": {"city": "Ulm"}}


def matches(text: str, record: RunRecord = RUN) -> bool:
    return matcher(parse_filter(text), FilterContext(1.0, lambda _: CASE))(record)


@pytest.mark.parametrize(
    "text",
    [
        "agent=agents/air.py:Agent", "agent~AIR", "case=refund", "case!=other", "run=refund-1", "file~air", "trial=2",
        "version=2.1", "persona=impatient", "strategy=none", "strategy!=x",
        "tag=smoke", "tag=money", "tag!=slow", "tag~MON", "not tag=slow",
        "status=failed", "passed=no", "not passed", "outcome=scored", "outcome!=target_error",
        "score<1", "score<=0.5", "score>=.5", "score=0.5", "score!=1", "low<1", "points=1",
        "hit=p-1", "hit='The agent asks for the code.'", "missed~320", "missed=p-2", "unsure=none", "point.p-2=miss",
        "point.'The agent asks for the code.'=hit", "point.p-9=none", "reason~'named 300'",
        "evaluator.politeness<.3", "evaluator.politeness=0.2", "evaluator.other=none", "label.politeness=rude",
        "rounds=3", "rounds>2", "stop=finished", "attempt=1", "cost=0.3", "cost<$1", "tokens=160", "seconds>1m",
        "seconds=90s", "started>2026-01-01", "started<2030-01-01T10:00", "error=none",
        "metadata.team=blue", "metadata.team~LU", "metadata.level=3", "metadata.level>2", "metadata.beta=yes",
        "metadata.areas=rail", "metadata.areas!=sea", "metadata.missing=none", "row.city=Ulm", "row.street!=x",
        "case=other or score<1 and tag=smoke", "not (case=refund and score=1)",
    ],
)  # fmt: skip
def test_a_run_matches(text: str) -> None:
    assert matches(text)
    assert not matches(f"not ({text})")


@pytest.mark.parametrize(
    "text",
    [
        "agent=air", "case!=refund", "tag=slow", "tag!=smoke", "tag=none", "passed", "status=passed", "score<0.5",
        "score>0.5", "score!=0.5", "score=none", "hit=p-2", "missed=p-1", "point.p-2=hit", "point.p-9=miss",
        "evaluator.other<1", "evaluator.politeness>=0.2 and evaluator.politeness<0.2", "seconds>2m", "error~disk",
        "started<2026-01-01", "metadata.level<3", "metadata.team<3", "metadata.beta=no", "metadata.missing=x",
        "row.city=none", "(case=other or score<1) and tag=slow",
    ],
)  # fmt: skip
def test_a_run_does_not_match(text: str) -> None:
    assert not matches(text)


@pytest.mark.parametrize("text", ["score<1", "score>=0", "passed", "passed=no", "status=failed", "low<1", "missed~x"])
def test_an_excluded_run_has_no_score_and_neither_passed_nor_failed(text: str) -> None:
    assert not matches(text, EXCLUDED)


@pytest.mark.parametrize("text", ["rounds<5", "seconds<100", "tokens<5", "score<1", "passed=no", "attempt=1"])
def test_an_unfinished_run_has_no_results(text: str) -> None:
    assert not matches(text, OPEN)
    assert matches("status=unfinished and outcome=unfinished and score=none and case=refund", OPEN)


def test_the_third_of_three_points_reaches_the_threshold() -> None:
    third = replace(RUN, score=1 / 3 + 1 / 3 + 1 / 3, low=0.9999999999, high=1.0)
    assert matches("score=1", third)
    assert not matches("score<1", third)
    assert matches("low>=1", third)


def test_fields_about_results_are_told_from_what_was_known_before() -> None:
    assert result_fields(parse_filter("case=a and tag=b and metadata.x=1 and row.y=2 and agent~c and trial=1")) == []
    assert result_fields(parse_filter("case=a and (score<1 or not point.p=miss or score>2)")) == ["score", "point.ID"]
