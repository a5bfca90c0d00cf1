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


def skipped_reason(record: RunRecord) -> str | None:
    """Return why the primary evaluator found nothing to judge in a run, on one line; None if it judged it."""
    insight = primary_insight(record) if record.outcome.counts else None
    if insight is None or insight.label != SKIPPED:
        return None
    reason = next((each.reason for each in insight.verdicts if each.label == SKIPPED and each.reason), "")
    return one_line(reason or insight.summary, WORDS)


class SkippedGroups:
    """Collects the reasons for which runs were skipped."""

    def __init__(self) -> None:
        self._found: dict[str, SkippedGroup] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run; most were not skipped."""
        words = skipped_reason(record)
        if words is None:
            return
        if words not in self._found:
            if len(self._found) >= MOST_REASONS:
                words = OTHERS
            self._found.setdefault(words, SkippedGroup(words=words, run=record.id))
        self._found[words].runs += 1

    def commonest(self) -> tuple[SkippedGroup, ...]:
        """Return the reasons of most runs first."""
        return tuple(sorted(self._found.values(), key=lambda group: -group.runs))
