"""The estimators against scipy, against worked examples from the literature, and against what must always hold."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from statistics import NormalDist

import numpy as np
import pytest
import scipy  # its parts are loaded when they are used: not by each process that collects tests
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.statistics.clustered import FEW, clustered_mean_interval, clustered_wilson
from viva.statistics.intervals import (
    Interval,
    constant_interval,
    detectable_difference,
    fewest_discordant,
    mcnemar,
    mean_interval,
    wilson,
)
from viva.statistics.student_t import student_t

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
scores = st.floats(0, 1)


# Newcombe 1998, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, table I.
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_newcombes_published_intervals(successes: int, n: int, low: float, high: float) -> None:
    interval = wilson(successes, n)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_agrees_with_scipy(sample: tuple[int, int], confidence: float) -> None:
    n, successes = sample
    expected = scipy.stats.binomtest(successes, n).proportion_ci(confidence, "wilson")
    ours = wilson(successes, n, confidence)
    assert ours.low == pytest.approx(expected.low, abs=1e-12)
    assert ours.high == pytest.approx(expected.high, abs=1e-12)


@given(counts)
def test_wilson_holds_the_rate_and_stays_in_bounds(sample: tuple[int, int]) -> None:
    n, successes = sample
    interval = wilson(successes, n)
    assert 0 <= interval.low <= successes / n <= interval.high <= 1
    assert interval.low < interval.high


def test_wilson_knows_nothing_of_no_trials_and_is_exact_at_the_ends() -> None:
    assert wilson(0, 0) == Interval(0.0, 1.0)
    assert wilson(0, 9).low == 0.0
    assert wilson(9, 9).high == 1.0
    z = NormalDist().inv_cdf(0.975)
    assert wilson(9, 9).low == pytest.approx(9 / (9 + z * z))


clusters = st.lists(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=40
)


@given(clusters)
def test_a_clustered_rate_is_never_surer_than_independent_trials_nor_vaguer_than_one_a_case(
    sample: list[tuple[int, int]],
) -> None:
    passed, n = sum(c for c, _ in sample), sum(n for _, n in sample)
    ours, independent = clustered_wilson(sample), wilson(passed, n)
    widest = wilson(passed / n * len(sample), len(sample))
    assert 0 <= ours.low <= passed / n <= ours.high <= 1
    assert widest.low - 1e-12 <= ours.low <= independent.low + 1e-12
    assert independent.high - 1e-12 <= ours.high <= widest.high + 1e-12


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60))
def test_with_one_trial_a_case_the_clustered_rate_is_plain_wilson(sample: list[int]) -> None:
    assert clustered_wilson([(passed, 1) for passed in sample]) == wilson(sum(sample), len(sample))


def test_trials_that_always_agree_count_once() -> None:
    alike = [(4, 4)] * 3 + [(0, 4)] * 7
    ours, cases = clustered_wilson(alike), wilson(3, 10)
    assert ours.low == pytest.approx(cases.low)
    assert ours.high == pytest.approx(cases.high)
    assert clustered_wilson([(4, 4)] * 10) == wilson(10, 10)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 29, 30, 99, 100, 199, 200, 201, 500, 10_000])
@pytest.mark.parametrize("p", [0.9, 0.975, 0.995])
def test_student_t_agrees_with_scipy(p: float, freedom: int) -> None:
    assert student_t(p, freedom) == pytest.approx(scipy.stats.t.ppf(p, freedom), rel=1e-7)


@given(st.lists(scores, min_size=2, max_size=30).filter(lambda values: max(values) - min(values) > 1e-6))
def test_the_interval_of_one_cases_mean_agrees_with_scipy(values: list[float]) -> None:
    expected = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    ours = mean_interval(values)
    assert ours.low == pytest.approx(max(0, expected.low), abs=1e-6)
    assert ours.high == pytest.approx(min(1, expected.high), abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 4, 25, 400])
def test_values_that_are_all_0_or_all_1_get_the_exact_interval(n: int) -> None:
    for value in (0, 1):
        expected = scipy.stats.binomtest(value * n, n).proportion_ci(0.95, "exact")
        for ours in (mean_interval([value] * n), clustered_mean_interval([(3 * value, 3)] * n)):
            assert ours.low == pytest.approx(expected.low)
            assert ours.high == pytest.approx(expected.high)


def test_a_perfect_score_is_not_certain() -> None:
    assert clustered_mean_interval([(4.0, 4)] * 25).low == pytest.approx(0.8628, abs=1e-4)
    assert mean_interval([1.0]).low < 0.05
    assert constant_interval(0.5, 1).low < 0.02


@pytest.mark.parametrize("count", [2, 5, 12, 40])
def test_the_bootstrap_agrees_with_scipys_at_the_expanded_level_joined_with_students_for_few(count: int) -> None:
    rng = random.Random(count)
    sample = [(sum(rng.random() ** 2 for _ in range(n)), n) for n in (rng.randint(1, 5) for _ in range(count))]
    tail = NormalDist().cdf(-math.sqrt(count / (count - 1)) * scipy.stats.t.ppf(0.975, count - 1))
    expected = scipy.stats.bootstrap(
        tuple(zip(*sample, strict=True)),
        lambda total, n, axis: np.sum(total, axis=axis) / np.sum(n, axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        confidence_level=1 - 2 * tail,
        method="percentile",
        rng=np.random.default_rng(1),
    )
    ours, ends = clustered_mean_interval(sample), expected.confidence_interval
    low, high = ends.low, ends.high
    if count < FEW:
        totals, trials = np.array(sample).T
        mean = totals.sum() / trials.sum()
        error = scipy.stats.sem(totals - mean * trials) / trials.mean()
        student = scipy.stats.t.interval(0.95, count - 1, mean, error)
        low, high = max(0.0, min(low, student[0])), min(1.0, max(high, student[1]))
    assert ours.low == pytest.approx(low, abs=0.08 * (ends.high - ends.low))
    assert ours.high == pytest.approx(high, abs=0.08 * (ends.high - ends.low))


@settings(max_examples=examples(50))
@given(st.lists(st.lists(scores, min_size=1, max_size=5), min_size=2, max_size=20), st.randoms())
def test_a_bootstrap_interval_is_the_same_in_any_order_and_holds_the_mean(
    cases: list[list[float]], shuffle: random.Random
) -> None:
    sample = [(sum(values), len(values)) for values in cases]
    ours = clustered_mean_interval(sample)
    mean = sum(total for total, _ in sample) / sum(n for _, n in sample)
    assert -1e-12 <= ours.low <= mean + 1e-12
    assert mean - 1e-12 <= ours.high <= 1 + 1e-12
    shuffle.shuffle(sample)
    assert clustered_mean_interval(sample) == ours


def test_repeating_every_trial_four_times_does_not_make_a_suite_surer() -> None:
    once = [(float(i % 3 == 0), 1) for i in range(30)]
    often = [(4 * total, 4) for total, _ in once]
    assert clustered_mean_interval(once) == clustered_mean_interval(often)


def test_a_mean_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no clusters"):
        clustered_mean_interval([])


# Armitage and Berry 1994, page 127 (two media for a culture); Bentur et al. 2009 in Fagerland et al. 2013, table 1.
@pytest.mark.parametrize(("one", "other", "p"), [(12, 2, 0.0129), (1, 7, 0.0703)])
def test_mcnemar_gives_the_published_p_values(one: int, other: int, p: float) -> None:
    assert round(mcnemar(one, other), 4) == p


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_agrees_with_scipys_binomial_test_and_has_no_direction(one: int, other: int) -> None:
    expected = scipy.stats.binomtest(one, one + other, 0.5).pvalue if one + other else 1.0
    assert mcnemar(one, other) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(one, other) == mcnemar(other, one)


def test_mcnemar_of_a_very_large_suite_is_still_a_number() -> None:
    assert mcnemar(6000, 4000) == pytest.approx(scipy.stats.binomtest(6000, 10_000, 0.5).pvalue, rel=1e-6)


def test_fewer_than_six_pairs_that_differ_cannot_reach_five_percent() -> None:
    assert fewest_discordant() == 6
    assert mcnemar(5, 0) > 0.05 > mcnemar(6, 0)


def test_the_detectable_difference_is_found_with_the_promised_power() -> None:
    rng = np.random.default_rng(4)
    sample = rng.normal(0, 0.3, 40)
    size = detectable_difference(sample.tolist())
    spread = float(np.std(sample, ddof=1))
    found = [scipy.stats.ttest_1samp(rng.normal(size, spread, 40), 0).pvalue < 0.05 for _ in range(2000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)
    assert detectable_difference([0.1]) == math.inf


def test_the_core_needs_neither_numpy_nor_scipy() -> None:
    modules = "viva.statistics.summary, viva.statistics.intervals"
    code = f"import {modules}, sys; sys.exit(any(m in sys.modules for m in ('numpy', 'scipy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_intervals_hold_the_truth_nearly_as_often_as_they_say_and_counting_trials_as_cases_does_not() -> None:
    rng = random.Random(11)
    kept = {"bootstrap": 0, "wilson": 0, "trials as cases": 0}
    for seed in range(200):
        # Each case has a difficulty of its own; the mean over all that could be drawn is 1/2.
        chances = [rng.betavariate(0.6, 0.6) for _ in range(15)]
        sample = [(float(sum(rng.random() < chance for _ in range(4))), 4) for chance in chances]
        intervals = {
            "bootstrap": clustered_mean_interval(sample, seed=seed),
            "wilson": clustered_wilson(sample),
            "trials as cases": wilson(sum(c for c, _ in sample), 60),
        }
        for name, interval in intervals.items():
            kept[name] += interval.low <= 0.5 <= interval.high
    assert kept["bootstrap"] >= 0.9 * 200
    assert kept["wilson"] >= 0.9 * 200
    assert kept["trials as cases"] <= 0.88 * 200


@pytest.mark.parametrize("cases", [2, 3, 5])
def test_over_few_cases_the_interval_holds_the_truth_too(cases: int) -> None:
    rng = random.Random(cases)
    kept = 0
    for _ in range(200):
        # Graded scores, each case of a difficulty of its own; the mean over all that could be drawn is 1/2.
        chances = [rng.betavariate(2, 2) for _ in range(cases)]
        sample = [(sum(min(1.0, max(0.0, rng.gauss(chance, 0.15))) for _ in range(4)), 4) for chance in chances]
        interval = clustered_mean_interval(sample)
        kept += interval.low <= 0.5 <= interval.high
    assert kept >= 0.9 * 200
