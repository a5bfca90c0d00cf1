"""Says in words between which bounds a mean score lies although runs are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.summary import Figures

MOST_AGENTS = 60


def missing_lines(figures: Figures, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield one line for each agent, if runs of any have no score; else none.

    Args:
        figures: The statistics.
        labels: The short name of each agent.
    """
    several = len(figures.missing) > 1
    for each in figures.missing[:MOST_AGENTS]:
        name = each.agent or ""
        whose = f"{labels.get(name) or one_line(name, 60)}: " if several else ""
        ends = f"{each.low:.2f}-{each.high:.2f}"
        how = (
            f"{each.missing} of them without a score; what is missing counts as 0 and as 1"
            if each.missing
            else "all with a score"
        )
        yield f"{whose}{ends} over {'all ' if each.runs > 1 else ''}{counted(each.runs, 'run')}, {how}"
