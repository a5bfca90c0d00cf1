"""How right a judge is: accuracy, and for each label how often it is right to say it and how often it finds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from viva.statistics.agreement.kappa import share_interval
from viva.statistics.agreement.ratings import Pair, in_order
from viva.statistics.intervals import CONFIDENCE, Interval


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """Says how right a judge is about one label."""

    label: str
    true: int
    """Items of which it is true."""
    said: int
    """Items of which the judge said it."""
    both: int
    precision: float | None
    """Of the items of which the judge said it, the share of which it is true; None if it never said it."""
    precision_interval: Interval
    recall: float | None
    """Of the items of which it is true, the share of which the judge said it; None if it is true of none."""
    recall_interval: Interval


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Says how right a judge is."""

    items: int
    right: int
    share: float | None
    share_interval: Interval
    labels: tuple[LabelFigures, ...]


def accuracy_of(pairs: Sequence[Pair], confidence: float = CONFIDENCE) -> Accuracy:
    """Return how right a judge is, with Wilson intervals that hold when the items of a cluster go together.

    Args:
        pairs: The true label of each item, and what the judge said.
        confidence: Of the intervals, two-sided.
    """
    right = [(pair.cluster, pair.first == pair.second) for pair in pairs]
    count = sum(each for _, each in right)
    labels = in_order({label for pair in pairs for label in (pair.first, pair.second)})
    return Accuracy(
        items=len(pairs),
        right=count,
        share=count / len(pairs) if pairs else None,
        share_interval=share_interval(right, confidence),
        labels=tuple(_figures(label, pairs, confidence) for label in labels),
    )


def confusion_of(pairs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    """Return how many items have each true label and each label of the judge: `counts[true][said]`."""
    counts = Counter((pair.first, pair.second) for pair in pairs)
    said = in_order({second for _, second in counts})
    return {
        true: {each: counts[true, each] for each in said if counts[true, each]}
        for true in in_order({first for first, _ in counts})
    }


def _figures(label: str, pairs: Sequence[Pair], confidence: float) -> LabelFigures:
    said = [(pair.cluster, pair.first == label) for pair in pairs if pair.second == label]
    true = [(pair.cluster, pair.second == label) for pair in pairs if pair.first == label]
    both = sum(right for _, right in said)
    return LabelFigures(
        label=label,
        true=len(true),
        said=len(said),
        both=both,
        precision=both / len(said) if said else None,
        precision_interval=share_interval(said, confidence),
        recall=both / len(true) if true else None,
        recall_interval=share_interval(true, confidence),
    )
