"""What is kept of each run for the figures: a few numbers by case and agent, so that 10,000 runs stay small."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable

from records.run_record import Outcome, RunRecord
from records.transcript import NO_USAGE, Usage

UNSCORED = "unscored"
NOT_TOLD = "not told"
LAST_BIT = 1e-9
"""Scores closer than this are the same: one of thirds that add up to 1 must pass a threshold of 1."""


class Cell:
    """What is kept of the runs of one case by one agent: four numbers of each, and sums."""

    # fmt: off
    __slots__ = (
        "agent", "case", "excluded", "highs", "lows", "rounds", "scores", "seconds", "stops", "tags", "target_errors",
        "trials", "usage",
    )
    # fmt: on

    def __init__(self, case: str, agent: str) -> None:
        self.case, self.agent = case, agent
        self.scores, self.lows, self.highs = array("d"), array("d"), array("d")
        self.trials: list[int] = []
        self.tags: dict[str, None] = {}
        self.excluded: dict[str, int] = {}
        self.stops: dict[str, int] = {}
        self.usage: dict[str, Usage] = {}
        self.target_errors = self.rounds = 0
        self.seconds = 0.0

    def add(self, record: RunRecord) -> None:
        """Take one run."""
        scored = score_of(record)
        if scored is None:
            why = UNSCORED if record.outcome.counts else record.outcome.value
            self.excluded[why] = self.excluded.get(why, 0) + 1
        else:
            self.scores.append(scored[0])
            self.lows.append(scored[1])
            self.highs.append(scored[2])
            self.trials.append(record.trial)
            self.target_errors += record.outcome is Outcome.TARGET_ERROR
        stop = record.stop.value if record.stop else NOT_TOLD
        self.stops[stop] = self.stops.get(stop, 0) + 1
        self.tags.update(dict.fromkeys(record.tags))
        for role, used in record.usage.items():
            self.usage[role] = self.usage.get(role, NO_USAGE) + used
        self.seconds += record.timing.seconds
        self.rounds += record.rounds

    def passed(self, threshold: float) -> int:
        """How many of the runs that count pass."""
        return sum(passes(low, threshold) for low in self.lows)


def passes(low: float, threshold: float) -> bool:
    """Whether a run with this low bound passes."""
    return low >= threshold - LAST_BIT


def score_of(record: RunRecord) -> tuple[float, float, float] | None:
    """(score, low, high) of a run that counts; None for one that must not be averaged.

    An agent that failed before anything could be judged has earned nothing.
    """
    if not record.outcome.counts:
        return None
    if record.score is None:
        return (0.0, 0.0, 0.0) if record.outcome is Outcome.TARGET_ERROR else None
    low = record.score if record.low is None else record.low
    return record.score, low, record.score if record.high is None else record.high


def gather(records: Iterable[RunRecord]) -> list[Cell]:
    """The cells of a stream of records, by case, then agent, in natural order."""
    cells: dict[tuple[str, str], Cell] = {}
    for record in records:
        key = (record.subject, record.agent)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell(*key)
        cell.add(record)
    return sorted(cells.values(), key=lambda cell: (natural(cell.case), natural(cell.agent)))


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Sort key that puts `task 2` before `task 10`."""
    parts = re.split(r"([0-9]{1,18})", name)
    return tuple((int(part), "") if i % 2 else (-1, part) for i, part in enumerate(parts))
