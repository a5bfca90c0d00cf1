"""Rolls the scores of scoring points up through a tree: pure functions.

A node's score is the mean of its children's, weighted within their level, as PaperBench grades its rubrics
(https://arxiv.org/abs/2504.01848, section 3). Its bounds roll up in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viva.cases.case import PointGroup
from viva.cases.text import is_made
from viva.records.text import one_line
from viva.records.verdict import Insight, Label, Verdict

TREE = "tree"
"""In the details of an insight: the tree of its scoring points, if they are one."""
ROOT = ""
"""The id of the node above all scoring points."""


@dataclass(frozen=True, slots=True)
class RolledScore:
    """A score with its bounds, each in [0, 1]."""

    low: float
    score: float
    high: float


@dataclass(frozen=True, slots=True)
class RubricNode:
    """A node of a tree: a leaf with its score, or a group with its nodes."""

    id: str
    weight: float
    """Within its level: only the proportions to its siblings matter."""
    scored: RolledScore | None = None
    """Of a leaf."""
    points: tuple[RubricNode, ...] = ()


def roll_up(root: RubricNode) -> dict[str, RolledScore]:
    """Return the score of each node by its id, each group before its points.

    Raises:
        ValueError: a node has neither points nor a score, or the weights of a level add up to nothing.
    """
    order = [root]
    for node in order:  # grows meanwhile, so that no depth is too deep
        order.extend(node.points)
    found: dict[int, RolledScore] = {}
    for node in reversed(order):
        found[id(node)] = _mean(node, found) if node.points else _own(node)
    return {node.id: found[id(node)] for node in order}


def _own(node: RubricNode) -> RolledScore:
    if node.scored is None:
        raise ValueError(f"the node {node.id!r} has neither points nor a score")
    return node.scored


def _mean(node: RubricNode, found: Mapping[int, RolledScore]) -> RolledScore:
    total = math.fsum(point.weight for point in node.points)
    if not total > 0:
        raise ValueError(f"the weights of the points of {node.id!r} add up to {total:g}")
    below = [(point.weight, found[id(point)]) for point in node.points]

    def mean(values: Sequence[tuple[float, float]]) -> float:
        # The division can exceed 1 by its last bit.
        return min(1.0, max(0.0, math.fsum(weight * value for weight, value in values) / total))

    return RolledScore(
        mean([(weight, each.low) for weight, each in below]),
        mean([(weight, each.score) for weight, each in below]),
        mean([(weight, each.high) for weight, each in below]),
    )


def score_of_verdict(verdict: Verdict) -> RolledScore:
    """Return the score of one scoring point: an open verdict earns nothing, and could earn all."""
    hit = 1.0 if verdict.label == Label.HIT else 0.0
    return RolledScore(hit, hit, 1.0 if verdict.label in (Label.UNSURE, Label.ERROR) else hit)


def with_tree(insight: Insight, groups: Sequence[PointGroup], paths: Mapping[str, tuple[str, ...]]) -> Insight:
    """Return the insight with the tree of its scoring points and the score of each group in its details.

    Args:
        insight: Of the scoring points.
        groups: The inner nodes of the case's tree; without any, the insight stays as it is.
        paths: The ids of the groups above each scoring point, by its id.
    """
    if not groups or not insight.verdicts:
        return insight
    scores = roll_up(_tree_of(insight.verdicts, groups, paths))
    judged = {
        name
        for verdict in insight.verdicts
        if verdict.label != Label.ERROR
        for name in paths.get(verdict.criterion, ())
    }
    tree: dict[str, Any] = {
        "groups": [
            {
                "id": group.id,
                "statement": group.score_point,
                "path": list(group.path),
                **_plain(scores[group.id] if group.id in judged else None),
            }
            for group in groups
            if group.id in scores
        ],
        "paths": {verdict.criterion: list(paths.get(verdict.criterion, ())) for verdict in insight.verdicts},
    }
    return replace(
        insight, scores={**_top_scores(tree["groups"]), **insight.scores}, details={**insight.details, TREE: tree}
    )


def _top_scores(groups: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the scores of the groups at the top by name: what reports show of a tree in one line, and average."""
    scores: dict[str, float] = {}
    for group in groups:
        if not group["path"] and group["score"] is not None:
            name = one_line(group["statement"], 60) if is_made(group["id"]) else group["id"]
            scores.setdefault(name, group["score"])
    return scores


def _plain(scored: RolledScore | None) -> dict[str, float | None]:
    if scored is None:
        return {"score": None, "low": None, "high": None}
    return {"score": scored.score, "low": scored.low, "high": scored.high}


def _tree_of(
    verdicts: Sequence[Verdict], groups: Sequence[PointGroup], paths: Mapping[str, tuple[str, ...]]
) -> RubricNode:
    """Return the verdicts as a tree; a group weighs as much as all verdicts below it."""
    below: dict[str, list[RubricNode]] = {}
    for verdict in verdicts:
        leaf = RubricNode(verdict.criterion, verdict.weight, score_of_verdict(verdict))
        parent = next(reversed(paths.get(verdict.criterion, ())), ROOT)
        below.setdefault(parent, []).append(leaf)
    # Each group stands before those below it, so that from the last one on, all of them are whole.
    for group in reversed(groups):
        points = below.pop(group.id, [])
        if points:
            node = RubricNode(group.id, math.fsum(point.weight for point in points), points=tuple(points))
            below.setdefault(group.path[-1] if group.path else ROOT, []).append(node)
    return RubricNode(ROOT, 1.0, points=tuple(below.get(ROOT, ())))
