"""The correction for a binary judge with measured sensitivity and specificity.

Rogan and Gladen 1978, "Estimating Prevalence from the Results of a Screening Test", American Journal of Epidemiology
107; for judges: Lee et al. 2025, "How to Correctly Report LLM-as-a-Judge Evaluations", arXiv:2511.21140. The corrected
score is (p + specificity - 1) / (sensitivity + specificity - 1), with p the share that the judge calls hits.

Its interval includes what is unknown of sensitivity and specificity. It is Fieller's (1954, "Some Problems in Interval
Estimation", J. Royal Statistical Society B 16) and not that of the delta method: if the judge is hardly better than
chance, the divisor is near 0, and an interval from the delta method misses the truth far too often. Fieller's becomes
very wide, and where the divisor could be 0, there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from viva.statistics.corrected.clusters import CaseSums, CorrectedMean
from viva.statistics.intervals import CONFIDENCE
from viva.statistics.student_t import student_t


@dataclass(frozen=True, slots=True)
class JudgeAccuracy:
    """Holds how often a judge recognizes hits and misses, weighted as the points are."""

    sensitivity: float
    """The share of true hits that it calls hits."""
    specificity: float
    """The share of true misses that it calls misses."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Holds a ratio of two estimates, the variances of both, and their covariance."""

    top: float
    bottom: float
    top_variance: float
    bottom_variance: float
    covariance: float


def accuracy_of(cases: Sequence[CaseSums]) -> JudgeAccuracy | None:
    """Return the judge's accuracy on the labelled points; None if people found no hit there, or no miss."""
    hits = math.fsum(case.truth for case in cases)
    misses = math.fsum(case.weight - case.truth for case in cases)
    if hits <= 0 or misses <= 1e-12:
        return None
    wrong = math.fsum(case.judged - case.both for case in cases)
    return JudgeAccuracy(math.fsum(case.both for case in cases) / hits, 1 - wrong / misses)


def rogan_gladen(
    cases: Sequence[CaseSums], labelled: Sequence[CaseSums] | None = None, confidence: float = CONFIDENCE
) -> CorrectedMean | None:
    """Return the corrected mean over all points of some cases.

    Args:
        cases: What is corrected.
        labelled: Other runs, on which the judge's accuracy was measured, at least two with labels; None if points of
            `cases` are labelled.
        confidence: Of the interval, two-sided.

    Returns:
        None if the judge is not shown to be better than chance, so that nothing can be corrected.
    """
    measured = cases if labelled is None else labelled
    accuracy = accuracy_of(measured)
    count = sum(case.weight > 0 for case in measured)
    if accuracy is None or count < 2 or not cases:
        return None
    false = 1 - accuracy.specificity
    hits = math.fsum(case.truth for case in measured)
    misses = math.fsum(case.weight - case.truth for case in measured)
    size = math.fsum(case.weight + case.other_weight for case in cases)
    share = math.fsum(case.judged + case.other_judged for case in cases) / size
    tops = [(case.judged + case.other_judged - share * (case.weight + case.other_weight)) / size for case in cases]
    of_hits = [(case.both - accuracy.sensitivity * case.truth) / hits for case in measured]
    of_misses = [(case.judged - case.both - false * (case.weight - case.truth)) / misses for case in measured]
    if labelled is None:
        tops = [top - of_miss for top, of_miss in zip(tops, of_misses, strict=True)]
        bottoms = [of_hit - of_miss for of_hit, of_miss in zip(of_hits, of_misses, strict=True)]
    else:
        # Cases of both kinds vary for themselves.
        bottoms = [*(0.0 for _ in cases), *(a - b for a, b in zip(of_hits, of_misses, strict=True))]
        tops = [*tops, *(-of_miss for of_miss in of_misses)]
    factor = count / (count - 1)
    ratio = Ratio(
        share - false,
        accuracy.sensitivity - false,
        factor * math.fsum(top * top for top in tops),
        factor * math.fsum(bottom * bottom for bottom in bottoms),
        factor * math.fsum(top * bottom for top, bottom in zip(tops, bottoms, strict=True)),
    )
    return fieller(ratio, student_t(1 - (1 - confidence) / 2, count - 1))


def fieller(ratio: Ratio, t: float) -> CorrectedMean | None:
    """Return a ratio within [0, 1] with Fieller's interval; None if the divisor could be 0 or is negative."""
    square = ratio.bottom**2 - t * t * ratio.bottom_variance
    if ratio.bottom <= 0 or square <= 0:
        return None
    cross = ratio.top * ratio.bottom - t * t * ratio.covariance
    constant = ratio.top**2 - t * t * ratio.top_variance
    root = math.sqrt(max(0.0, cross * cross - square * constant))
    low, value, high = (cross - root) / square, ratio.top / ratio.bottom, (cross + root) / square
    low, value, high = (min(1.0, max(0.0, each)) for each in (low, value, high))
    return CorrectedMean(value, min(low, value), max(high, value))
