"""The correction for a binary judge with measured sensitivity and specificity.

Rogan and Gladen 1978, "Estimating Prevalence from the Results of a Screening Test", American Journal of Epidemiology
107; for judges: Lee et al. 2025, "How to Correctly Report LLM-as-a-Judge Evaluations", arXiv:2511.21140. The corrected
score is (p + specificity - 1) / (sensitivity + specificity - 1), with p the share that the judge calls hits.

Its interval includes what is unknown of sensitivity and specificity. It is Fieller's (1954, "Some Problems in Interval
Estimation", J. Royal Statistical Society B 16) and not that of the delta method: if the judge is hardly better than
chance, the divisor is near 0, and an interval from the delta method misses the truth far too often. Fieller's becomes
very wide, and where the divisor could be 0, there is none.

The variance is that of whole cases, those with labels and the others apart, with Satterthwaite's degrees of freedom. A
share that did not vary would have a variance of 0 and count as known exactly, such as the specificity of a judge that
was right on all labelled misses. How far it may differ widens the end of the interval that it moves (the method of
variance estimates recovery: Zou and Donner 2008, "Construction of confidence limits about effect measures", Statistics
in Medicine 27).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

from viva.records.wording import counted
from viva.statistics.corrected.clusters import CaseSums, Completed, CorrectedMean
from viva.statistics.groups import FEWEST_CASES
from viva.statistics.intervals import CONFIDENCE, constant_interval
from viva.statistics.student_t import satterthwaite, student_t


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

    def widened(self, share: float, hits: float, misses: float, completed: float) -> Ratio:
        """Return the ratio with the variances of what did not vary.

        Args:
            share: The standard error of the share that the judge calls hits.
            hits: That of the sensitivity.
            misses: That of the specificity.
            completed: The share of the completed runs.
        """
        return replace(
            self,
            top_variance=self.top_variance + completed**2 * (share**2 + misses**2),
            bottom_variance=self.bottom_variance + hits**2 + misses**2,
            covariance=self.covariance + completed * misses**2,
        )


class _RatioPart(NamedTuple):
    """What one case adds to the dividend, and to the divisor."""

    top: float
    bottom: float


class _Reach(NamedTuple):
    """How far a share that did not vary may be below what was seen, and above; 0 for one that varied."""

    down: float
    up: float


@dataclass(frozen=True, slots=True)
class _Measured:
    """Holds the accuracy with what each case adds to it: to the sensitivity, and to what is lacking in specificity."""

    accuracy: JudgeAccuracy
    hits: list[float]
    misses: list[float]


def accuracy_of(cases: Sequence[CaseSums]) -> JudgeAccuracy | None:
    """Return the judge's accuracy on the labelled points; None if people found no hit there, or no miss."""
    hits = math.fsum(case.truth for case in cases)
    misses = math.fsum(case.weight - case.truth for case in cases)
    if hits <= 0 or misses <= 1e-12:
        return None
    wrong = math.fsum(case.judged - case.both for case in cases)
    return JudgeAccuracy(math.fsum(case.both for case in cases) / hits, 1 - wrong / misses)


def too_few(cases: Sequence[CaseSums]) -> str:
    """Return in words that too few cases show how the judge treats hits, or misses; empty if they are enough."""
    hits, misses = _labelled_cases(cases)
    if min(hits, misses) >= FEWEST_CASES:
        return ""
    few, kind = (misses, "misses") if misses <= hits else (hits, "hits")
    where = f"only {counted(few, 'case')}" if few else "no case"
    return f"people found {kind} in {where}; at least {FEWEST_CASES} are needed to tell how the judge treats {kind}"


def _labelled_cases(cases: Sequence[CaseSums]) -> tuple[int, int]:
    """Return how many cases have a point that people call a hit, and a miss."""
    return sum(case.hits > 0 for case in cases), sum(case.misses > 0 for case in cases)


