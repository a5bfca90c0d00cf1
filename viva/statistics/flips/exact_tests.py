"""Exact tests of how many verdicts flipped; each after a published source."""

from __future__ import annotations

import math


def binomial_tail(count: int, trials: int, probability: float) -> float:
    """Return the chance of at least `count` successes in independent trials (Clopper and Pearson 1934, Biometrika 26).

    Args:
        count: Successes that were seen.
        trials: How many there were.
        probability: Of each, between 0 and 1.
    """
    if count <= 0:
        return 1.0
    if probability <= 0 or count > trials:
        return 0.0
    if probability >= 1:
        return 1.0
    odds = probability / (1 - probability)
    term = math.exp(
        math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
        + count * math.log(probability) + (trials - count) * math.log1p(-probability)
    )  # fmt: skip
    terms = []
    for number in range(count, trials + 1):
        terms.append(term)
        # Beyond the mean the terms fall faster and faster: the rest cannot change the sum.
        if number > trials * probability and term < 1e-18 * terms[0]:
            break
        term *= (trials - number) / (number + 1) * odds
    return min(1.0, math.fsum(terms))


def fisher_tail(count: int, trials: int, others: int, other_trials: int) -> float:
    """Return the chance that at least `count` of all successes fall to the first group if both have the same rate.

    Fisher's exact test, one-sided (Fisher 1935, "The Logic of Inductive Inference", J. Royal Statistical Society 98).

    Args:
        count: Successes in the first group.
        trials: Its size.
        others: Successes in the second group.
        other_trials: Its size.
    """
    successes, total = count + others, trials + other_trials
    whole = _log_choose(total, successes)
    terms = [
        math.exp(_log_choose(trials, number) + _log_choose(other_trials, successes - number) - whole)
        for number in range(count, min(successes, trials) + 1)
        if successes - number <= other_trials
    ]
    return min(1.0, math.fsum(terms))


def direction_test(better: int, worse: int, hits: float) -> float:
    """Return the two-sided p-value of a direction that no noise has.

    The chance that a flip is to the worse is 1/2 between two judgings by the same judge (McNemar 1947), `hits` if each
    verdict flips with the same chance, and between them if both happen; the largest p-value of these counts.

    Args:
        better: Flips to a better verdict.
        worse: Flips to a worse one.
        hits: The mean of what flipped from, between 0 (all misses) and 1 (all hits).
    """
    flips = better + worse
    worse_tail = binomial_tail(worse, flips, max(0.5, hits))
    better_tail = binomial_tail(better, flips, 1 - min(0.5, hits))
    return min(1.0, 2 * min(worse_tail, better_tail))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
