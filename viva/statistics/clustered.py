"""Intervals for runs that come in clusters, the trials of a case; each after a published source.

The unit of independence is the case, not the run: trials of one case succeed and fail together, and counting them as
independent makes intervals too narrow (Miller 2024, "Adding Error Bars to Evals", arXiv:2411.00640, section 2.2).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist

from viva.statistics.intervals import CONFIDENCE, Interval, constant_interval, wilson
from viva.statistics.resampling import Resampler
from viva.statistics.student_t import student_t

FEW = 10
"""Clusters below which the bootstrap alone is too narrow."""
_SEED = 20241
# 2,000 resamples put the ends of an interval within a few percent of its width (Hesterberg 2015, section 3.4 wants
# more for publication); above 2,000 clusters fewer do, as each resample is then nearly normal and costs more.
_RESAMPLES, _FEWEST_RESAMPLES, _DRAWS = 2_000, 500, 4_000_000


def clustered_wilson(clusters: Sequence[tuple[float, int]], confidence: float = CONFIDENCE) -> Interval:
    """Return the Wilson score interval of a proportion with clustered trials.

    The trials are worth n / deff independent ones, deff being the design effect of the ratio estimator (Kish 1965,
    "Survey Sampling", chapter 8); the Wilson interval is taken at that size (Dean and Pagano 2015, "Evaluating
    confidence interval methods for binomial proportions in clustered surveys", J. Survey Statistics and Methodology 3).
    The size is kept between the number of clusters and the number of trials. With one trial in each cluster this is
    the plain Wilson interval; with all trials alike the effect cannot be estimated, and each cluster counts once.

    Args:
        clusters: (successes, trials) of each; trials >= 1.
        confidence: Of the interval, two-sided.
    """
    trials, count = sum(n for _, n in clusters), len(clusters)
    if trials == 0:
        return Interval(0.0, 1.0)
    p = sum(successes for successes, _ in clusters) / trials
    size: float = count
    if count > 1 and 0 < p < 1:
        spread = sum((successes - p * n) ** 2 for successes, n in clusters)
        variance = count / (count - 1) * spread / trials**2
        independent = p * (1 - p) / variance if variance > 0 else trials
        size = min(trials, max(count, independent))
    return wilson(p * size, size, confidence)


def clustered_mean_interval(
    clusters: Sequence[tuple[float, int]],
    confidence: float = CONFIDENCE,
    *,
    least: float = 0.0,
    most: float = 1.0,
    seed: int = _SEED,
) -> Interval:
    """Return the bootstrap interval of a mean over runs from whole clusters (Davison and Hinkley 1997, section 3.8).

    The *expanded* percentile interval (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 5.2,
    arXiv:1411.5279): the plain one is too narrow for few clusters by t against z and by sqrt((n-1)/n), and BCa mends
    skewness but not that narrowness. It never reaches beyond the means seen: over two clusters it held the truth in
    0.60 of suites (`viva docs statistics`). Below `FEW` clusters it is therefore joined with Student's interval of the
    linearized ratio estimator (Cochran 1977, "Sampling Techniques", section 6.3). Where the cluster means do not vary
    neither knows anything: see `constant_interval`.

    Args:
        clusters: (sum of the values, number of values) of each; the order does not matter.
        confidence: Of the interval, two-sided.
        least: Smallest possible value.
        most: Largest possible value.
        seed: The same seed and clusters give the same interval.

    Raises:
        ValueError: there is no cluster.
    """
    if not clusters:
        raise ValueError("no clusters to take the mean of")
    interval = _interval_of_few if len(clusters) <= _SMALL else _interval_of_many
    return interval(tuple(sorted(clusters)), confidence, least, most, seed)


def _bootstrap(
    clusters: tuple[tuple[float, int], ...], confidence: float, least: float, most: float, seed: int
) -> Interval:
    count = len(clusters)
    means = [total / n for total, n in clusters]
    mean = sum(total for total, _ in clusters) / sum(n for _, n in clusters)
    if max(means) - min(means) < 1e-12:
        return constant_interval(mean, count, confidence, least=least, most=most)
    # Total and number ride in one complex number: one draw and one sum for both.
    pairs = [complex(total, n) for total, n in clusters]
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    resamples = max(_FEWEST_RESAMPLES, min(_RESAMPLES, _DRAWS // count))
    drawn = sorted([both.real / both.imag for both in _resampled(pairs, resamples, rng)])
    widened = math.sqrt(count / (count - 1)) * student_t(1 - (1 - confidence) / 2, count - 1)
    tail = NormalDist().cdf(-widened)
    low, high = _quantile(drawn, tail), _quantile(drawn, 1 - tail)
    if count < FEW:
        half = _half_width(clusters, mean, confidence)
        low, high = min(low, mean - half), max(high, mean + half)
    return Interval(max(least, min(low, mean)), min(most, max(high, mean)))


def _resampled(pairs: Sequence[complex], resamples: int, rng: random.Random) -> Iterator[complex]:
    if Resampler.serves(pairs):
        resampler = Resampler(pairs)
        return (resampler.total(rng) for _ in range(resamples))
    return (sum(rng.choices(pairs, k=len(pairs))) for _ in range(resamples))


# Groups of a few cases are often alike in their scores: families, tags, the trials of one case.
_SMALL = 20
_interval_of_few = lru_cache(maxsize=2048)(_bootstrap)
# A suite with one agent asks for the same interval twice, and once more for a tag that all its cases have.
_interval_of_many = lru_cache(maxsize=8)(_bootstrap)


def _half_width(clusters: Sequence[tuple[float, int]], mean: float, confidence: float) -> float:
    """Return the half width of Student's interval of a ratio's mean, linearized."""
    count, trials = len(clusters), sum(n for _, n in clusters)
    spread = sum((total - mean * n) ** 2 for total, n in clusters)
    error = math.sqrt(count / (count - 1) * spread) / trials
    return student_t(1 - (1 - confidence) / 2, count - 1) * error


def paired_interval(differences: Sequence[float], confidence: float = CONFIDENCE, *, reach: float = 1.0) -> Interval:
    """Return the bootstrap interval of a mean difference, drawing whole pairs (cases); see `clustered_mean_interval`.

    Args:
        differences: One for each case, between -`reach` and `reach`.
        confidence: Of the interval, two-sided.
        reach: The largest possible difference.

    Raises:
        ValueError: there is no difference.
    """
    pairs = [(difference, 1) for difference in differences]
    return clustered_mean_interval(pairs, confidence, least=-reach, most=reach)


def _quantile(ordered: Sequence[float], p: float) -> float:
    """Linear between neighbours: type 7 of Hyndman and Fan 1996."""
    position = p * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
