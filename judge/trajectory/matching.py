"""Compares the calls of a trajectory with those of a reference: pure functions, by optimal assignment.

The modes are those of LangChain's agentevals and of Vertex AI's trajectory metrics: `strict` (the same calls in the
same order), `in_order` (the reference's calls in their order, others may lie between), `any_order` (the same calls in
any order), `subset` (no call beyond the reference's), `superset` (all of the reference's calls, and perhaps others).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viva.judge.trajectory.decisions import canonical
from viva.judge.trajectory.reference import TRANSITIVE, Likeness, TrajectoryCall, exact, in_listing_order

MOST_PAIRED = 300
"""Calls of one tool that are paired by optimal assignment: its time grows with the cube of their number."""
SAME = 1 - 1e-9


class TooManyCalls(ValueError):
    """More calls of one tool than can be paired in reasonable time."""


@dataclass(frozen=True, slots=True)
class ReferenceComparison:
    """How the calls of a trajectory compare with a reference; independent of the order of either."""

    missing: tuple[TrajectoryCall, ...]
    """Calls of the reference that the agent did not make."""
    unexpected: tuple[TrajectoryCall, ...]
    """Calls that the agent made beyond the reference."""
    likeness: float
    """Sum over the best pairs of how alike they are; pairs that differ a little count in part."""
    wanted: int
    made: int

    @property
    def precision(self) -> float | None:
        """The share of the calls made that the reference has; None if none was made."""
        return self.likeness / self.made if self.made else None

    @property
    def recall(self) -> float | None:
        """The share of the reference's calls that were made; None if it has none."""
        return self.likeness / self.wanted if self.wanted else None


def compare(reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], like: Likeness) -> ReferenceComparison:
    """Pair the calls of a trajectory with those of a reference as well as possible, whatever the order of either.

    Raises:
        TooManyCalls: there are more calls of one tool than `MOST_PAIRED`, and pairing them depends on the arguments.
    """
    missing: list[TrajectoryCall] = []
    unexpected: list[TrajectoryCall] = []
    total = 0.0
    wanted_by_tool, made_by_tool = _by_tool(reference), _by_tool(made)
    for tool in sorted(wanted_by_tool.keys() | made_by_tool.keys()):
        wanted, given = wanted_by_tool.get(tool, []), made_by_tool.get(tool, [])
        if like in TRANSITIVE:
            left, beyond = _subtract(wanted, given, by_arguments=like is exact)
            total += len(wanted) - len(left)
        else:
            left, beyond, likeness = _assign(wanted, given, like)
            total += likeness
        missing += left
        unexpected += beyond
    return ReferenceComparison(tuple(missing), tuple(unexpected), total, len(reference), len(made))


def is_strict(reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], like: Likeness) -> bool:
    """Return whether the calls are the same, in the same order, and no others."""
    return len(reference) == len(made) and all(map(_same(like), reference, made))


def is_in_order(reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], like: Likeness) -> bool:
    """Return whether the reference's calls were made in their order; other calls may lie between them."""
    same, place = _same(like), 0
    for call in made:
        # The earliest call that fits is never a worse choice than a later one.
        if place < len(reference) and same(reference[place], call):
            place += 1
    return place == len(reference)


def _same(like: Likeness) -> Callable[[TrajectoryCall, TrajectoryCall], bool]:
    return lambda wanted, call: wanted.tool == call.tool and like(wanted, call) >= SAME


def _by_tool(calls: Sequence[TrajectoryCall]) -> dict[str, list[TrajectoryCall]]:
    found: dict[str, list[TrajectoryCall]] = {}
    for call in in_listing_order(calls):
        found.setdefault(call.tool, []).append(call)
    return found


def _subtract(
    wanted: list[TrajectoryCall], given: list[TrajectoryCall], *, by_arguments: bool
) -> tuple[list[TrajectoryCall], list[TrajectoryCall]]:
    """What is left of each where the same calls are taken away from both."""
    keys = (lambda call: canonical(call.arguments)) if by_arguments else (lambda call: "")
    shared = Counter(map(keys, wanted)) & Counter(map(keys, given))
    return _left(wanted, keys, Counter(shared)), _left(given, keys, Counter(shared))


def _left(
    calls: list[TrajectoryCall], key: Callable[[TrajectoryCall], str], taken: Counter[str]
) -> list[TrajectoryCall]:
    left = []
    for call in calls:
        if taken[key(call)] > 0:
            taken[key(call)] -= 1
        else:
            left.append(call)
    return left


def _assign(
    wanted: list[TrajectoryCall], given: list[TrajectoryCall], like: Likeness
) -> tuple[list[TrajectoryCall], list[TrajectoryCall], float]:
    """What is left of each after as many same calls as possible are paired, and the likeness of the best pairs."""
    if not wanted or not given:
        return wanted, given, 0.0
    if max(len(wanted), len(given)) > MOST_PAIRED:
        raise TooManyCalls(
            f"there are {max(len(wanted), len(given)):,} calls of {given[0].tool}; the maximum is {MOST_PAIRED}"
        )
    alike = [[like(one, other) for other in given] for one in wanted]
    pairs = [
        pair for pair in _pairs([[float(value >= SAME) for value in row] for row in alike]) if _at(alike, pair) >= SAME
    ]
    rows, columns = {row for row, _ in pairs}, {column for _, column in pairs}
    total = sum(_at(alike, pair) for pair in _pairs(alike))
    left = [call for row, call in enumerate(wanted) if row not in rows]
    return left, [call for column, call in enumerate(given) if column not in columns], total


def _at(matrix: list[list[float]], pair: tuple[int, int]) -> float:
    return matrix[pair[0]][pair[1]]


def _pairs(alike: list[list[float]]) -> list[tuple[int, int]]:
    """Row and column of each pair of an assignment with the greatest sum."""
    from munkres import linear_sum_assignment

    rows, columns = linear_sum_assignment(alike, maximize=True)
    return list(zip(rows, columns, strict=True))
