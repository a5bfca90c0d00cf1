"""One verdict per scoring point, whoever judged; a score with bounds that hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.cases import Case, ScoringPoint
from viva.judge import ScoringPointsEvaluator
from viva.judge.scoring_points.scoring import case_needs_model, merge, summarize
from viva.records.evaluator import Context
from viva.records.transcript import Round, Transcript
from viva.records.verdict import Evidence, Verdict
from viva.sandbox.choice import choose

POINT = ScoringPoint("p", "It works.", 2.0, "pass")
LABELS = ("hit", "miss", "unsure", "error")


def verdict(label: str, by: str = "code", weight: float = 2.0, **fields: object) -> Verdict:
    return Verdict("run", "p", label, None, reason=f"{by} says {label}", by=by, weight=weight, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", [*LABELS, None])
@pytest.mark.parametrize("model", [*LABELS, None])
def test_code_counts_where_both_judge_and_nothing_judged_is_an_error(code: str | None, model: str | None) -> None:
    one = merge(POINT, "run", verdict(code) if code else None, verdict(model, "m") if model else None)
    assert one.label == (code or model or "error")
    assert one.criterion == "p"
    if code and model:
        assert [(vote.judge, vote.label) for vote in one.votes] == [("code", code), ("m", model)]
        decided = "error" not in (code, model) and model != "unsure"
        assert ("judges-disagree" in one.flags) == (decided and code != model)
        assert ("model-unsure" in one.flags) == (model == "unsure" and code != "error")
        assert ("model-gave-no-verdict" in one.flags) == (model == "error" and code != "error")
    if not code and not model:
        assert (one.fault, one.weight, one.statement) == ("judge", 2.0, "It works.")


def test_where_they_disagree_the_models_reason_and_evidence_stand_beside() -> None:
    quote = (Evidence("r1", "55"),)
    one = merge(POINT, "run", verdict("miss"), verdict("hit", "m", evidence=quote))
    assert (one.label, one.evidence) == ("miss", quote)
    assert "m says hit" in one.reason


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.floats(1e-6, 1e12)), min_size=1, max_size=30))
def test_the_score_lies_within_its_bounds_and_the_bounds_within_zero_and_one(
    items: Sequence[tuple[str, float]],
) -> None:
    insight = summarize("scoring_points", "run", [verdict(label, weight=weight) for label, weight in items])
    labels = {label for label, _ in items}
    if labels == {"error"}:
        assert (insight.label, insight.score, insight.low, insight.high) == ("error", None, None, None)
        return
    assert insight.score is not None
    assert insight.low is not None
    assert insight.high is not None
    assert 0 <= insight.low == insight.score <= insight.high <= 1
    if labels == {"hit"}:
        assert (insight.label, insight.low) == ("hit", 1)
    if not labels & {"unsure", "error"}:
        assert insight.low == insight.high
    if labels <= {"miss", "unsure", "error"}:
        assert insight.score == 0
    assert ("error" in labels) == (insight.label == "error")


def test_nothing_judged_is_no_score() -> None:
    insight = summarize("scoring_points", "run", [])
    assert (insight.label, insight.score, insight.low, insight.high) == ("error", None, None, None)


def case(*points: ScoringPoint) -> Case:
    return Case("case", Path("case.yaml"), "0" * 64, "Do it.", points)


TWO = case(
    ScoringPoint("a", "The sum is 3.", 1.0, "assert rounds[0]['agent'] == '3'"),
    ScoringPoint("b", "It was polite.", 4.0),
)


async def test_points_that_nobody_can_judge_are_errors_beside_those_that_code_can() -> None:
    sandbox = (await choose("process")).sandbox
    try:
        insight = await ScoringPointsEvaluator("code", sandbox, None).evaluate(
            Transcript((Round(1, "1 + 2?", "3"),)), Context("run", TWO)
        )
    finally:
        await sandbox.close()
    assert [(one.criterion, one.label) for one in insight.verdicts] == [("a", "hit"), ("b", "error")]
    assert (insight.score, insight.low, insight.high) == (0.2, 0.2, 1.0)


def test_which_points_need_a_model() -> None:
    assert [point.id for point in case_needs_model(TWO, "code")] == ["b"]
    assert [point.id for point in case_needs_model(TWO, "model")] == ["a", "b"]
    assert [point.id for point in case_needs_model(TWO, "both")] == ["a", "b"]
