"""Adaptive trials: whether decisions are right, intervals hold the truth, and runs are saved, where the truth is known.

`python -m bench adaptive` simulates 2,000 suites for each kind of decision; these are a few of them.
"""

from __future__ import annotations

import math
import random
from statistics import fmean, median

import pytest

from bench.adaptive import simulate
from viva.errors import SetupError
from viva.statistics.adaptive.brownian import Increment, critical_value, interval_after
from viva.statistics.adaptive.evidence import Strata, evidence
from viva.statistics.adaptive.spread import variances
from viva.statistics.adaptive.trials import first_batch, limited, next_batch
from viva.statistics.adaptive.until import Aim, Until, parse_until

CI = Until(aim=Aim.CI, value=0.05)


def test_critical_values_are_the_published_ones() -> None:
    """Five equal looks that spend as Lan and DeMets 1983 do for Pocock's bounds."""
    looks: list[Increment] = []
    for number in range(1, 6):
        spent = 0.05 * math.log(1 + (math.e - 1) * number / 5) - 0.05 * math.log(1 + (math.e - 1) * (number - 1) / 5)
        bound = critical_value(looks, Increment(1.0, 1.0), spent)
        assert bound == pytest.approx((2.438, 2.427, 2.410, 2.397, 2.386)[number - 1], abs=2e-3)
        looks.append(Increment(1.0, 1.0, -bound * number**0.5, bound * number**0.5))
    assert critical_value([], Increment(1.0, 1.0), 0.05) == pytest.approx(1.96, abs=1e-3)


def test_without_earlier_looks_the_final_interval_is_the_plain_one() -> None:
    low, high = interval_after([Increment(2.0, 4.0)], 3.0, 0.95)
    assert (low, high) == (pytest.approx(1.5 - 1.96, abs=1e-3), pytest.approx(1.5 + 1.96, abs=1e-3))


def test_an_early_stop_pulls_the_interval_towards_the_bound() -> None:
    """A sum that was between its bounds once, and far above them now, says less than its size."""
    low, high = interval_after([Increment(1.0, 1.0, -2.4, 2.4), Increment(1.0, 1.0)], 6.0, 0.95)
    assert low < 3.0 - 1.96 / 2**0.5
    assert high <= 3.0 + 1.96 / 2**0.5 + 1e-3


@pytest.mark.parametrize(("name", "kind"), [("ci", "mixed"), ("compare", "mixed"), ("gate", "good")])
def test_decisions_are_right_and_save_runs(name: str, kind: str) -> None:
    tally = simulate(name, kind, 20, 50)
    assert tally.wrong <= 6  # 2.5 expected at 5 %
    assert tally.held >= 43
    assert median(tally.saved) >= 0.5


def test_a_case_that_is_tried_again_because_of_its_results_biases_nothing() -> None:
    """The mean of a case that is tried on only if its first trials differ would be 0.06 too high."""
    rng, strata, estimates = random.Random(5), Strata.of(6, compared=False), []
    for _ in range(600):
        batches = [[[float(rng.random() < 0.85) for _ in range(4)] for _ in range(6)]]
        numbers = next_batch(CI, strata, evidence(CI, strata, batches))
        batches.append([[float(rng.random() < 0.85) for _ in range(number)] for number in numbers])
        estimates.append(evidence(CI, strata, batches).estimate)
    assert fmean(estimates) == pytest.approx(0.85, abs=0.012)


def test_flaky_cases_get_the_trials() -> None:
    strata = Strata.of(10, compared=False)
    first: list[list[float]] = [[1.0, 1.0, 1.0]] * 8 + [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    numbers = next_batch(CI, strata, evidence(CI, strata, [first]))
    assert min(numbers) >= 1
    assert min(numbers[8:]) >= 2 * max(numbers[:8])


def test_a_batch_does_not_depend_on_where_the_score_is() -> None:
    """Otherwise a batch could be chosen to reach a decision: only how scores vary counts."""
    gate, strata = Until(aim=Aim.GATE, value=0.5), Strata.of(8, compared=False)
    passes: list[list[float]] = [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]] * 4
    failures = [[1.0 - score for score in scores] for scores in passes]
    seen = [evidence(gate, strata, [each]) for each in (passes, failures)]
    assert next_batch(gate, strata, seen[0]) == next_batch(gate, strata, seen[1])


