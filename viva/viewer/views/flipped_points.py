"""Shows for two runs of one case which points were judged otherwise, with the reasons side by side."""

from __future__ import annotations

from typing import Any

from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.records.verdict import Verdict
from viva.statistics.scores import primary_insight
from viva.viewer.watched import ListedRun, WatchedJournal

MOST_POINTS = 20
"""Maximum number of points of one pair."""


def flipped_points(
    one: WatchedJournal, before: ListedRun, two: WatchedJournal, after: ListedRun
) -> list[dict[str, Any]]:
    """Return the points with another label in the second run, those that became worse first.

    Args:
        one: The journal of the first run.
        before: The first run.
        two: The journal of the second run.
        after: The second run.
    """
    earlier, later = _verdicts(before.whole_record), _verdicts(after.whole_record)
    flipped = [(earlier[key], later[key]) for key in earlier if key in later and earlier[key].label != later[key].label]
    flipped.sort(key=lambda pair: _change(*pair))
    return [_point(*pair) for pair in flipped[:MOST_POINTS]]


def _verdicts(record: RunRecord) -> dict[tuple[str, str], Verdict]:
    insight = primary_insight(record)
    verdicts = () if insight is None else insight.verdicts
    # The id of a run is part of neither side's key: a renamed agent has other ids.
    return {(each.criterion, "" if each.subject == record.id else each.subject): each for each in verdicts}


def _change(before: Verdict, after: Verdict) -> float:
    return (after.score or 0.0) - (before.score or 0.0)


def _point(before: Verdict, after: Verdict) -> dict[str, Any]:
    change = _change(before, after)
    return {
        "statement": printable(after.statement or before.statement or after.criterion, 1000),
        "change": "worse" if change < 0 else "better" if change > 0 else "other",
        "sides": [[one_line(each.label, 30), printable(each.reason, 2000), _quotes(each)] for each in (before, after)],
    }


def _quotes(verdict: Verdict) -> list[list[Any]]:
    return [[one_line(each.where, 80), printable(each.quote, 500)] for each in verdict.evidence[:3] if each.quote]
