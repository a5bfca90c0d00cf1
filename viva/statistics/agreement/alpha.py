"""Krippendorff's alpha: agreement of any number of raters, with gaps. Requires the packages of `vivavoce[stats]`."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
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

    def of(some: Any) -> float | None:
        # It is 0/0 where one label only occurs, for which the package raises or warns.
        if np.count_nonzero(some.sum(axis=0)) < 2:
            return None
        return float(alpha(value_counts=some, level_of_measurement="nominal" if order is None else "ordinal"))

    value = of(counts)
    return Alpha(value, None if value is None else _interval(value, counts, clusters, of, confidence), len(rows))


def _interval(
    value: float, counts: Any, clusters: Sequence[str], of: Callable[[Any], float | None], confidence: float
) -> Interval:
    import numpy as np

    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    numbers = np.array([names[name] for name in clusters])
    count = len(names)
    if count < 2:
        return Interval(-1.0, 1.0)
    by_cluster = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    random = np.random.default_rng(_SEED)
    drawn = []
    for _ in range(max(_FEWEST_RESAMPLES, min(_RESAMPLES, _ITEMS // len(numbers)))):
        chosen = np.concatenate([by_cluster[place] for place in random.integers(0, count, count)])
        if (each := of(counts[chosen])) is not None:
            drawn.append(each)
    # If every label of an item is the same, no resample differs, and what was not seen decides.
    if not drawn or max(drawn) - min(drawn) < 1e-12:
        return constant_interval(value, count, confidence, least=-1.0)
    widened = math.sqrt(count / (count - 1)) * student_t(1 - (1 - confidence) / 2, count - 1)
    tail = NormalDist().cdf(-widened)
    low, high = (float(end) for end in np.quantile(drawn, [tail, 1 - tail]))
    return Interval(max(-1.0, min(low, value)), min(1.0, max(high, value)))
