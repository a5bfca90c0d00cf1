"""Counts the runs that the user had done again, by how they ended first."""

from __future__ import annotations

from dataclasses import dataclass

from viva.records.run_record import Outcome, RunRecord

MOST_OUTCOMES = 20
_COUNTED = (Outcome.TARGET_ERROR, Outcome.SCORED)


@dataclass(slots=True, kw_only=True)
class RequeuedGroup:
    """Runs with the same first outcome that were done again."""

    outcome: Outcome
    """How they ended first."""
    run: str
    """Id of the first of them."""
    runs: int = 0


class RequeuedGroups:
    """Collects runs that were done again."""

    def __init__(self) -> None:
        self._found: dict[str, RequeuedGroup] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run; most were done once. One that ever ended with an outcome that counts is counted as that."""
        past = record.setting.requeued
        if not past:
            return
        first = Outcome(next((each for each in _COUNTED if each in past), past[0]))
        if first not in self._found and len(self._found) >= MOST_OUTCOMES:
            return
        group = self._found.setdefault(first, RequeuedGroup(outcome=first, run=record.id))
        group.runs += 1

    def groups(self) -> tuple[RequeuedGroup, ...]:
        """Return the runs that were counted against the agent first, then those of most runs."""
        return tuple(sorted(self._found.values(), key=lambda group: (not group.outcome.counts, -group.runs)))
