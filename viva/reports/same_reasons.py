"""Joins the scoring points of a run that have one identical reason, so that reports show the reason once."""

from __future__ import annotations

from collections.abc import Iterable

from viva.records.verdict import Verdict


def joined(verdicts: Iterable[Verdict]) -> list[tuple[Verdict, ...]]:
    """Return the verdicts in order, those that differ in their point and weight only together at the first's place.

    Hits stay on their own, because their reason says nothing that a reader would compare; so do verdicts that quote.
    """
    groups: dict[object, list[Verdict]] = {}
    for number, verdict in enumerate(verdicts):
        alone = verdict.score == 1 or not verdict.reason or verdict.evidence
        same = (
            *(verdict.subject, verdict.label, verdict.score, verdict.reason, verdict.by),
            *(verdict.votes, verdict.flags, verdict.fault),
        )
        groups.setdefault(number if alone else same, []).append(verdict)
    return [tuple(group) for group in groups.values()]


def statement_of(group: tuple[Verdict, ...]) -> str:
    """Return the statement of one point, or the ids and statements of several: `p1, p2: It sums; It explains`."""
    statements = [each.statement or each.criterion for each in group]
    if len(group) == 1:
        return statements[0]
    return f"{', '.join(each.criterion for each in group)}: {'; '.join(statements)}"
