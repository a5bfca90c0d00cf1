"""Where the parts of a case are in its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from viva.cases import Case
from viva.cases.load import source_of

Place = tuple[str | int, ...]


class CaseLines:
    """The lines of a case file."""

    def __init__(self, case: Case) -> None:
        """Read the file of a case again.

        Raises:
            CaseError: the file has become unreadable since it was loaded.
        """
        source = source_of(case)
        self._lines, listed = source.lines, source.data.get("scoring_points")
        self._points = list(_leaves(listed if isinstance(listed, list) else [], ("scoring_points",)))

    def of(self, *path: str | int) -> int | None:
        """Return the line of a path, or of the nearest thing around it."""
        return self._lines.of(*path)

    def of_point(self, index: int, *path: str | int) -> int | None:
        """Return the line of a scoring point, by its position among those that are judged, or of a part of it."""
        return self._lines.of(*self._points[index], *path) if index < len(self._points) else None


def _leaves(points: Sequence[Any], path: Place) -> Iterator[Place]:
    """Yield the places of the points that are judged: those that hold no points of their own."""
    for index, point in enumerate(points):
        inner = point.get("points") if isinstance(point, dict) else None
        if isinstance(inner, list):
            yield from _leaves(inner, (*path, index, "points"))
        else:
            yield (*path, index)
