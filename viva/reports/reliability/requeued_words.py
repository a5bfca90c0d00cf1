"""Says in words which runs the user had done again."""

from __future__ import annotations

from collections.abc import Iterator

from viva.records.run_record import Outcome
from viva.records.wording import counted
from viva.statistics.summary import Figures


def requeued_lines(figures: Figures) -> Iterator[str]:
    """Yield a line for each first outcome of runs that the user had done again."""
    for group in figures.requeued:
        counts = " and counted" if group.outcome is Outcome.SCORED else " and counted against the agent"
        counts = counts if group.outcome.counts else ""
        yield (
            f"{counted(group.runs, 'run')} first ended as {group.outcome.value}{counts}; the user had "
            f"{'it' if group.runs == 1 else 'them'} repeated, and only the last attempt is in the figures"
        )
