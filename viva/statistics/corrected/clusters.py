"""What corrected scores are reckoned from: weighted sums of labels and verdicts, one set for each case."""

from __future__ import annotations

from dataclasses import dataclass


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
    other_weight: float = 0.0
    """Of the points without a label."""
    other_judged: float = 0.0
    """Of these: what the judge calls hits."""

    def add_labelled(self, weight: float, *, truth: float, judged: float) -> None:
        """Add a point that people labelled."""
        self.weight += weight
        self.truth += weight * truth
        self.judged += weight * judged
        self.both += weight * truth * judged

    def add_other(self, weight: float, judged: float) -> None:
        """Add a point without a label."""
        self.other_weight += weight
        self.other_judged += weight * judged

    def add(self, other: CaseSums) -> None:
        """Add the points of other runs of the same case."""
        self.weight += other.weight
        self.truth += other.truth
        self.judged += other.judged
        self.both += other.both
        self.other_weight += other.other_weight
        self.other_judged += other.other_judged


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """Holds a corrected score with its 95 % interval; the interval is [0, 1] if nothing can be said."""

    value: float
    low: float
    high: float
    trust: float = 1.0
    """How much the judge's verdicts count: the lambda of PPI++; 0 if only the labels do."""
