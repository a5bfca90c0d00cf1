"""Why evaluators had nothing to judge: the distinct reasons of a stream of records, each with one run to look at."""

from __future__ import annotations

from dataclasses import dataclass

from viva.judge.trajectory import SKIPPED
from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.statistics.scores import primary_insight

WORDS = 400
"""Characters of one reason."""
MOST_REASONS = 100
"""Reasons that are kept of a suite."""
OTHERS = "other reasons"


@dataclass(slots=True, kw_only=True)
class SkippedGroup:
    """Holds one reason for which the primary evaluator skipped runs."""

    words: str
    """The reason, on one line."""
    run: str
    """Id of the first run."""
    runs: int = 0


class SkippedGroups:
    """Collects the reasons for which runs were skipped."""

    def __init__(self) -> None:
        self._found: dict[str, SkippedGroup] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run; most were not skipped."""
        if not record.outcome.counts:
            return
        insight = primary_insight(record)
        if insight is None or insight.label != SKIPPED:
            return
        reason = next((each.reason for each in insight.verdicts if each.label == SKIPPED and each.reason), "")
        words = one_line(reason or insight.summary, WORDS)
        if words not in self._found:
            if len(self._found) >= MOST_REASONS:
                words = OTHERS
            self._found.setdefault(words, SkippedGroup(words=words, run=record.id))
        self._found[words].runs += 1

    def commonest(self) -> tuple[SkippedGroup, ...]:
        """Return the reasons of most runs first."""
        return tuple(sorted(self._found.values(), key=lambda group: -group.runs))
