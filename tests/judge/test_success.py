"""The success evaluator: a predicate decides, plain or async, and one that breaks is no success."""

from __future__ import annotations

from typing import Any

import pytest

from viva.judge.success import SuccessEvaluator
from viva.records.evaluator import Context
from viva.records.transcript import Transcript
from viva.records.verdict import Label


async def later(transcript: Transcript) -> bool:
    return bool(transcript.rounds)


@pytest.mark.parametrize(
    ("predicate", "label", "score"),
    [
        (lambda transcript: True, "success", 1.0),
        (lambda transcript: False, "failure", 0.0),
        (later, "failure", 0.0),
        (lambda transcript: "yes", Label.ERROR, None),
        (lambda transcript: 1 / 0, Label.ERROR, None),
    ],
)
async def test_a_predicate_decides_and_one_that_breaks_is_an_error_not_a_success(
    predicate: Any, label: str, score: float | None
) -> None:
    insight = await SuccessEvaluator(predicate).evaluate(Transcript(), Context("run"))
    assert (insight.label, insight.score) == (label, score)
    (verdict,) = insight.verdicts
    assert verdict.label == label
