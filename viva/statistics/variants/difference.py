"""Tests whether the exams with one persona or strategy differ from those with the others by more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from viva.statistics.clustered import paired_interval
from viva.statistics.groups import FEWEST_CASES
from viva.statistics.intervals import CONFIDENCE, Interval


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """Holds the mean score with one variant minus the mean score with the others, paired by case."""

    value: float
    """Difference, averaged over the cases that have both."""
    interval: Interval
    """Bootstrap interval over cases, at a confidence that allows for the number of variants."""
    cases: int
    clear: bool
    """Whether the interval excludes 0: the difference is more than chance."""


def confidence_of(*variants: int) -> float:
    """Return the confidence of each of several intervals, so that all hold together with 95 %.

    Bonferroni's correction: Dunn 1961, "Multiple Comparisons Among Means", JASA 56. Of two variants, each is compared
    with the other, which is one comparison.

    Args:
        variants: The number of variants in each dimension whose intervals are to hold together.
    """
    comparisons = sum(1 if each <= 2 else each for each in variants)
    return 1 - (1 - CONFIDENCE) / max(comparisons, 1)


def differences(
    scores: Mapping[str, Mapping[str, float]], confidence: float | None = None
) -> dict[str, VariantDifference | None]:
    """Compare each variant with the others over the cases that both have.

    The unit is the case: in each, the mean score with the variant is compared with the mean over the other variants,
    and whole cases are drawn (see `viva.statistics.clustered.paired_interval`).

    Args:
        scores: By variant, then case: the mean score of the trials that count.
        confidence: Confidence of each interval; None for that of these comparisons alone.

    Returns:
        By variant; None where fewer than `FEWEST_CASES` cases have both.
    """
    if confidence is None:
        confidence = confidence_of(len(scores))
    found: dict[str, VariantDifference | None] = {}
    for name, own in scores.items():
        pairs = []
        for case, score in own.items():
            others = [each[case] for other, each in scores.items() if other != name and case in each]
            if others:
                pairs.append(score - fmean(others))
        found[name] = _difference(pairs, confidence) if len(pairs) >= FEWEST_CASES else None
    return found


def _difference(pairs: Sequence[float], confidence: float) -> VariantDifference:
    interval = paired_interval(pairs, confidence)
    return VariantDifference(fmean(pairs), interval, len(pairs), clear=interval.low > 0 or interval.high < 0)
