"""Shows cases by agents, versions, personas or other settings, each cell with its trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.records.wording import judge_words
from viva.statistics.cells import natural
from viva.viewer.watched import ListedRun, WatchedJournal

MOST_CELLS = 20_000
"""Maximum number of cells of one answer."""
MOST_COLUMNS = 200
_Facet = Callable[[RunRecord], str]
FACETS: Mapping[str, _Facet] = {
    "agent": lambda run: run.agent,
    "version": lambda run: run.agent_version or run.setting.agent_version or "",
    "persona": lambda run: run.setting.persona,
    "strategy": lambda run: run.setting.strategy,
    "examiner": lambda run: run.setting.examiner,
    "judge": lambda run: judge_words(run.setting),
}
"""What columns can be made of, besides `journal`."""
JOURNAL = "journal"


def grid_view(journals: Mapping[int, WatchedJournal], where: str, by: Sequence[str]) -> dict[str, Any]:
    """Return cases by columns, each cell with its trials in order.

    Args:
        journals: The journals by their numbers.
        where: A filter expression; empty for all runs.
        by: What columns are made of: keys of `FACETS`, or `JOURNAL`; a column is each combination that there is.

    Returns:
        The columns, the rows of cases, and in `varied` the number of values of each fact that could be a column.

    Raises:
        FilterError: `where` is not an expression.
        ValueError: `by` names something else.
    """
    if unknown := [name for name in by if name not in FACETS and name != JOURNAL]:
        raise ValueError(f"there are no columns by {unknown[0]!r:.60}; there are {', '.join([*FACETS, JOURNAL])}")
    values: dict[str, dict[str, None]] = {name: {} for name in FACETS}
    columns: dict[tuple[str, ...], int] = {}
    cells: dict[str, dict[int, list[list[Any]]]] = {}
    left_out = 0
    for number, journal in journals.items():
        for listed in journal.matching(where):
            record = listed.record
            facts = {name: facet(record) for name, facet in FACETS.items()}
            # A run without a record has only some of the facts.
            for name, value in facts.items() if listed.ended else ():
                if len(values[name]) < MOST_COLUMNS:
                    values[name].setdefault(value)
            facts[JOURNAL] = journal.name
            key = tuple(facts[name] for name in by)
            if key not in columns and len(columns) == MOST_COLUMNS:
                left_out += 1
                continue
            place = columns.setdefault(key, len(columns))
            cells.setdefault(listed.case, {}).setdefault(place, []).append(_trial(listed, number))
    # One agent's versions or personas stand side by side, in their own order.
    order = sorted(columns, key=lambda key: [natural(each) for each in key]) if len(by) > 1 else list(columns)
    places = [columns[key] for key in order]
    rows = [
        {"case": one_line(case, 200), "cells": [sorted(inner.get(place, ()), key=_order) for place in places]}
        for case, inner in islice(cells.items(), max(1, MOST_CELLS // max(1, len(columns))))
    ]
    varied = {name: len(found) for name, found in values.items() if len(found) > 1 or name == "agent"}
    return {
        "agents": [" · ".join(one_line(value, 200) or "none" for value in key) for key in order],
        "rows": rows,
        "cases": len(cells),
        "varied": varied | ({JOURNAL: len(journals)} if len(journals) > 1 else {}),
        "left_out": left_out,
    }


def _trial(listed: ListedRun, journal: int) -> list[Any]:
    return [listed.trial, listed.standing, listed.score, listed.run, journal]


def _order(trial: Sequence[Any]) -> tuple[int, int, str]:
    return trial[4], trial[0], trial[3]
