"""Verdicts on the same points of two suites, trial by trial: `hit hit hit -> miss hit hit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from viva.records.run_record import RunRecord
from viva.records.verdict import Label
from viva.statistics.cells import Trial
from viva.statistics.scores import insight_of, primary_evaluator

Labels = Mapping[str, str]
"""Criterion to label."""
CaseLabels = dict[Trial, Labels]
"""The labels of all trials of one case by one agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFlips:
    """Holds one point of one case whose verdict changed in a trial that both sides have."""

    case: str
    criterion: str
    statement: str = ""
    """What the point says."""
    before: tuple[str, ...]
    """The label in each trial that both have, in the order of the trials."""
    after: tuple[str, ...]
    """The label in the same trials."""

    @property
    def worse(self) -> int:
        """Count the trials in which a hit was lost."""
        return sum(a == Label.HIT != b for a, b in zip(self.before, self.after, strict=True))

    @property
    def better(self) -> int:
        """Count the trials in which a hit was gained."""
        return sum(b == Label.HIT != a for a, b in zip(self.before, self.after, strict=True))


def labels_of(record: RunRecord, evaluator: str | None = None) -> Labels:
    """Return the labels of the points of a run, without those that are about one of its rounds or steps.

    Args:
        record: The run.
        evaluator: Whose verdicts; None for the primary evaluator's.
    """
    name = evaluator or primary_evaluator(record.setting, record.insights)
    insight = insight_of(record.insights, name, record.id)
    if insight is None:
        return {}
    return {verdict.criterion: verdict.label for verdict in insight.verdicts if verdict.subject == record.id}


def statements_of(record: RunRecord, evaluator: str | None = None) -> dict[str, str]:
    """Return what the points say whose labels `labels_of` returns."""
    name = evaluator or primary_evaluator(record.setting, record.insights)
    insight = insight_of(record.insights, name, record.id)
    verdicts = () if insight is None else insight.verdicts
    return {verdict.criterion: verdict.statement for verdict in verdicts if verdict.subject == record.id}


def flips_of_case(
    case: str, before: CaseLabels, after: CaseLabels, statements: Mapping[str, str] = MappingProxyType({})
) -> list[PointFlips]:
    """Return the points that flipped in any trial that both sides have, in the order of the points.

    A verdict that failed (`error`) is missing: it is shown where another trial flipped, and is no flip.

    Args:
        case: The name of the case.
        before: The labels of one side.
        after: The labels of the other.
        statements: What the points say, by criterion.
    """
    trials = [trial for trial in before if trial in after]
    found = []
    for criterion in dict.fromkeys(name for trial in trials for name in before[trial]):
        both = [trial for trial in trials if criterion in before[trial] and criterion in after[trial]]
        old, new = (tuple(side[trial][criterion] for trial in both) for side in (before, after))
        if any(a != b and Label.ERROR not in (a, b) for a, b in zip(old, new, strict=True)):
            said = statements.get(criterion, "")
            found.append(PointFlips(case=case, criterion=criterion, statement=said, before=old, after=new))
    return found