def rogan_gladen(
    cases: Sequence[CaseSums], labelled: Sequence[CaseSums] | None = None, confidence: float = CONFIDENCE
) -> CorrectedMean | None:
    """Return the corrected mean over all points of some cases.

    Args:
        cases: What is corrected.
        labelled: Other runs, on which the judge's accuracy was measured; None if points of `cases` are labelled.
        confidence: Of the interval, two-sided.

    Returns:
        None if the judge is not shown to be better than chance, so that nothing can be corrected, if `too_few` cases
        show its accuracy, or if the agent completed no run.
    """
    measured = _measure(cases if labelled is None else labelled)
    size = math.fsum(case.weight + case.other_weight for case in cases)
    if measured is None or size <= 0:
        return None
    hit, false = measured.accuracy.sensitivity, 1 - measured.accuracy.specificity
    if hit <= false:
        return None
    share = math.fsum(case.judged + case.other_judged for case in cases) / size
    own = [(case.judged + case.other_judged - share * (case.weight + case.other_weight)) / size for case in cases]
    completed = Completed.of(cases)
    tops = [completed.influence(case, share - false, each) for case, each in zip(cases, own, strict=True)]
    groups = _groups(cases, tops, measured, completed.share, apart=labelled is not None)
    ratio = _ratio(completed.share * (share - false), hit - false, groups)
    freedom = _freedom(ratio, groups)
    if labelled is None:
        points = cases
        # Only in points without a label may the judge err more often than was seen: of the others, it is known.
        unknown = math.fsum(case.other_weight for case in cases) / size
    else:
        points, unknown = labelled, 1.0
        freedom = min(freedom, len(groups[0]) - 1)
    t = student_t(1 - (1 - confidence) / 2, freedom)
    count = sum(case.weight + case.other_weight > 0 for case in cases)
    judged = _reach(share, own, (1 - constant_interval(1.0, count, confidence).low) / t)
    # A judge errs alike in all trials of a case, so that the points of a case are one piece of evidence.
    with_hits, with_misses = _labelled_cases(points)
    hits = _reach(hit, measured.hits, unknown * _unseen(with_hits, confidence) / t)
    misses = _reach(1 - false, measured.misses, unknown * _unseen(with_misses, confidence) / t)
    # A lower specificity makes the score lower, a lower sensitivity makes it higher.
    low = fieller(ratio.widened(judged.down, hits.up, misses.down, completed.share), t)
    high = fieller(ratio.widened(judged.up, hits.down, misses.up, completed.share), t)
    return None if low is None or high is None else CorrectedMean(low.value, low.low, high.high)


def _measure(cases: Sequence[CaseSums]) -> _Measured | None:
    accuracy = accuracy_of(cases)
    if accuracy is None or too_few(cases):
        return None
    hits = math.fsum(case.truth for case in cases)
    misses = math.fsum(case.weight - case.truth for case in cases)
    false = 1 - accuracy.specificity
    return _Measured(
        accuracy,
        [(case.both - accuracy.sensitivity * case.truth) / hits for case in cases],
        [(case.judged - case.both - false * (case.weight - case.truth)) / misses for case in cases],
    )


def _groups(
    cases: Sequence[CaseSums], tops: Sequence[float], measured: _Measured, completed: float, *, apart: bool
) -> tuple[list[_RatioPart], list[_RatioPart]]:
    """Return what cases add that are labelled, and others: two samples that vary for themselves.

    Args:
        cases: What is corrected.
        tops: What each of them adds to the share that the judge calls hits.
        measured: What each case adds to the judge's accuracy.
        completed: The share of the completed runs.
        apart: Whether the accuracy was measured on other cases.
    """
    errors = [
        _RatioPart(-completed * miss, hit - miss) for hit, miss in zip(measured.hits, measured.misses, strict=True)
    ]
    if apart:
        return errors, [_RatioPart(top, 0.0) for top in tops]
    both: list[_RatioPart] = []
    others: list[_RatioPart] = []
    for case, top, error in zip(cases, tops, errors, strict=True):
        (both if case.weight else others).append(_RatioPart(top + error.top, error.bottom))
    return both, others


def _ratio(top: float, bottom: float, groups: Sequence[Sequence[_RatioPart]]) -> Ratio:
    pairs = [(len(group) / max(1, len(group) - 1), part) for group in groups for part in group]
    return Ratio(
        top,
        bottom,
        math.fsum(factor * part.top * part.top for factor, part in pairs),
        math.fsum(factor * part.bottom * part.bottom for factor, part in pairs),
        math.fsum(factor * part.top * part.bottom for factor, part in pairs),
    )


def _freedom(ratio: Ratio, groups: tuple[Sequence[_RatioPart], Sequence[_RatioPart]]) -> int:
    """Return Satterthwaite's degrees of freedom of a ratio."""
    value = ratio.top / ratio.bottom
    spreads = [
        (
            len(group) / max(1, len(group) - 1) * math.fsum((part.top - value * part.bottom) ** 2 for part in group),
            len(group) - 1,
        )
        for group in groups
    ]
    return satterthwaite(*spreads)


def _reach(share: float, influences: Sequence[float], unseen: float) -> _Reach:
    """Return how far a share may differ from what was seen of it; not at all if it varied.

    Args:
        share: The share.
        influences: What each case adds to it.
        unseen: How much of what was not seen may differ.
    """
    varied = math.fsum(each * each for each in influences) > 1e-15
    return _Reach(0.0, 0.0) if varied else _Reach(unseen * share, unseen * (1 - share))


def _unseen(cases: int, confidence: float) -> float:
    """Return the share of further cases that may differ if all of these are alike.

    Jeffreys' limit, by the gamma distribution that it approaches (Brown, Cai and DasGupta 2001, "Interval Estimation
    for a Binomial Proportion", Statistical Science 16). By simulation, Clopper and Pearson's is too wide here.
    """
    z = NormalDist().inv_cdf(1 - (1 - confidence) / 4)
    return 1 - math.exp(-z * z / 2 / cases)


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
