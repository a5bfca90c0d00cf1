"""What no gate passes over: runs that were repeated after they had counted."""

from __future__ import annotations

from viva.records.run_record import Outcome
from viva.records.wording import counted
from viva.statistics.summary import Figures


def counted_before(figures: Figures) -> list[str]:
    """Return in words which runs were repeated after they had counted: whoever may choose these could pass any gate."""
    return [
        f"{counted(group.runs, 'run')} {_first_end(group.outcome)}; no gate passes over that: start a new suite"
        for group in figures.requeued
        if group.outcome.counts
    ]


def _first_end(outcome: Outcome) -> str:
    if outcome is Outcome.SCORED:
        return "had been scored before the user repeated only some of the runs"
    return f"ended as {outcome.value} and counted, before the user requeued them"
