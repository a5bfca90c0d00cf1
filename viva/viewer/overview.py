"""Figures of a journal for the viewer's overview, with the statistics of every report."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from viva.journal.run_index import read_records
from viva.records.text import one_line
from viva.reports.console.whys import left_out_words, name_words, points_words
from viva.reports.number_words import interval, percent
from viva.statistics.causes.cause import Cause
from viva.statistics.causes.names import CauseNames
from viva.statistics.groups import Group
from viva.statistics.summary import summarize
from viva.viewer.watched import WatchedJournal

FRESH = 2.0
"""Seconds for which figures of a journal that grows are shown before they are computed again."""
MOST_MISSES = 20


@dataclass(slots=True)
class Overviews:
    """Computes the figures of journals when they are asked for, once for each state of the journal."""

    _known: dict[int, tuple[int, float, dict[str, Any]]] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def of(self, journal: WatchedJournal) -> dict[str, Any]:
        """Return the figures by agent and the failures of most runs.

        Raises:
            JournalError: the journal cannot be read.
        """
        with self._turn:  # several windows ask for the same
            known = self._known.get(id(journal))
            now = time.monotonic()
            if known is not None and (known[0] == journal.version or now - known[1] < FRESH):
                return known[2]
            version = journal.version
            found = {**_figures(journal), "version": version}
            self._known[id(journal)] = version, time.monotonic(), found
            return found


def _figures(journal: WatchedJournal) -> dict[str, Any]:
    figures = summarize(read_records(journal.folder, quick=True), journal.threshold)
    figures = CauseNames([journal.folder]).in_figures(figures)
    misses = [_miss(each) for each in figures.misses[:MOST_MISSES]]
    return {
        "agents": [_agent(group) for group in figures.agents],
        "misses": misses,
        "more": figures.misses_all - len(misses),
        "left_out": left_out_words(figures) if figures.misses_left_out else "",
    }


def _miss(group: Cause) -> dict[str, Any]:
    return {
        "id": group.id,
        "what": name_words(group) + points_words(group, 400),
        "label": one_line(group.label, 30),
        "reason": one_line(group.reason, 400),
        "runs": group.runs,
        "share": percent(group.share),
        "cases": group.cases,
        "case": one_line(group.case, 200),
        "run": group.run,
        "agents": {one_line(agent, 200): runs for agent, runs in group.agents.items()},
    }


def _agent(group: Group) -> dict[str, Any]:
    return {
        "agent": one_line(group.name, 200),
        "runs": group.runs,
        "mean": group.mean,
        "interval": None if group.mean_interval is None else interval(group.mean_interval),
        "passes": group.passes,
        "rate": None if group.pass_rate is None else percent(group.pass_rate),
        "excluded": sum(group.excluded.values()),
    }
