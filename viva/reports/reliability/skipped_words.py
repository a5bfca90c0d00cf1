"""Says in words how many runs had nothing to judge, and why."""

from __future__ import annotations

from collections.abc import Iterator

from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.summary import Figures

MOST_SHOWN = 6


def skipped_lines(figures: Figures) -> Iterator[str]:
    """Yield a line for each reason for which runs were not scored because there was nothing to judge."""
    for group in figures.skipped[:MOST_SHOWN]:
        yield f"{counted(group.runs, 'run')}: {one_line(group.words, 400)}"
    if more := figures.skipped[MOST_SHOWN:]:
        yield f"{counted(sum(group.runs for group in more), 'run')}: {counted(len(more), 'further reason')}"
