"""Explains scoring points that are a tree, have checks, or require something of each other or of the evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator

from viva.cases.case import Case, ScoringPoint
from viva.cases.points.requirements import leaves_below
from viva.cases.text import describe, is_made

MOST_LINES = 200


def point_lines(case: Case) -> Iterator[str]:
    """Yield the tree of a case with the part of the score that each node counts, and what points require.

    Nothing is yielded for scoring points that are a plain list without checks.
    """
    if case.evidence:
        yield "The judge is shown the agent's files."
    special = case.point_groups or any(point.require or point.shown or point.check for point in case.scoring_points)
    if not special:
        return
    lines = list(_lines(case))
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield f"… further lines: {len(lines) - MOST_LINES}"


def _lines(case: Case) -> Iterator[str]:
    total = math.fsum(point.weight for point in case.scoring_points)
    weights = {point.id: point.weight for point in case.scoring_points}
    below = leaves_below(case)
    groups = {group.id: group for group in case.point_groups}
    opened: tuple[str, ...] = ()
    for point in case.scoring_points:
        for level, name in enumerate(point.path):
            if opened[: level + 1] != point.path[: level + 1]:
                share = math.fsum(weights[leaf] for leaf in below[name]) / total
                group = groups.get(name)
                statement = describe(group.score_point if group is not None else name)
                yield f"{'  ' * level}{share:.1%} {_named(name)}{statement}: {_counted(len(below[name]))}"
        opened = point.path
        share = point.weight / total
        statement, checked = _stated(point)
        yield f"{'  ' * len(point.path)}{share:.1%} {_named(point.id)}{statement}{_asks(point, checked)}"


def _named(identity: str) -> str:
    return "" if is_made(identity) else f"{identity}: "


def _counted(number: int) -> str:
    return f"{number} {'point' if number == 1 else 'points'}"


def _asks(point: ScoringPoint, checked: str | None) -> str:
    parts = [f"requires {', '.join(point.require)}"] if point.require else []
    parts += [_SHOWN[point.shown]] if point.shown in _SHOWN else []
    parts += [checked] if checked is not None else []
    return f" ({'; '.join(parts)})" if parts else ""


def _stated(point: ScoringPoint) -> tuple[str, str | None]:
    """Return the statement as it is shown, and what its check asks for, unless the statement says the same."""
    if point.check is None:
        return describe(point.score_point), None
    # Here, because most cases have no checks.
    from viva.cases.checks.reader import CheckMistake, check_of
    from viva.cases.checks.uses import in_round
    from viva.cases.checks.words import check_words, statement_of

    try:
        check = in_round(check_of(point.check), point.round)
    except CheckMistake as error:
        return describe(point.score_point), f"its check cannot be read: {error}"
    same = statement_of(check) == point.score_point
    return (point.score_point, None) if same else (describe(point.score_point), f"checked: {check_words(check)}")


_SHOWN = {
    "step": "a hit must be shown by a step",
    "said": "a hit must be said to the user",
    "code": "a hit must be checked by code",
    "file": "a hit must be shown by a file",
    "environment": "a hit must be recorded by the environment",
}
