"""Follows causes of misses from suite to suite: how large a share of each agent's runs has which cause.

The misses of all suites are grouped together, as in a comparison (`viva.statistics.causes.changes`): a cause is the
same in two suites because one grouping holds the misses of both, not because two ids are equal.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from viva.records.run_record import RunRecord
from viva.statistics.causes.cause import Cause
from viva.statistics.causes.names import CauseNames
from viva.statistics.causes.tally import CauseTally, Side, SidedCause, TalliedRun
from viva.statistics.over_time.trends import Conversations, began_at, fill

MOST_POINTS = 20
"""Maximum number of suites of one trend: the newest."""
MOST_TRENDS = 5_000
ORDER = ("new", "back", "more", "gone", "less", "same", "single")


@dataclass(frozen=True, slots=True, kw_only=True)
class CausePoint:
    """One suite: the runs of one journal, and of one agent version if runs name versions."""

    source: str
    """The journal, as it was named: hostile text."""
    version: str | None
    started: float
    """When its first run began, in seconds since the epoch; 0 if that is not known."""
    found: int
    """Runs with the cause."""
    runs: int
    """Runs that count, at least 1."""

    @property
    def mean(self) -> float:
        """Return the share of the runs that have the cause, in [0, 1]."""
        return self.found / self.runs


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseTrend:
    """One cause of one agent over the suites that tried at least one of the cases it was found in, oldest first."""

    cause: Cause
    """The cause over all suites and agents."""
    agent: str
    points: tuple[CausePoint, ...]
    """The newest suites, at most `MOST_POINTS`."""
    kind: str
    """In the newest suite, compared with the one before it: `new` (in no earlier one), `back` (not in the one before,
    but in an earlier one), `more`, `gone`, `less` or `same`; `single` if there is no earlier one. By the shares alone:
    chance is not taken into account."""

    @property
    def change(self) -> float:
        """Return the share in the newest suite minus that in the one before it; 0 if there is none."""
        return self.points[-1].mean - self.points[-2].mean if len(self.points) > 1 else 0.0


@dataclass(slots=True)
class _TrendSuite:
    source: str
    version: str | None
    started: float = math.inf


class CauseTrendTally:
    """Collects the runs of several suites while they are read."""

    def __init__(self, conversations: Conversations | None = None) -> None:
        """Args:
        conversations: The numbers of their conversations, where others number the same ones.
        """
        self._conversations = conversations or Conversations()
        self._tally = CauseTally()
        self._suites: dict[tuple[str, str | None], int] = {}
        self._about: list[_TrendSuite] = []
        self._cases: dict[tuple[int, str], Counter[str]] = {}
        """Runs that count, by suite and agent, and then by case."""
        # By the number of the conversation: as objects, 100,000 runs would take ten times the memory.
        self._counts = array("i")
        """Place in `_sides`; -1 for a run that does not count."""
        self._numbers = array("i")
        """The number of `TalliedRun`; -1 for none."""
        self._sided: dict[tuple[Side, str], int] = {}
        """The place in `_sides` of each side and case of runs that count."""
        self._sides: list[tuple[Side, str]] = []

    def add(self, record: RunRecord, source: str) -> None:
        """Add one run; a conversation that was judged again counts once, as it was added last.

        Args:
            record: The run.
            source: The journal that it is from.
        """
        known = self._conversations.number(record)
        if known is not None:
            fill(self._counts, known)
            fill(self._numbers, known)
            if self._counts[known] >= 0:
                self._take_back(known)
        place = self._suites.setdefault((source, record.agent_version), len(self._about))
        if place == len(self._about):
            self._about.append(_TrendSuite(source, record.agent_version))
        added = self._tally.add(record, place)
        if added is not None:
            self._cases.setdefault(added.side, Counter())[record.subject] += 1
            self._about[place].started = min(self._about[place].started, began_at(record) or math.inf)
        if known is not None:
            self._counts[known] = -1 if added is None else self._place(added.side, record.subject)
            self._numbers[known] = -1 if added is None or added.number is None else added.number

    def _place(self, side: Side, case: str) -> int:
        place = self._sided.setdefault((side, case), len(self._sides))
        if place == len(self._sides):
            self._sides.append((side, case))
        return place

    def _take_back(self, known: int) -> None:
        side, case = self._sides[self._counts[known]]
        number = self._numbers[known]
        self._tally.forget(TalliedRun(side, None if number < 0 else number))
        self._cases[side][case] -= 1

    def trends(self, names: CauseNames | None = None) -> tuple[CauseTrend, ...]:
        """Return the trends, new causes first, those that changed most first; none if there is only one suite.

        Args:
            names: The names that models gave causes.
        """
        counted = {place for (place, _), runs in self._tally.counted.items() if runs > 0}
        if len(counted) < 2:
            return ()
        order = sorted(counted)
        if all(self._about[place].started < math.inf for place in order):
            order.sort(key=lambda place: self._about[place].started)
        found = [trend for sided in self._tally.sides() for trend in self._of_cause(sided, order, names)]
        found.sort(key=lambda each: (ORDER.index(each.kind), -abs(each.change)))
        return tuple(found[:MOST_TRENDS])

    def _of_cause(self, sided: SidedCause, order: Iterable[int], names: CauseNames | None) -> Iterator[CauseTrend]:
        places = list(order)
        cause = sided.cause if names is None else names.named(sided.cause)
        for agent, cases in sided.cases.items():
            points = [
                CausePoint(
                    source=self._about[place].source,
                    version=self._about[place].version,
                    started=self._about[place].started if self._about[place].started < math.inf else 0.0,
                    found=sided.runs[place, agent],
                    runs=self._tally.counted[place, agent],
                )
                for place in places
                if self._tried(place, agent, cases)
            ]
            yield CauseTrend(
                cause=cause,
                agent=agent,
                points=tuple(points[-MOST_POINTS:]),
                kind=_kind([p.mean for p in points]),
            )

    def _tried(self, place: int, agent: str, cases: Iterable[str]) -> bool:
        """Return whether a suite tried one of these cases: if it did not, it says nothing of their cause."""
        runs = self._cases.get((place, agent))
        return runs is not None and any(runs[case] > 0 for case in cases)


def _kind(shares: list[float]) -> str:
    if len(shares) < 2:
        return "single"
    *earlier, before, now = shares
    if now and not before:
        return "back" if any(earlier) else "new"
    if not now:
        return "gone" if before or any(earlier) else "same"
    return "same" if abs(now - before) < 1e-9 else "more" if now > before else "less"
