"""Shows how scores developed over journals and agent versions, with the trends of `viva history`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from viva.journal.errors import JournalError
from viva.journal.run_index import read_records
from viva.records.text import one_line, printable
from viva.reports.console.cause_trends import CHANGED, WORSE, cause_words, share_words
from viva.reports.console.trends import change_words, compared_words, name_words, scores_words
from viva.statistics.causes.cause_trends import CauseTrend, CauseTrendTally
from viva.statistics.causes.names import CauseNames
from viva.statistics.over_time.trend import OVERALL, TaskTrend
from viva.statistics.over_time.trends import Conversations, TrendTally
from viva.viewer.watched import WatchedJournal

MOST_TRENDS = 500
"""Maximum number of trends in one answer."""
MOST_CAUSES = 100
"""Maximum number of trends of causes."""
MOST_RUNS = 2_000
"""Maximum number of runs of one trend."""


@dataclass(slots=True)
class Histories:
    """Computes trends when they are asked for, once for each state of the journals."""

    _known: dict[tuple[int, ...], tuple[tuple[int, ...], dict[str, Any]]] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def of(self, journals: Mapping[int, WatchedJournal]) -> dict[str, Any]:
        """Return the trends of journals together, regressions first; in `absent` what is said of unreadable ones.

        Raises:
            JournalError: none of the journals can be read.
        """
        with self._turn:
            key, versions = tuple(journals), tuple(each.version for each in journals.values())
            known = self._known.get(key)
            if known is None or known[0] != versions or known[1]["absent"]:
                known = versions, _trends(journals)
                self._known.clear()  # one choice of journals is looked at at a time
                self._known[key] = known
            return known[1]


def absent_words(journal: WatchedJournal, error: JournalError) -> str:
    """Return that a journal is not among those that are shown, and why."""
    return f"{one_line(journal.name, 200)} is left out: {printable(str(error), 1000)}"


def runs_of_trend(journals: Mapping[int, WatchedJournal], case: str, agent: str) -> dict[str, Any]:
    """Return the runs of a case with an agent that ended, the oldest first.

    Args:
        journals: The journals by their numbers.
        case: The name of the case.
        agent: The agent's SPEC.

    Returns:
        Of each run its trial, standing, score, id, journal, version, and when it began in seconds since the epoch.
    """
    return runs_of_trends(journals, [(case, agent)])[case, agent]


def runs_of_trends(
    journals: Mapping[int, WatchedJournal], wanted: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what `runs_of_trend` does for several cases and agents; each journal is read once."""
    found: dict[tuple[str, str], list[list[Any]]] = {each: [] for each in wanted}
    for number, journal in journals.items():
        for listed in list(journal.runs.values()):
            if not listed.ended:
                continue
            # The page knows names as it shows them.
            runs = found.get((one_line(listed.case, 200), one_line(listed.agent, 200)))
            if runs is None:
                continue
            record = listed.record
            version = one_line(record.agent_version or "", 40)
            shown = [listed.trial, listed.standing, listed.score, listed.run, number, version]
            runs.append([*shown, record.timing.started])
    for runs in found.values():
        runs.sort(key=lambda each: (each[6], each[4], each[0]))
    return {key: {"runs": runs[-MOST_RUNS:], "more": max(0, len(runs) - MOST_RUNS)} for key, runs in found.items()}


def _trends(journals: Mapping[int, WatchedJournal]) -> dict[str, Any]:
    conversations = Conversations()
    tally, causes = TrendTally(conversations), CauseTrendTally(conversations)
    for number, journal in journals.items():
        try:
            for record in read_records(journal.folder, quick=True):
                tally.add(record)
                causes.add(record, str(journal.folder))
        except JournalError as error:
            left = {each: journals[each] for each in journals if each != number}
            if not left:
                raise
            others = _trends(left)  # again, without those of its runs that were read
            return others | {"absent": [absent_words(journal, error), *others["absent"]]}
    found = tally.trends()
    names = CauseNames(journal.folder for journal in journals.values())
    return {
        "trends": [_trend(each) for each in found.trends[:MOST_TRENDS]],
        "more": len(found.trends) - min(len(found.trends), MOST_TRENDS) + found.left_out,
        "runs": found.runs,
        "excluded": found.excluded,
        "absent": [],
        "causes": [_cause(each) for each in causes.trends(names) if each.kind in CHANGED][:MOST_CAUSES],
    }


def _trend(trend: TaskTrend) -> dict[str, Any]:
    return {
        "case": one_line(trend.task, 200),
        "agent": one_line(trend.agent, 200),
        "evaluator": name_words(trend),
        "overall": trend.dimension == OVERALL,
        "direction": trend.direction.value,
        "scores": scores_words(trend),
        "change": change_words(trend),
        "compared": compared_words(trend),
        "runs": trend.runs,
        "points": [[point.mean, point.runs, one_line(point.version or "", 40)] for point in trend.points],
    }


def _cause(trend: CauseTrend) -> dict[str, Any]:
    return {
        "id": trend.cause.id,
        "words": cause_words(trend),
        "agent": one_line(trend.agent, 200),
        "kind": trend.kind,
        "worse": trend.kind in WORSE,
        "shares": share_words(trend),
        "points": [[point.mean, point.runs, one_line(point.version or "", 40)] for point in trend.points],
    }
