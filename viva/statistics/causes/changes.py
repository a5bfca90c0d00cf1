"""Compares how often what went wrong has which cause, on two sides: two journals, or two agents of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from viva.records.run_record import RunRecord
from viva.statistics.causes.cause import Cause
from viva.statistics.causes.names import CauseNames
from viva.statistics.causes.tally import CauseTally, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseChange:
    """Holds one cause with its runs on both sides, which are grouped together, so that it is the same cause."""

    cause: Cause
    """The cause over both sides, and all other agents of their journals."""
    first: int
    """Runs of A with this cause."""
    second: int
    first_runs: int
    """Runs of A that count."""
    second_runs: int

    @property
    def first_share(self) -> float:
        """Return the part of A's runs that have this cause."""
        return self.first / self.first_runs if self.first_runs else 0.0

    @property
    def second_share(self) -> float:
        """Return the part of B's runs that have this cause."""
        return self.second / self.second_runs if self.second_runs else 0.0

    @property
    def kind(self) -> str:
        """Return `new`, `gone`, `more`, `less` or `same`, by the shares alone: chance is not taken into account."""
        if not (self.first and self.second):
            return "new" if self.second else "gone"
        difference = self.second_share - self.first_share
        return "same" if abs(difference) < 1e-9 else "more" if difference > 0 else "less"


class CauseChanges:
    """Collects the runs of one or two journals while they are read."""

    def __init__(self, names: CauseNames | None = None) -> None:
        """Args:
        names: The names that models gave causes.
        """
        self._names = names
        self._tally = CauseTally()

    def watched(self, records: Iterable[RunRecord], journal: int) -> Iterator[RunRecord]:
        """Yield the records of a journal, and add them."""
        for record in records:
            self._tally.add(record, journal)
            yield record

    def between(self, first: Side, second: Side) -> tuple[CauseChange, ...]:
        """Return the causes of both sides, those whose shares differ most first."""
        counted = self._tally.counted
        found = [
            CauseChange(
                cause=cause if self._names is None else self._names.named(cause),
                first=runs[first],
                second=runs[second],
                first_runs=counted[first],
                second_runs=counted[second],
            )
            for cause, runs, _ in self._tally.sides()
            if runs[first] or runs[second]
        ]
        return tuple(sorted(found, key=lambda each: -abs(each.second_share - each.first_share)))
