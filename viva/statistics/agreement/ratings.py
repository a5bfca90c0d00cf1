"""The table of what raters said about items, with gaps, from which every figure of agreement is made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from viva.statistics.cells import natural


class Pair(NamedTuple):
    """Two labels of one item: of two raters, or the true one and what a judge said."""

    cluster: str
    """Items of one cluster (a case) are right and wrong together."""
    first: str
    second: str


@dataclass(frozen=True)
class Ratings:
    """Holds a row of labels for each item and a column for each rater; None where a rater said nothing."""

    items: tuple[str, ...]
    raters: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    clusters: tuple[str, ...]
    """The cluster of each item."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return all labels that occur, numbers by size and others in natural order."""
        return in_order({label for row in self.rows for label in row if label is not None})

    @cached_property
    def _places(self) -> dict[str, int]:
        """Return the column of each rater, of whom there may be thousands."""
        return {rater: place for place, rater in enumerate(self.raters)}

    @property
    def given(self) -> int:
        """Return how many labels were given."""
        return sum(label is not None for row in self.rows for label in row)

    def pairs(self, first: str, second: str) -> list[Pair]:
        """Return the labels of two raters for each item that both labelled."""
        one, other = self._places[first], self._places[second]
        return [
            Pair(cluster, a, b)
            for cluster, row in zip(self.clusters, self.rows, strict=True)
            if (a := row[one]) is not None and (b := row[other]) is not None
        ]

    def each_two(self) -> Iterable[tuple[str, str]]:
        """Return the names of each two raters."""
        return combinations(self.raters, 2)

    def only(self, raters: Sequence[str]) -> Ratings:
        """Return the same table with some of its raters."""
        places = [self._places[rater] for rater in raters]
        rows = tuple(tuple(row[place] for place in places) for row in self.rows)
        return Ratings(self.items, tuple(raters), rows, self.clusters)


def ratings_of(
    given: Iterable[tuple[str, str, str]],
    clusters: Mapping[str, str] | None = None,
    raters: Sequence[str] = (),
) -> Ratings:
    """Make a table of labels.

    Args:
        given: Item, rater and label of each. Of two labels of one rater for one item, the last applies.
        clusters: The cluster of items; an item that is not in it is a cluster of its own.
        raters: Raters in the order of their columns; others follow in the order in which they first occur.
    """
    columns = {rater: place for place, rater in enumerate(raters)}
    found: dict[str, dict[str, str]] = {}
    for item, rater, label in given:
        columns.setdefault(rater, len(columns))
        found.setdefault(item, {})[rater] = label
    known = clusters or {}
    return Ratings(
        tuple(found),
        tuple(columns),
        tuple(tuple(row.get(rater) for rater in columns) for row in found.values()),
        # A name that no cluster of another item has by chance.
        tuple(f"case {known[item]}" if item in known else f"item {item}" for item in found),
    )


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels in order: by size if all are numbers, otherwise in natural order."""
    plain = list(labels)
    numbers = {label: number_in(label) for label in plain}
    if all(value is not None for value in numbers.values()):
        return tuple(sorted(plain, key=lambda label: (numbers[label], label)))
    return tuple(sorted(plain, key=natural))


def number_in(label: str) -> float | None:
    """Return the number that a label is, or None."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
