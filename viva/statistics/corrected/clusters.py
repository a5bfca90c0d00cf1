"""What corrected scores are reckoned from: weighted sums of labels and verdicts, one set for each case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from viva.statistics.clustered import clustered_wilson


@dataclass(slots=True)
class CaseSums:
    """Holds the sums of one case's points; the weight of a point is its share of its run's score.

    Trials of one case succeed and fail together, and so do the judge's mistakes in them: the case is the unit of
    independence, as for the intervals of raw scores.
    """

    weight: float = 0.0
    """Of the points that people labelled."""
    truth: float = 0.0
    """Of these: what people call hits."""
    judged: float = 0.0
    """Of these: what the judge calls hits."""
    both: float = 0.0
    """Of these: what both call hits."""
    hits: int = 0
    """Labelled points that people call hits."""
    misses: int = 0
    """Labelled points that people call misses."""
    other_weight: float = 0.0
    """Of the points without a label."""
    other_judged: float = 0.0
    """Of these: what the judge calls hits."""
    failed: float = 0.0
    """Of the points of runs in which the agent failed: they earn nothing, whoever judges them. In no other sum."""

    def add_labelled(self, weight: float, *, truth: float, judged: float) -> None:
        """Add a point that people labelled."""
        self.weight += weight
        self.truth += weight * truth
        self.judged += weight * judged
        self.both += weight * truth * judged
        self.hits += truth > 0 and weight > 0
        self.misses += truth <= 0 and weight > 0

    def add_other(self, weight: float, judged: float) -> None:
        """Add a point without a label."""
        self.other_weight += weight
        self.other_judged += weight * judged

    def add_failed(self, weight: float) -> None:
        """Add the points of a run in which the agent failed."""
        self.failed += weight

    @property
    def whole(self) -> float:
        """Return the weight of all points."""
        return self.weight + self.other_weight + self.failed

    def add(self, other: CaseSums) -> None:
        """Add the points of other runs of the same case."""
        self.weight += other.weight
        self.truth += other.truth
        self.judged += other.judged
        self.both += other.both
        self.hits += other.hits
        self.misses += other.misses
        self.other_weight += other.other_weight
        self.other_judged += other.other_judged
        self.failed += other.failed


@dataclass(frozen=True, slots=True)
class Completed:
    """Holds how many of the points are of runs that the agent completed.

    The others earn nothing, which is known without labels: the mean over all runs is that over the completed ones times
    their share.
    """

    share: float
    size: float
    """The weight of all points."""

    @classmethod
    def of(cls, cases: Sequence[CaseSums]) -> Completed:
        """Return the share over some cases."""
        size = math.fsum(case.whole for case in cases)
        return cls(1 - math.fsum(case.failed for case in cases) / size, size)

    def influence(self, case: CaseSums, mean: float, own: float) -> float:
        """Return what a case adds to the mean over all runs, beyond that mean; the share varies by case, too.

        Args:
            case: The case.
            mean: The mean over the completed runs.
            own: What the case adds to that.
        """
        return self.share * own + mean * ((1 - self.share) * case.whole - case.failed) / self.size


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """Holds a corrected score with its 95 % interval; the interval is [0, 1] if nothing can be said."""

    value: float
    low: float
    high: float
    trust: float = 1.0
    """How much the judge's verdicts count: the lambda of PPI++; 0 if only the labels do."""


def nothing_completed(cases: Sequence[CaseSums]) -> CorrectedMean | None:
    """Return the mean score of an agent that failed in every run, which no judge can change; None of any other."""
    if not cases or any(case.failed < case.whole for case in cases):
        return None
    interval = clustered_wilson([(0, round(case.failed)) for case in cases])
    return CorrectedMean(0.0, 0.0, interval.high)
