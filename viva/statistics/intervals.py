"""Estimators and their intervals for independent values, each after a published source. Pure functions on numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

from viva.statistics.student_t import student_t

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """Holds both ends of a confidence interval, in the unit of the estimate."""

    low: float
    high: float


def wilson(successes: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """Return the Wilson score interval of a proportion, without continuity correction.

    Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA 22.
    Stays within [0, 1] and keeps a width at 0 and at n successes; [0, 1] for n = 0, where nothing is known.

    Args:
        successes: Between 0 and n. Need not be whole: see `clustered_wilson`.
        n: Independent trials.
        confidence: Of the interval, two-sided.
    """
    return wilson_at(successes / n, n, _z(confidence)) if n > 0 else Interval(0.0, 1.0)


def wilson_at(p: float, n: float, z: float) -> Interval:
    """Return the Wilson score interval of a proportion that was seen, z standard errors wide on each side; n > 0."""
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(max(0.0, p * (1 - p)) / n + z * z / (4 * n * n))
    low = 0.0 if p <= 0 else min(p, max(0.0, middle - half))
    high = 1.0 if p >= 1 else max(p, min(1.0, middle + half))
    return Interval(low, high)


def mean_interval(
    values: Sequence[float], confidence: float = CONFIDENCE, *, least: float = 0.0, most: float = 1.0
) -> Interval:
    """Return Student's t interval of the mean of independent values (trials of one case), clipped to [least, most].

    Student 1908, "The probable error of a mean", Biometrika 6. Where the values do not vary: see `constant_interval`.

    Raises:
        ValueError: there is no value.
    """
    mean = fmean(values)
    if max(values) - min(values) < 1e-12:
        return constant_interval(mean, len(values), confidence, least=least, most=most)
    half = student_t(1 - (1 - confidence) / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(max(least, mean - half), min(most, mean + half))


def constant_interval(
    value: float, n: int, confidence: float = CONFIDENCE, *, least: float = 0.0, most: float = 1.0
) -> Interval:
    """Return the interval of a mean if all n values are the same; for 0 and 1 it is Clopper and Pearson's exact one.

    At most a share 1 - (alpha/2)^(1/n) of what was not seen can differ (Hanley and Lippman-Hand 1983, "If nothing
    goes wrong, is everything all right?", JAMA 249: the rule of three), and it can differ as far as `least` or `most`.
    """
    unseen = 1.0 if n <= 0 else 1 - ((1 - confidence) / 2) ** (1 / n)
    return Interval(value - unseen * (value - least), value + unseen * (most - value))


def mcnemar(better: int, worse: int) -> float:
    """Return the exact two-sided p-value of McNemar's test: twice the smaller binomial tail at 1/2, at most 1.

    McNemar 1947, Psychometrika 12; exact form: Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology
    13:91. Pairs that agree say nothing about the difference and do not enter.

    Args:
        better: Pairs that failed before and pass now.
        worse: Pairs that passed before and fail now.
    """
    n, smaller = better + worse, min(better, worse)
    term = tail = 1
    for i in range(1, smaller + 1):
        term = term * (n - i + 1) // i
        tail += term
    return min(1.0, tail / 2 ** (n - 1)) if n else 1.0


def fewest_discordant(alpha: float = 1 - CONFIDENCE) -> int:
    """Return how many pairs must differ before the exact McNemar test can reach p < alpha at all: 6 for 0.05."""
    n = 1
    while mcnemar(n, 0) >= alpha:
        n += 1
    return n


def detectable_difference(differences: Sequence[float], confidence: float = CONFIDENCE, power: float = 0.8) -> float:
    """Return the smallest true mean difference that a paired sample like this one finds with the given power.

    (t + z_power) * sd / sqrt(n): Lachin 1981, "Introduction to sample size determination and power analysis for
    clinical trials", Controlled Clinical Trials 2; with t for z. Infinite below two differences, 0 where all are alike
    (there the sample says nothing about it).
    """
    n = len(differences)
    if n < 2:
        return math.inf
    t = student_t(1 - (1 - confidence) / 2, n - 1)
    return (t + NormalDist().inv_cdf(power)) * stdev(differences) / math.sqrt(n)


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf(1 - (1 - confidence) / 2)
