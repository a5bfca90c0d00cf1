"""Clustered prediction-powered inference of a mean score, with the weight of the judge chosen by PPI++.

Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference", arXiv:2311.01453. The corrected
mean is that of the labels, plus lambda times the difference between the judge's mean over the points without a label
and its mean over those with one. It has no bias, whatever the judge is like; lambda, between 0 and 1, minimizes the
variance. A judge that is no better than chance gets a lambda near 0, and the labels alone count.

Three things adapt it to few labelled cases, each chosen by simulation (`python -m bench corrected`):

- lambda for a case is estimated without that case (cross-fitting); otherwise, it fits the noise of the sample, which
  biases the mean and makes the variance too small;
- the variance is that of whole cases, those with labels and the others apart, and Student's t has the degrees of
  freedom of Satterthwaite 1946, "An Approximate Distribution of Estimates of Variance Components", Biometrics 2;
- the interval is Wilson's at the effective number of labels, p (1 - p) / variance, as `clustered_wilson` does it:
  scores near 1 are skewed, and a symmetric interval would be too optimistic there.

Runs in which the agent failed earn nothing, which is known without labels: the mean over all runs is that of the
completed ones times their share, and its variance has that of the share in it (linearized, by case).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from viva.statistics.corrected.clusters import CaseSums, Completed, CorrectedMean
from viva.statistics.intervals import CONFIDENCE
from viva.statistics.student_t import satterthwaite, student_t


class _Influence(NamedTuple):
    """What one labelled case adds to the mean of the labels, and to the difference that lambda is multiplied by."""

    own: float
    judge: float


def prediction_powered(cases: Sequence[CaseSums], confidence: float = CONFIDENCE) -> CorrectedMean:
    """Return the corrected mean over all points of some cases.

    Args:
        cases: At least three with labels.
        confidence: Of the interval, two-sided.

    Raises:
        ValueError: fewer than three cases have labels.
    """
    labelled = [case for case in cases if case.weight > 0]
    others = [case for case in cases if not case.weight]
    count = len(labelled)
    if count < 3:
        raise ValueError("a corrected mean requires labels of at least three cases")
    completed = Completed.of(cases)
    size = math.fsum(case.weight for case in labelled)
    truth = math.fsum(case.truth for case in labelled) / size
    judged = math.fsum(case.judged for case in labelled) / size
    rest = math.fsum(case.other_weight for case in cases)
    elsewhere = math.fsum(case.other_judged for case in cases) / rest if rest else judged
    parts = [_influence(case, truth, judged, elsewhere, size, rest) for case in labelled]
    spread = _spread([_beyond(case, elsewhere, rest) for case in others])
    weights = _cross_fitted(parts, spread) if rest else [0.0] * count
    shift = [weight * (case.judged - elsewhere * case.weight) for weight, case in zip(weights, labelled, strict=True)]
    trust = math.fsum(weights) / count
    mean = min(1.0, max(0.0, truth - math.fsum(shift) / size))
    own = _spread(
        [
            completed.influence(case, mean, part.own + weight * part.judge)
            for case, part, weight in zip(labelled, parts, weights, strict=True)
        ]
    )
    other = _spread([completed.influence(case, mean, trust * _beyond(case, elsewhere, rest)) for case in others])
    freedom = satterthwaite((own, count - 1), (other, len(others) - 1))
    value = completed.share * mean
    low, high = _wilson(value, own + other, count, student_t(1 - (1 - confidence) / 2, freedom))
    return CorrectedMean(value, low, high, trust)


def _influence(case: CaseSums, truth: float, judged: float, elsewhere: float, size: float, rest: float) -> _Influence:
    own = (case.truth - truth * case.weight) / size
    return _Influence(own, _beyond(case, elsewhere, rest) - (case.judged - judged * case.weight) / size)


def _beyond(case: CaseSums, elsewhere: float, rest: float) -> float:
    """Return what the points of a case without a label add to the judge's mean over all such points."""
    return (case.other_judged - elsewhere * case.other_weight) / rest if rest else 0.0


def _spread(influences: Sequence[float]) -> float:
    """Return the variance of a sum from the influences of its clusters."""
    count = len(influences)
    return count / max(1, count - 1) * math.fsum(each * each for each in influences)


def _cross_fitted(parts: Sequence[_Influence], spread: float) -> list[float]:
    """Return the lambda of each labelled case, estimated from all others."""
    factor = len(parts) / (len(parts) - 1)
    product = math.fsum(part.own * part.judge for part in parts)
    square = math.fsum(part.judge**2 for part in parts)
    weights = []
    for part in parts:
        along = product - factor * part.own * part.judge
        across = factor * (square - factor * part.judge**2) + spread
        weights.append(min(1.0, max(0.0, -factor * along / across)) if across > 0 else 0.0)
    return weights


def _wilson(value: float, variance: float, count: int, t: float) -> tuple[float, float]:
    """Return Wilson's interval at the effective number of labels, which is at least that of the labelled cases."""
    size = float(count)
    if 0 < value < 1 and variance > 1e-15:
        size = max(size, value * (1 - value) / variance)
    middle = (value + t * t / (2 * size)) / (1 + t * t / size)
    half = t / (1 + t * t / size) * math.sqrt(value * (1 - value) / size + t * t / (4 * size * size))
    return min(value, max(0.0, middle - half)), max(value, min(1.0, middle + half))
