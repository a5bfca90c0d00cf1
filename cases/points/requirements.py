"""The graph of what scoring points require of each other: circles in it, and the order in which points are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from viva.cases.case import Case, ScoringPoint

Edges = dict[str, list[str]]
"""By the id of a point, the ids of those whose verdicts must be known before its own."""


def cycle_in(edges: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the ids of one circle, the first again at the end; empty if there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        # graphlib names each node before the one that depends on it.
        return tuple(reversed(error.args[1]))
    return ()


def leaves_below(case: Case) -> dict[str, tuple[str, ...]]:
    """Return the ids of the scoring points that each id of a case stands for: one, or all those of a group."""
    found: dict[str, list[str]] = {}
    for point in case.scoring_points:
        for name in point.path:
            found.setdefault(name, []).append(point.id)
        found[point.id] = [point.id]
    return {name: tuple(ids) for name, ids in found.items()}


def stages(case: Case) -> list[tuple[ScoringPoint, ...]]:
    """Return the scoring points in the order in which they can be judged: each stage requires only earlier ones.

    A case that was not read from a file may require what does not exist, which has no effect here, or go in a circle:
    then all its points are in one stage.
    """
    if not any(point.require for point in case.scoring_points):
        return [case.scoring_points]
    points = {point.id: point for point in case.scoring_points}
    below = leaves_below(case)
    edges: Edges = {name: list(ids) for name, ids in below.items() if name not in points}
    edges |= {point.id: [name for name in point.require if name in below] for point in case.scoring_points}
    sorter = TopologicalSorter(edges)
    try:
        sorter.prepare()
    except CycleError:
        return [case.scoring_points]
    found = []
    while sorter.is_active():
        stage: list[str] = []
        while ready := sorter.get_ready():
            groups = [name for name in ready if name not in points]
            stage += [name for name in ready if name in points]
            sorter.done(*groups)
        chosen = frozenset(stage)
        found.append(tuple(point for point in case.scoring_points if point.id in chosen))
        sorter.done(*stage)
    return found
