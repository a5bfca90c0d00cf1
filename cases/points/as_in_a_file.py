"""Writes the scoring points of a case in the form of a case file, for the reader that checks those of files."""

from __future__ import annotations

import math
from typing import Any

from viva.cases.case import Case, ScoringPoint
from viva.cases.errors import CaseError


def points_as_in_a_file(case: Case) -> list[dict[str, Any]]:
    """Return the scoring points as plain data, nested as the groups of the case say.

    Raises:
        CaseError: a point is in a group that the case does not have, or in another place than the group.
    """
    # Ids that a program gave may be of any form, as long as nothing refers to them.
    named = bool(case.point_groups) or any(point.require for point in case.scoring_points)
    groups = {group.id: group for group in case.point_groups}
    opened: dict[tuple[str, ...], dict[str, Any]] = {}
    top: list[dict[str, Any]] = []

    def inside(path: tuple[str, ...]) -> list[dict[str, Any]]:
        if not path:
            return top
        if path not in opened:
            group = groups.get(path[-1])
            if group is None or group.path != path[:-1]:
                raise CaseError(case.name, [f"the point_groups have no group {path[-1]!r} in {list(path[:-1])}"])
            below = [point.weight for point in case.scoring_points if point.path[: len(path)] == path]
            opened[path] = {
                "id": group.id,
                "score_point": group.score_point,
                "weight": math.fsum(below),
                "points": [],
            }
            inside(path[:-1]).append(opened[path])
        points: list[dict[str, Any]] = opened[path]["points"]
        return points

    for point in case.scoring_points:
        inside(point.path).append(point_as_in_a_file(point, named=named))
    return top


def point_as_in_a_file(point: ScoringPoint, *, named: bool) -> dict[str, Any]:
    """Return one scoring point as plain data.

    Args:
        point: The point.
        named: Whether its id is written, and the ids that it requires.
    """
    written = {
        "score_point": point.score_point,
        "weight": point.weight,
        "eval_code": point.eval_code,
        "check": point.check,
        "shown": point.shown,
        "round": point.round,
        "metadata": dict(point.metadata) or None,
    }
    return {**written, "id": point.id, "require": list(point.require)} if named else written
