"""The operational scores: within [0, 1], never raised by a further failure, and left out where they cannot be told."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.judge.operational.figures import OperationalFigures, baseline_of, figures_of, is_observed, scores_of
from viva.records.eval_run_record import EvalRunRecord
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Metrics, Usage

small = st.integers(0, 50)
names = st.sampled_from(["bash", "grep"])


@st.composite
def metrics(draw: Any) -> Metrics:
    calls = draw(st.dictionaries(names, small))
    failed = {name: draw(st.integers(0, number)) for name, number in calls.items()}
    left = sum(calls.values()) - sum(failed.values())
    usage = Usage(draw(small) * 1000, draw(small), calls=draw(small), reported=draw(st.booleans()))
    return Metrics(
        usage_by_model=draw(st.sampled_from([{}, {"m": usage}])),
        tool_calls=calls,
        tool_failures=failed,
        never_completed=draw(st.integers(0, left)),
        aborts=draw(st.dictionaries(names, small)),
        model_failures=draw(st.dictionaries(names, small)),
    )


successes = st.sampled_from([True, False, None])
baselines = st.builds(OperationalFigures, tokens=st.none() | st.floats(0, 1e6))


def overall(found: dict[str, float]) -> float:
    return fmean(found.values())


@given(metrics(), successes, baselines)
def test_scores_stay_between_0_and_1(now: Metrics, success: bool | None, before: OperationalFigures) -> None:
    found = scores_of(now, success, before)
    assert "reliability" in found
    assert all(0 <= score <= 1 for score in (*found.values(), overall(found)))


def more(counts: Any, name: str = "bash") -> dict[str, int]:
    return {**counts, name: counts.get(name, 0) + 1}


def worse_by_a_failed_call(now: Metrics) -> Metrics:
    return replace(now, tool_calls=more(now.tool_calls), tool_failures=more(now.tool_failures))


def worse_by_a_call_that_fails_instead(now: Metrics) -> Metrics:
    sound = sum(now.tool_calls.values()) - sum(now.tool_failures.values()) - now.never_completed
    return replace(now, tool_failures=more(now.tool_failures)) if sound > 0 else now


def worse_by_a_call_without_an_end(now: Metrics) -> Metrics:
    return replace(now, tool_calls=more(now.tool_calls), never_completed=now.never_completed + 1)


def worse_by_an_abort(now: Metrics) -> Metrics:
    return replace(now, aborts=more(now.aborts))


def worse_by_a_failed_model_call(now: Metrics) -> Metrics:
    return replace(now, model_failures=more(now.model_failures))


FAILURES = [
    worse_by_a_failed_call,
    worse_by_a_call_that_fails_instead,
    worse_by_a_call_without_an_end,
    worse_by_an_abort,
    worse_by_a_failed_model_call,
]


@pytest.mark.parametrize("failure", FAILURES)
@given(now=metrics(), success=successes, before=baselines)
def test_a_further_failure_never_raises_a_score(
    failure: Any, now: Metrics, success: bool | None, before: OperationalFigures
) -> None:
    good, bad = scores_of(now, success, before), scores_of(failure(now), success, before)
    assert set(good) <= set(bad)
    assert all(bad[name] <= score + 1e-12 for name, score in good.items())
    assert overall(bad) <= overall(good) + 1e-12


@given(metrics(), baselines)
def test_a_failed_run_scores_no_more_than_a_success_or_one_of_which_nobody_says(
    now: Metrics, before: OperationalFigures
) -> None:
    failed = scores_of(now, False, before)
    for success in (True, None):
        assert overall(failed) <= overall(scores_of(now, success, before)) + 1e-12


@given(metrics(), st.integers(1, 10**6))
def test_more_tokens_never_raise_efficiency(now: Metrics, tokens: int) -> None:
    before = OperationalFigures(tokens=1000.0)
    few = scores_of(replace(now, usage_by_model={"m": Usage(tokens, calls=1)}), None, before)["efficiency"]
    many = scores_of(replace(now, usage_by_model={"m": Usage(tokens + 10, calls=1)}), None, before)["efficiency"]
    assert many <= few


def test_no_tool_calls_are_no_division_and_no_score() -> None:
    assert scores_of(Metrics(), None, OperationalFigures()) == {"reliability": 1.0}


def test_tokens_that_were_not_fully_reported_are_not_compared() -> None:
    partly = Metrics(usage_by_model={"m": Usage(500, calls=2, reported=False)})
    assert figures_of(partly, None).tokens is None
    assert "efficiency" not in scores_of(partly, None, OperationalFigures(tokens=100))


def test_the_baseline_is_the_median_of_each_figure_and_the_newest_word_on_success() -> None:
    def run(tokens: int, success: bool | None) -> EvalRunRecord:
        found = Metrics(usage_by_model={"m": Usage(tokens, calls=1)} if tokens else {})
        return EvalRunRecord(RunRecord("r", "t", "a", Outcome.SCORED, 1.0, metrics=found, success=success))

    before = baseline_of([run(100, False), run(900, True), run(200, None), run(0, None)])
    assert before == OperationalFigures(tokens=200.0, tool_rate=None, failures=0.0, success=True)
    assert baseline_of([]) == OperationalFigures()


def test_a_run_of_which_nothing_was_counted_is_not_observed() -> None:
    assert not is_observed(Metrics(), None)
    assert is_observed(Metrics(), True)
    assert is_observed(Metrics(aborts={"x": 1}), None)
