"""Applies the requirements of a case to what people say, as exams apply them to verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from viva.cases import Case
from viva.cases.points.requirements import leaves_below, stages


def under_requirements(case: Case, said: Mapping[str, bool | None]) -> dict[str, bool | None]:
    """Return the truth of each labelled point by the rule of its case: one of which a requirement is a miss is a miss.

    People judge a statement for itself. Without the rule, a point would count as a hit that no judge may call one.

    Args:
        case: The case.
        said: What people say about each point that they labelled: whether it is a hit; None if they are unsure.

    Returns:
        None where it is not decided. Points of which a required point has no label are left out, whatever they are:
        to keep the misses alone would make the score look lower.
    """
    below = leaves_below(case)
    points = {point.id for point in case.scoring_points}
    found = {criterion: truth for criterion, truth in said.items() if criterion not in points}
    for stage in stages(case):
        for point in stage:
            required = [leaf for name in point.require for leaf in below.get(name, ())]
            if point.id in said and all(leaf in found for leaf in required):
                truths = [said[point.id], *(found[leaf] for leaf in required)]
                found[point.id] = False if False in truths else None if None in truths else True
    return found
