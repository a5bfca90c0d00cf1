"""Resamples by tables are draws with replacement: each value has exactly its share, in every place."""

from __future__ import annotations

import random
from fractions import Fraction
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples, settings
from viva.statistics.clustered import clustered_mean_interval
from viva.statistics.resampling import FEWEST, FEWEST_OF_EACH, MOST_DISTINCT, Resampler

WEIGHTS = st.lists(st.integers(1, 400), min_size=1, max_size=MOST_DISTINCT)


def values_of(weights: list[int]) -> list[complex]:
    return [complex(number, 1) for number, weight in enumerate(weights) for _ in range(weight)]


@settings(max_examples=examples(60))
@given(WEIGHTS)
def test_each_value_is_drawn_with_exactly_its_share(weights: list[int]) -> None:
    resampler = Resampler(values_of(weights))
    reached, shares = Fraction(1), [Fraction(0)] * len(weights)
    for table in resampler._tables:
        for number in range(len(weights)):
            shares[number] += reached * Fraction(table.count(number), 256)
        reached *= Fraction(table.count(255), 256)
    if left := sum(resampler._left_over):
        for number, weight in enumerate(resampler._left_over):
            shares[number] += reached * Fraction(weight, left)
    assert shares == [Fraction(weight, sum(weights)) for weight in weights]


@settings(max_examples=examples(40))
@given(WEIGHTS, st.integers())
def test_a_resample_has_as_many_values_and_repeats_with_its_seed(weights: list[int], seed: int) -> None:
    values = values_of(weights)
    drawn = Resampler(values).total(random.Random(seed))
    assert drawn.imag == len(values)
    assert 0 <= drawn.real <= (len(weights) - 1) * len(values)
    assert Resampler(values).total(random.Random(seed)) == drawn


@pytest.mark.parametrize("weights", [[1], [64], [63, 1], [300, 200], [7, 11, 13, 469], [8] * 60, [3] * 64])
def test_totals_vary_as_much_as_those_of_single_draws(weights: list[int]) -> None:
    values, rng, number = values_of(weights), random.Random(7), 4_000
    resampler = Resampler(values)
    totals = [resampler.total(rng).real for _ in range(number)]
    mean = fmean(value.real for value in values)
    deviation = pstdev([value.real for value in values]) * len(values) ** 0.5
    assert fmean(totals) == pytest.approx(mean * len(values), abs=5 * deviation / number**0.5)
    assert pstdev(totals) == pytest.approx(deviation, rel=0.08)


def test_values_that_are_few_or_different_are_drawn_one_by_one() -> None:
    assert Resampler.serves([1 + 0j] * FEWEST)
    assert not Resampler.serves([1 + 0j] * (FEWEST - 1))
    many = values_of([FEWEST_OF_EACH] * MOST_DISTINCT)
    assert Resampler.serves(many)
    assert not Resampler.serves([*many, -1 + 0j])


def test_the_interval_of_a_suite_hardly_depends_on_how_its_resamples_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    clusters = [(float(sum(rng.random() < 0.7 for _ in range(4))), 4) for _ in range(300)]
    quick = clustered_mean_interval(clusters)
    monkeypatch.setattr(Resampler, "serves", staticmethod(lambda _: False))
    plain = clustered_mean_interval(clusters, seed=20242)
    assert quick.low == pytest.approx(plain.low, abs=0.1 * (plain.high - plain.low))
    assert quick.high == pytest.approx(plain.high, abs=0.1 * (plain.high - plain.low))
