"""Collects the verdicts of a case whose scoring points may require others: an unmet requirement makes a miss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from viva.cases import Case, ScoringPoint
from viva.cases.points.requirements import leaves_below
from viva.judge.scoring_points.verdicts import point_verdict
from viva.records.text import one_line
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import RULE, UNMET, Label, Verdict

OPEN = "requirement-open"
"""The flag of a point that would be a hit if what it requires had been decided as one."""


@dataclass(frozen=True, slots=True)
class JudgedStage:
    """What came of judging some points together."""

    verdicts: Sequence[Verdict]
    usage: Usage
    waited: float
    """Seconds of waiting for a sandbox, which are not the judge's."""
    isolation: tuple[Mapping[str, str], ...]


class JudgedPoints:
    """The verdicts on the points of one case so far, exactly one for each."""

    def __init__(self, case: Case, subject: str) -> None:
        self._case = case
        self._subject = subject
        self._below = leaves_below(case)
        self._verdicts: dict[str, Verdict] = {}
        self.usage = NO_USAGE
        self.waited = 0.0
        self.isolation: tuple[Mapping[str, str], ...] = ()

    def left_of(self, stage: Iterable[ScoringPoint]) -> list[ScoringPoint]:
        """Return the points that must be judged; one of which a requirement is unmet becomes a miss without it."""
        left = []
        for point in stage:
            unmet = self._required(point, Label.MISS)
            if unmet is None:
                left.append(point)
            else:
                reason = f"requires {_quoted(unmet)}, which is a miss"
                self._verdicts[point.id] = point_verdict(
                    self._subject, point, Label.MISS, reason, by=RULE, flags=(UNMET,)
                )
        return left

    def add(self, points: Sequence[ScoringPoint], judged: JudgedStage) -> None:
        """Take the verdicts on points; a hit that requires what is still open is open, too."""
        for point, verdict in zip(points, judged.verdicts, strict=True):
            self._verdicts[point.id] = self._held_back(point, verdict)
        self.usage += judged.usage
        self.waited += judged.waited
        self.isolation += tuple(each for each in judged.isolation if each not in self.isolation)

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts in the order of the case."""
        return [self._verdicts[point.id] for point in self._case.scoring_points]

    def _held_back(self, point: ScoringPoint, verdict: Verdict) -> Verdict:
        if verdict.label != Label.HIT:
            return verdict
        found = self._required(point, Label.UNSURE) or self._required(point, Label.ERROR)
        if found is None:
            return verdict
        reason = f"{verdict.reason} [It requires {_quoted(found)}, which is {found.label}.]"
        return replace(verdict, label=Label.UNSURE, score=None, reason=reason, flags=(*verdict.flags, OPEN))

    def _required(self, point: ScoringPoint, label: Label) -> Verdict | None:
        """Return the first verdict with this label that a point requires."""
        leaves = (leaf for name in point.require for leaf in self._below.get(name, ()))
        found = (self._verdicts[leaf] for leaf in leaves if leaf in self._verdicts)
        return next((verdict for verdict in found if verdict.label == label), None)


def _quoted(verdict: Verdict) -> str:
    return f"“{one_line(verdict.statement or verdict.criterion, 200)}”"
