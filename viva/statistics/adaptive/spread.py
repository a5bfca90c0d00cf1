"""How much the scores of the trials of one case vary, estimated from few trials of many cases."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

PRIOR_TRIALS = 1.0
"""Trials that are added to all of an agent, with a variance that is large for its scores: few equal scores, such as 20
passes, do not show that a failure is impossible. With one, intervals hold the truth in about 95 % of
simulated suites."""
LARGEST = 0.25
"""The variance of a score that is 0 or 1 with equal probability; no score in [0, 1] varies more."""
BORROWED = 2.0
"""Trials' worth of the agent's mean variance in that of each case: two equal scores do not show that a case is
stable."""


def variances(
    scores: Sequence[Sequence[float]], agents: Sequence[int], *, widest: bool = False
) -> tuple[list[float], int]:
    """Return the variance of a trial's score in each stratum (one case with one agent), and the degrees of freedom.

    The variance of a stratum is a mean of its own and of that of all strata of its agent, weighted by trials, as in
    empirical Bayes estimates. If no stratum has two trials, the variance between cases stands for it, which is larger.

    Args:
        scores: Of each stratum, at least one.
        agents: The agent of each stratum.
        widest: Whether the variance that is added is always the largest possible one. Without it, it is as large as the
            scores of this agent can have: what a stop does not depend on need not be wider than that.
    """
    found = [0.0] * len(scores)
    freedom = 0
    for agent in dict.fromkeys(agents):
        places = [place for place, each in enumerate(agents) if each == agent]
        means = [fmean(scores[place]) for place in places]
        squares = [
            sum((score - mean) ** 2 for score in scores[place]) for place, mean in zip(places, means, strict=True)
        ]
        free = sum(len(scores[place]) - 1 for place in places)
        repeated = free > 0
        if not repeated:
            middle = fmean(means)
            squares, free = [sum((mean - middle) ** 2 for mean in means)], len(means) - 1
        seen = 1.0 if widest or not repeated else _coarseness([scores[place] for place in places])
        largest = LARGEST * seen
        pooled = (sum(squares) + largest * PRIOR_TRIALS) / (free + PRIOR_TRIALS)
        freedom += free
        prior = PRIOR_TRIALS / len(places)
        for i, place in enumerate(places):
            own = len(scores[place]) - 1 + prior
            mixed = (squares[i] + largest * prior + BORROWED * pooled) / (own + BORROWED) if repeated else pooled
            found[place] = mixed
    return found, freedom


def _coarseness(scores: Sequence[Sequence[float]]) -> float:
    """Return how much the scores of cases vary, relative to the most that scores with the same mean can: 1 for passes.

    A score that is the share of five points hit varies less than a pass or a failure, so what is added must vary less.
    The ratio is that of the cases whose scores differ, and one failure in two is added to it: as long as all scores of
    each case agree, it is 1. For a mean m of n scores, m (1 - m) falls short of its expectation by variance / n.

    Args:
        scores: Of each case of one agent.
    """
    seen = most = LARGEST
    for each in scores:
        number, mean = len(each), fmean(each)
        squares = sum((score - mean) ** 2 for score in each)
        if squares > 1e-12:
            seen += squares
            most += (number - 1) * mean * (1 - mean) + squares / number
    return seen / most
