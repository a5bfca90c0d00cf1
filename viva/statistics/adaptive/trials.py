"""Plans the trials of the next batch: how many of each case, from the results of earlier batches alone.

Each batch tries every case at least once, and those whose scores vary most often (Neyman 1934, "On the two different
aspects of the representative method", JRSS 97): the variance of the mean of a batch is then the smallest possible.
"""

from __future__ import annotations

import math

from viva.statistics.adaptive.evidence import BatchEvidence, Strata
from viva.statistics.adaptive.until import Aim, Until

FIRST_RUNS = 24
"""Minimum number of runs of each agent in the first batch: fewer say little about how scores vary."""
GROWTH = 1.6
"""Of the information from batch to batch, at most, if something may be decided after each."""
FASTEST = 2.5
"""The same if only the width counts: a first guess of how scores vary may be far too high, and so would the runs be."""
BEYOND = 1.1
"""Information that is aimed at, relative to what is needed: what is seen can be a little less."""


def first_batch(strata: Strata) -> list[int]:
    """Return the number of trials of each stratum in the first batch: the same for all."""
    return [max(1, math.ceil(FIRST_RUNS / strata.cases))] * len(strata.weights)


def next_batch(until: Until, strata: Strata, seen: BatchEvidence) -> list[int]:
    """Return the number of trials of each stratum in the next batch, at least 1 each.

    It depends on how scores vary and how much is known, never on whether the score is near the decision: so a batch
    cannot be chosen to reach one.
    """
    if not seen.repeated:
        return [1] * len(strata.weights)  # the variance between cases says nothing about where trials are needed
    needed, now = until.information, seen.information
    if until.aim is Aim.CI:
        aimed = min(needed * BEYOND, now * FASTEST) if now < needed else now * 1.3
    else:
        aimed = min(needed * BEYOND, max(now * GROWTH, now + needed / 10))
    shares = [abs(weight) * math.sqrt(spread) for weight, spread in zip(strata.weights, seen.spread, strict=True)]
    runs = sum(shares) * (
        aimed - now
    )  # with so many runs for each share, the batch adds the information that is missing
    return [max(1, round(runs * share)) for share in shares]


def limited(numbers: list[int], most: int) -> list[int] | None:
    """Return a batch of at most so many runs, in about the same proportions; None if not every stratum can be tried."""
    total = sum(numbers)
    if total <= most:
        return numbers
    if most < len(numbers):
        return None
    extra = most - len(numbers)
    wanted = [number - 1 for number in numbers]
    return [1 + want * extra // sum(wanted) for want in wanted]
