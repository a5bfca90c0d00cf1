"""Lays the scoring points of an insight out as a tree, for every report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from viva.judge.scoring_points.rollup import TREE
from viva.records.verdict import Insight, Verdict

MOST_LEVELS = 20
"""Levels that are laid out; a journal may be a stranger's."""


@dataclass(frozen=True, slots=True)
class TreeGroup:
    """An inner node of the tree, with the verdicts below it."""

    id: str
    statement: str
    level: int
    """From 0, the top."""
    score: float | None
    low: float | None
    high: float | None
    verdicts: tuple[Verdict, ...]
    """All below it, at whatever level."""

    @property
    def weight(self) -> float:
        """Return the sum of the weights below it."""
        return sum(verdict.weight for verdict in self.verdicts)

    @property
    def score_words(self) -> str:
        """Return its score, and its bounds where they differ."""
        if self.score is None:
            return "not judged"
        shown = f"{self.score:.2f}"
        low, high = f"{self.score if self.low is None else self.low:.2f}", f"{self.high or self.score:.2f}"
        return shown if low == high else f"{shown} ({low}-{high})"

    @property
    def is_folded(self) -> bool:
        """Return whether a report that is short shows this line for all below it: each a hit, with nothing to know."""
        return all(verdict.score == 1 and not verdict.flags for verdict in self.verdicts)


TreeRow = TreeGroup | tuple[int, Verdict]
"""A group, or a verdict with its level."""


def has_tree(insight: Insight) -> bool:
    """Return whether the scoring points of an insight are a tree."""
    return bool(_paths(insight))


def tree_rows(insight: Insight) -> Iterator[TreeRow]:
    """Yield the groups and verdicts of an insight in the order of its verdicts, each group before those below it."""
    paths, groups = _paths(insight), _groups(insight)
    placed = [(verdict, paths.get(verdict.criterion, ())) for verdict in insight.verdicts]
    before: tuple[str, ...] = ()
    for place, (verdict, path) in enumerate(placed):
        same = _same(before, path)
        for level in range(same, len(path)):
            yield _group(
                groups.get(path[level], {}), path, level, (placed[number] for number in range(place, len(placed)))
            )
        yield len(path), verdict
        before = path


def path_words(insight: Insight, criterion: str) -> str:
    """Return the ids of the groups above a scoring point, from the top: `design/tests`; empty without a tree."""
    return "/".join(_paths(insight).get(criterion, ()))


def _group(
    told: Mapping[str, Any], path: tuple[str, ...], level: int, placed: Iterable[tuple[Verdict, tuple[str, ...]]]
) -> TreeGroup:
    above = path[: level + 1]
    below = (verdict for verdict, _ in takewhile(lambda each: each[1][: level + 1] == above, placed))
    statement = told.get("statement")
    words = statement if isinstance(statement, str) else path[level]
    score, low, high = (_number(told.get(name)) for name in ("score", "low", "high"))
    return TreeGroup(path[level], words, level, score, low, high, tuple(below))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None


def _same(before: tuple[str, ...], path: tuple[str, ...]) -> int:
    pairs = zip(before, path, strict=False)
    return next((level for level, (one, other) in enumerate(pairs) if one != other), min(len(before), len(path)))


def _tree(insight: Insight) -> Mapping[str, Any]:
    # Whatever stands there, as a journal may be a stranger's.
    tree = insight.details.get(TREE) if isinstance(insight.details, Mapping) else None
    return tree if isinstance(tree, Mapping) else {}


def _paths(insight: Insight) -> dict[str, tuple[str, ...]]:
    told = _tree(insight).get("paths")
    if not isinstance(told, Mapping):
        return {}
    return {
        name: tuple(str(each)[:200] for each in path[:MOST_LEVELS])
        for name, path in told.items()
        if isinstance(path, list | tuple)
    }


def _groups(insight: Insight) -> dict[str, Mapping[str, Any]]:
    told = _tree(insight).get("groups")
    groups = told if isinstance(told, list | tuple) else ()
    return {str(each["id"])[:200]: each for each in groups if isinstance(each, Mapping) and "id" in each}
