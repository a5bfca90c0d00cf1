"""Krippendorff's alpha: agreement of any number of raters, with gaps. Requires the packages of `vivavoce[stats]`."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from viva.errors import SetupError
from viva.statistics.agreement.ratings import Ratings
from viva.statistics.intervals import CONFIDENCE, Interval, constant_interval
from viva.statistics.student_t import student_t

EXTRA = "Krippendorff's alpha requires further packages: pip install 'vivavoce[stats]'."
_SEED = 20241
_RESAMPLES, _FEWEST_RESAMPLES, _ITEMS = 1_000, 200, 1_000_000


@dataclass(frozen=True, slots=True)
class Alpha:
    """Says how far raters agree: 1 is perfect agreement, 0 what chance gives, below 0 systematic disagreement."""

    alpha: float | None
    """None if it is not defined: no item has two labels, or only one label occurs."""
    interval: Interval | None
    items: int
    """Items with at least two labels; the others say nothing about agreement."""


def is_available() -> bool:
    """Return whether the packages that alpha requires are installed."""
    return all(importlib.util.find_spec(name) for name in ("krippendorff", "numpy"))


def krippendorff_alpha(ratings: Ratings, order: Sequence[str] | None = None, confidence: float = CONFIDENCE) -> Alpha:
    """Return Krippendorff's alpha of all raters with its interval.

    Krippendorff 2004, "Content Analysis", chapter 11. The interval is a bootstrap over whole clusters of items with a
    fixed seed, expanded for few clusters (Hesterberg 2015, arXiv:1411.5279, section 5.2).

    Args:
        ratings: The labels.
        order: The labels from the lowest to the highest if they are ordinal; None if they are nominal.
        confidence: Of the interval, two-sided.

    Raises:
        SetupError: the packages are not installed.
        ValueError: a label is not in `order`.
    """
    try:
        import numpy as np
        from krippendorff import alpha
    except ImportError as error:
        raise SetupError(EXTRA) from error
    labels = list(order or ratings.labels)
    places = {label: place for place, label in enumerate(labels)}
    if unknown := [label for label in ratings.labels if label not in places]:
        raise ValueError(f"labels without a place in the order: {', '.join(unknown)}")
    rows, clusters = [], []
    for row, cluster in zip(ratings.rows, ratings.clusters, strict=True):
        given = [places[label] for label in row if label is not None]
        if len(given) > 1:
            rows.append(np.bincount(given, minlength=len(labels)))
            clusters.append(cluster)
    if not rows:
        return Alpha(None, None, 0)
    counts = np.array(rows)
    # It is 0/0 where one label only occurs, for which the package raises or warns.
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return Alpha(None, None, len(rows))
    value = float(alpha(value_counts=counts, level_of_measurement="nominal" if order is None else "ordinal"))
    return Alpha(value, _interval(value, counts, clusters, order is not None, confidence), len(rows))


def _interval(value: float, counts: Any, clusters: Sequence[str], is_ordinal: bool, confidence: float) -> Interval:
    import numpy as np

    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    count, labels = len(names), counts.shape[1]
    if count < 2:
        return Interval(-1.0, 1.0)
    coincidences = np.zeros((count, labels * labels))
    np.add.at(coincidences, [names[name] for name in clusters], _coincidences(counts))
    random = np.random.default_rng(_SEED)
    left = max(_FEWEST_RESAMPLES, min(_RESAMPLES, _ITEMS // len(clusters)))
    drawn: list[float] = []
    while left:
        some = min(left, max(1, _ITEMS // max(count, labels * labels)))
        left -= some
        times = np.array([np.bincount(random.integers(0, count, count), minlength=count) for _ in range(some)])
        drawn += _alphas((times @ coincidences).reshape(some, labels, labels), is_ordinal)
    # If every label of an item is the same, no resample differs, and what was not seen decides.
    if not drawn or max(drawn) - min(drawn) < 1e-12:
        return constant_interval(value, count, confidence, least=-1.0)
    widened = math.sqrt(count / (count - 1)) * student_t(1 - (1 - confidence) / 2, count - 1)
    tail = NormalDist().cdf(-widened)
    low, high = (float(end) for end in np.quantile(drawn, [tail, 1 - tail]))
    return Interval(max(-1.0, min(low, value)), min(1.0, max(high, value)))


def _coincidences(counts: Any) -> Any:
    """Return how often each pair of labels meets in each item, as rows; those of several items are added."""
    import numpy as np

    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return (pairs / (counts.sum(axis=1) - 1)[:, None, None]).reshape(len(counts), -1)


def _alphas(coincidences: Any, is_ordinal: bool) -> list[float]:
    """Return alpha of each matrix of coincidences in which more than one label occurs.

    The package computes one at a time, which takes fifty times as long for the resamples of a bootstrap.
    """
    import numpy as np

    given = coincidences.sum(axis=1)
    several = np.count_nonzero(given, axis=1) > 1
    coincidences, given = coincidences[several], given[several]
    if is_ordinal:
        # Of the labels from one to another, with half of each end: the difference of these.
        middles = np.cumsum(given, axis=1) - given / 2
        distances = (middles[:, :, None] - middles[:, None, :]) ** 2
    else:
        distances = 1 - np.eye(given.shape[1])
    expected = given[:, :, None] * given[:, None, :] / (given.sum(axis=1) - 1)[:, None, None]
    # On the diagonal, where expected coincidences are fewer, distances are 0.
    share = (coincidences * distances).sum(axis=(1, 2)) / (expected * distances).sum(axis=(1, 2))
    return [float(each) for each in 1 - share]
