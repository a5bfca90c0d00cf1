"""Estimators and their intervals, each after a published source. Pure functions on numbers.

The unit of independence is the case, not the run: trials of one case succeed and fail together, and counting them as
independent makes intervals too narrow (Miller 2024, "Adding Error Bars to Evals", arXiv:2411.00640, section 2.2).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, stdev

from harness.figures.student_t import student_t

CONFIDENCE = 0.95
_SEED = 20241
# 2,000 resamples put the ends of an interval within a few percent of its width (Hesterberg 2015, section 3.4 wants
# more for publication); above 2,000 clusters fewer do, as each resample is then nearly normal and costs more.
_RESAMPLES, _FEWEST_RESAMPLES, _DRAWS = 2_000, 500, 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of a confidence interval, in the unit of the estimate."""

    low: float
    high: float


def wilson(successes: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """Score interval of a proportion, without continuity correction.

    Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA 22.
    Stays within [0, 1] and keeps a width at 0 and at n successes; [0, 1] for n = 0, where nothing is known.

    Args:
        successes: Between 0 and n. Need not be whole: see `clustered_wilson`.
        n: Independent trials.
        confidence: Of the interval, two-sided.
    """
    if n <= 0:
        return Interval(0.0, 1.0)
    z = _z(confidence)
    p = successes / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(max(0.0, p * (1 - p)) / n + z * z / (4 * n * n))
    low = 0.0 if successes <= 0 else min(p, max(0.0, middle - half))
    high = 1.0 if successes >= n else max(p, min(1.0, middle + half))
    return Interval(low, high)


def clustered_wilson(clusters: Sequence[tuple[float, int]], confidence: float = CONFIDENCE) -> Interval:
    """Score interval of a proportion whose trials come in clusters.

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
    """Bootstrap interval of a mean over runs, whole clusters being drawn (Davison and Hinkley 1997, section 3.8).

    The *expanded* percentile interval (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 5.2,
    arXiv:1411.5279): the plain one is too narrow for few clusters by t against z and by sqrt((n-1)/n), and BCa mends
    skewness but not that narrowness. It never reaches beyond the means seen, so below about 10 clusters it is still
    too narrow. Where the cluster means do not vary the bootstrap knows nothing: see `constant_interval`.

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
    return _bootstrap(tuple(sorted(clusters)), confidence, least, most, seed)


# A suite with one agent asks for the same interval twice, and once more for a tag that all its cases have.
@lru_cache(maxsize=8)
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
    drawn = []
    for _ in range(resamples):
        both = sum(rng.choices(pairs, k=count))
        drawn.append(both.real / both.imag)
    drawn.sort()
    widened = math.sqrt(count / (count - 1)) * student_t(1 - (1 - confidence) / 2, count - 1)
    tail = NormalDist().cdf(-widened)
    low, high = _quantile(drawn, tail), _quantile(drawn, 1 - tail)
    return Interval(max(least, min(low, mean)), min(most, max(high, mean)))


def mean_interval(
    values: Sequence[float], confidence: float = CONFIDENCE, *, least: float = 0.0, most: float = 1.0
) -> Interval:
    """Student's t interval of the mean of independent values (trials of one case), cut to what is possible.

    Student 1908, "The probable error of a mean", Biometrika 6. Where the values do not vary: see `constant_interval`.

    Raises:
        ValueError: there is no value.
    """
    mean = fmean(values)
    if max(values) - min(values) < 1e-12:
        return constant_interval(mean, len(values), confidence, least=least, most=most)
    half = student_t(1 - (1 - confidence) / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(max(least, mean - half), min(most, mean + half))


def paired_interval(differences: Sequence[float], confidence: float = CONFIDENCE, *, reach: float = 1.0) -> Interval:
    """Bootstrap interval of a mean difference, whole pairs (cases) being drawn; as `clustered_mean_interval`.

    Args:
        differences: One for each case, between -`reach` and `reach`.
        confidence: Of the interval, two-sided.
        reach: The largest possible difference.

    Raises:
        ValueError: there is no difference.
    """
    pairs = [(difference, 1) for difference in differences]
    return clustered_mean_interval(pairs, confidence, least=-reach, most=reach)


def constant_interval(
    value: float, n: int, confidence: float = CONFIDENCE, *, least: float = 0.0, most: float = 1.0
) -> Interval:
    """Interval of a mean when all n values seen are the same; for 0 and 1 it is Clopper and Pearson's exact one.

    At most a share 1 - (alpha/2)^(1/n) of what was not seen can differ (Hanley and Lippman-Hand 1983, "If nothing
    goes wrong, is everything all right?", JAMA 249: the rule of three), and it can differ as far as `least` or `most`.
    """
    unseen = 1.0 if n <= 0 else 1 - ((1 - confidence) / 2) ** (1 / n)
    return Interval(value - unseen * (value - least), value + unseen * (most - value))


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that at least one of k trials passes, unbiased: 1 - C(n-c, k) / C(n, k).

    Chen et al. 2021, "Evaluating Large Language Models Trained on Code", arXiv:2107.03374, equation 1.

    Args:
        n: Trials made.
        c: Trials passed, 0 <= c <= n.
        k: 1 <= k <= n.

    Raises:
        ValueError: the numbers are not so.
    """
    _check(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """pass^k: chance that all of k trials pass, unbiased: C(c, k) / C(n, k).

    Yao et al. 2024, "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains", arXiv:2406.12045,
    section 3. Arguments and errors as for `pass_at_k`.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def mcnemar(better: int, worse: int) -> float:
    """Two-sided exact p-value of McNemar's test: twice the smaller binomial tail at 1/2, at most 1.

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
    """How many pairs must differ before the exact McNemar test can reach p < alpha at all: 6 for 0.05."""
    n = 1
    while mcnemar(n, 0) >= alpha:
        n += 1
    return n


def detectable_difference(differences: Sequence[float], confidence: float = CONFIDENCE, power: float = 0.8) -> float:
    """The smallest true mean difference that a paired sample like this one finds with the given power.

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


def _quantile(ordered: Sequence[float], p: float) -> float:
    """Linear between neighbours: type 7 of Hyndman and Fan 1996."""
    place = p * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"need 0 <= c <= n and 1 <= k <= n, have n={n}, c={c}, k={k}")
