"""Finds the lines of scoring points in the file of a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Place = tuple[str | int, ...]
"""A path in the file: `("scoring_points", 0, "points", 1)`."""


def leaf_places(points: Sequence[Any], path: Place) -> Iterator[Place]:
    """Yield the place of each scoring point without points of its own, in the order of `Case.scoring_points`.

    Args:
        points: The list in a case file that loads.
        path: Where this list stands.
    """
    for index, point in enumerate(points):
        if isinstance(point, str) or point.get("points") is None:
            yield (*path, index)
        else:
            yield from leaf_places(point["points"], (*path, index, "points"))
