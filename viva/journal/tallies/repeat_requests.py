"""Which runs of a journal are to be repeated, by its `requeue` and `repeat` lines: one rule for all readers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Run = TypeVar("Run", bound=Hashable)


class RepeatRequests(Generic[Run]):
    """Notes the requests of a journal as its lines are read, in their order.

    A request is about the newest attempt above it: that of one run, or those of all runs of which there is a line above
    it. Only a further attempt answers it. A record of the same attempt does not, even if it is written below the
    request: it is the result of what is to be repeated.
    """

    def __init__(self) -> None:
        self._number = 0
        """The number of requests so far."""
        self._all = 0
        """The number of the newest one that is about all runs; 0 if there is none."""
        self._alone: dict[Run, int] = {}
        """The number of the newest one that is about a run alone."""
        # Nothing is kept of a run whose newest attempt began above the first request, so most journals need no memory.
        self._begun: dict[Run, int] = {}
        """The number of requests above the first line of a run's newest attempt."""
        self._recorded: dict[Run, int] = {}
        """The same of the attempt with its newest record."""

    def begin(self, run: Run) -> None:
        """Note the first line of a further attempt."""
        if self._number:
            self._begun[run] = self._number

    def record(self, run: Run) -> None:
        """Note a record of the newest attempt."""
        if (begun := self._begun.get(run)) is not None:
            self._recorded[run] = begun

    def request(self, run: Run) -> None:
        """Note that a run is to be repeated."""
        self._number += 1
        self._alone[run] = self._number

    def request_all(self) -> None:
        """Note that every run is to be repeated."""
        self._number += 1
        self._all = self._number

    def __bool__(self) -> bool:
        """Return whether there is a request, answered or not."""
        return self._number > 0

    def is_open(self, run: Run) -> bool:
        """Return whether no attempt at a run has begun since it was requested."""
        return self._begun.get(run, 0) < self._newest(run)

    def is_open_to_all(self, run: Run) -> bool:
        """Return whether that is so because every run was requested."""
        return self._begun.get(run, 0) < self._all

    def is_outdated(self, run: Run) -> bool:
        """Return whether a further record of a run is awaited, if there is a first one."""
        return self._recorded.get(run, 0) < self._newest(run)

    def _newest(self, run: Run) -> int:
        return max(self._all, self._alone.get(run, 0))