def test_equal_scores_do_not_make_the_interval_a_point() -> None:
    """Wilson's interval of 25 passes begins at 0.87; that of 5 cases with 5 passes each, a little above."""
    seen = evidence(CI, Strata.of(5, compared=False), [[[1.0] * 5] * 5])
    assert seen.interval.low < 0.92
    assert seen.interval.high == 1.0


def test_what_is_added_to_the_variance_is_as_large_as_scores_of_several_points_can_vary() -> None:
    passes = [[1.0, 0.0, 1.0, 1.0], [1.0] * 4, [0.0, 1.0, 1.0, 1.0]] * 4
    points = [[score if score else 0.8 for score in scores] for scores in passes]
    agents = [0] * len(passes)
    assert variances(passes, agents) == variances(passes, agents, widest=True)
    assert variances([[1.0] * 4] * 12, agents) == variances([[1.0] * 4] * 12, agents, widest=True)
    assert fmean(variances(points, agents)[0]) < 0.8 * fmean(variances(points, agents, widest=True)[0])


def test_what_stays_undecided_has_the_interval_of_a_stop_and_does_not_seem_decided() -> None:
    gate, strata, chance = Until(aim=Aim.GATE, value=0.7, margin=0.1), Strata.of(10, compared=False), random.Random(4)
    batches = [[[float(chance.random() < 0.7) for _ in range(3)] for _ in range(10)]]
    while not (seen := evidence(gate, strata, batches)).due:
        batches.append([[float(chance.random() < 0.7) for _ in range(12)] for _ in range(10)])
    assert (seen.verdict, seen.interval.low <= 0.7 <= seen.interval.high) == ("", True)
    assert seen.half_width < 1.1 * 1.96 / seen.information**0.5


def test_the_first_batch_tries_every_case_alike() -> None:
    assert first_batch(Strata.of(5, compared=False)) == [5] * 5
    assert first_batch(Strata.of(40, compared=True)) == [1] * 80


def test_a_limit_shortens_a_batch_or_leaves_it_out() -> None:
    assert limited([1, 5, 10], 20) == [1, 5, 10]
    assert limited([1, 5, 10], 9) == [1, 2, 5]
    assert limited([1, 5, 10], 2) is None


@pytest.mark.parametrize(
    ("text", "margin", "words"),
    [
        ("ci", None, "is not a decision"),
        ("ci=1.5", None, "half width"),
        ("ci=x", None, "is not a number"),
        ("ci=nan", None, "half width"),
        ("gate=1", None, "between 0 and 1"),
        ("gate=-0.1", None, "between 0 and 1"),
        ("compare=0.1", None, "is not a decision"),
        ("soon", None, "ci=HALF-WIDTH, compare, or gate=SCORE"),
        ("ci=0.05", 0.1, "--margin is for"),
        ("compare", 2.0, "--margin 2"),
    ],
)
def test_impossible_decisions_are_named(text: str, margin: float | None, words: str) -> None:
    with pytest.raises(SetupError, match=words):
        parse_until(text, margin)


def test_fixed_trials_of_the_same_error() -> None:
    """1.96^2 / 4 / 0.05^2 = 385 runs hold any score of 0 and 1 within 0.05."""
    assert CI.fixed_trials(385) == 1
    assert CI.fixed_trials(50) == 8
    assert CI.fixed_trials(50, 0.05) == 2
    assert str(parse_until("gate=0.9")) == "gate=0.9"
