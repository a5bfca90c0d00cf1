"""How much the scores of the trials of one case vary, estimated from few trials of many cases."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

PRIOR_TRIALS = 1.0
"""Trials that are added to all of an agent, with the largest variance a score can have: few equal scores, such as 20
passes, do not show that a failure is impossible. With one, intervals hold the truth in about 95 % of
simulated suites."""
LARGEST = 0.25
BORROWED = 2.0
"""Trials' worth of the agent's mean variance in that of each case: two equal scores do not show that a case is
stable."""


def variances(scores: Sequence[Sequence[float]], agents: Sequence[int]) -> tuple[list[float], int]:
    """Return the variance of a trial's score in each stratum (one case with one agent), and the degrees of freedom.

    The variance of a stratum is a mean of its own and of that of all strata of its agent, weighted by trials, as in
    empirical Bayes estimates. If no stratum has two trials, the variance between cases stands for it, which is larger.

    Args:
        scores: Of each stratum, at least one.
        agents: The agent of each stratum.
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
        pooled = (sum(squares) + LARGEST * PRIOR_TRIALS) / (free + PRIOR_TRIALS)
        freedom += free
        prior = PRIOR_TRIALS / len(places)
        for i, place in enumerate(places):
            own = len(scores[place]) - 1 + prior
            mixed = (squares[i] + LARGEST * prior + BORROWED * pooled) / (own + BORROWED) if repeated else pooled
            found[place] = mixed
    return found, freedom
