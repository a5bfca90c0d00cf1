"""Keeps a few numbers of each run for the statistics, by case and agent, so that 10,000 runs stay small."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from functools import lru_cache

from viva.journal.tallies.round_tally import number_of
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import adds_nothing
from viva.statistics.scores import passes, primary_evaluator, score_of, why_excluded
from viva.statistics.usage_sum import UsageSum

NOT_TOLD = "unknown"
Trial = int | tuple[int, str, str]
"""What distinguishes the runs of one case by one agent: the number of the trial, with persona and strategy if there are
any. Runs of two suites are paired by it."""


class Cell:
    """Holds what is kept of the runs of one case by one agent: four numbers of each, and sums."""

    # fmt: off
    __slots__ = (
        "_usage", "agent", "broke_off", "cached_answers", "case", "excluded", "highs", "lows", "rounds", "scores",
        "seconds", "stops", "tags", "thresholds", "trials",
    )
    # fmt: on

    def __init__(self, case: str, agent: str) -> None:
        self.case, self.agent = case, agent
        self.scores, self.lows, self.highs = array("d"), array("d"), array("d")
        self.trials: list[Trial] = []
        self.broke_off = array("b")
        """Whether the agent failed, for each run: a run in which it did never passes, not even at a threshold of 0."""
        self.thresholds: dict[int, float] = {}
        """The thresholds of the case itself, by the run's place; most cases have none."""
        self.tags: dict[str, None] = {}
        self.excluded: dict[str, int] = {}
        self.stops: dict[str, int] = {}
        self._usage: dict[str, UsageSum] = {}
        self.rounds = 0
        self.cached_answers = 0
        self.seconds = 0.0

    def add(self, record: RunRecord, evaluator: str | None = None) -> None:
        """Add one run, with the score that an evaluator gave it; None is the primary evaluator."""
        scored = score_of(record, evaluator)
        if scored is None:
            why = why_excluded(record, evaluator)
            self.excluded[why] = self.excluded.get(why, 0) + 1
        else:
            own = record.setting.threshold
            if own is not None and evaluator in (None, primary_evaluator(record.setting, record.insights)):
                self.thresholds[len(self.scores)] = own
            score, low, high = scored
            self.scores.append(score)
            self.lows.append(low)
            self.highs.append(high)
            self.trials.append(trial_of(record))
            self.broke_off.append(record.outcome is _TARGET_ERROR)
        stop = record.stop._value_ if record.stop else NOT_TOLD
        self.stops[stop] = self.stops.get(stop, 0) + 1
        for tag in record.tags:
            self.tags[tag] = None
        for role, used in record.usage.items():
            found = self._usage.get(role)
            if found is None:
                found = self._usage[role] = UsageSum()
            if not adds_nothing(used):  # most roles called no model
                found.add(used)
        self.seconds += record.timing.seconds
        self.rounds += number_of(record.rounds, least=0) or 0
        self.cached_answers += record.cached_answers

    def add_usage_to(self, sums: dict[str, UsageSum]) -> None:
        """Add the usage of all runs to sums by role."""
        for role, found in self._usage.items():
            if role not in sums:
                sums[role] = UsageSum()
            sums[role].join(found)

    def passed(self, threshold: float) -> int:
        """Count the runs that pass, of those that count."""
        return sum(self.passing(threshold))

    def passing(self, threshold: float) -> list[bool]:
        """Return for each counted run whether it passes, in the order of `trials`."""
        own = self.thresholds
        runs = enumerate(zip(self.lows, self.broke_off, strict=True))
        return [not broke_off and passes(low, own.get(place, threshold)) for place, (low, broke_off) in runs]

    @property
    def target_errors(self) -> int:
        """Count the runs in which the agent failed."""
        return sum(self.broke_off)


_TARGET_ERROR = Outcome.TARGET_ERROR


def trial_of(record: RunRecord) -> Trial:
    """Return what tells a run apart from the others of its case and agent."""
    setting = record.setting
    if not setting.persona and not setting.strategy:
        return record.trial
    return record.trial, setting.persona, setting.strategy


def gather_cells(records: Iterable[RunRecord], evaluator: str | None = None) -> list[Cell]:
    """Sort a stream of records into cells, by case, then agent, in natural order.

    Args:
        records: Any number, in any order.
        evaluator: Whose scores are kept; None for each run's primary evaluator.
    """
    cells: dict[tuple[str, str], Cell] = {}
    for record in records:
        key = (record.subject, record.agent)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell(*key)
        cell.add(record, evaluator)
    return sorted(cells.values(), key=lambda cell: (natural(cell.case), natural(cell.agent)))


@lru_cache(maxsize=4096)
def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Make a sort key that puts `task 2` before `task 10`."""
    parts = re.split(r"([0-9]{1,18})", name)
    return tuple((int(part), "") if i % 2 else (-1, part) for i, part in enumerate(parts))
