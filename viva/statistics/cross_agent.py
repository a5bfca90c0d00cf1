"""Compares agents, versions, frameworks and techniques by the rates of their trajectories on the same queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from viva.records.run_record import RunRecord
from viva.statistics.cells import natural
from viva.statistics.scores import score_of, why_excluded
from viva.statistics.trajectories import TrajectoryTally
from viva.statistics.trajectory_figures import TrajectoryFigures

MOST_SIDES = 50


@dataclass(frozen=True, slots=True)
class AnsweringAgent:
    """Who answered: names, as far as traces or the user tell. Hostile text like all that a recording says."""

    agent: str
    version: str = ""
    framework: str = ""
    technique: str = ""
    other: bool = False
    """Whether it is what was compared with, where both have the same names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFigures:
    """Holds the figures of one side over the compared queries."""

    side: AnsweringAgent
    runs: int
    mean: float | None
    """Mean score over the queries with a score on every side, each once whatever its trials; None if there are none."""
    excluded: Mapping[str, int]
    """Why runs are in no mean (an outcome, `unscored` or `skipped`) to their number."""
    figures: TrajectoryFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAgent:
    """Holds a comparison."""

    sides: tuple[SideFigures, ...]
    queries: int
    """Queries that every side answered in a run that counts: only those are compared."""
    scored: int
    """Those of them with a score on every side, over which the mean scores are."""
    left_out: int
    """Other queries."""
    not_counted: int
    """Those of `left_out` that every side answered, but some side in no run that counts: all ended as `judge_error`,
    for example."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run to compare."""

    record: RunRecord
    attributes: Mapping[str, Any]
    """Attributes of its transcript."""
    other: bool
    """Whether it belongs to what is compared with."""


def compare_agents(read: Callable[[], Iterable[ComparedRun]]) -> CrossAgent:
    """Compare the runs of several sides.

    Args:
        read: Reads all runs from their beginning; called several times.
    """
    found: dict[AnsweringAgent, _Answers] = {}
    both = _shared_names(read())
    for side, each in _sided(read(), both):
        found.setdefault(side, _Answers()).add(each.record)
    every = set().union(*(each.queries for each in found.values()))
    answered = _shared(each.queries for each in found.values())
    common = _shared(each.counted for each in found.values())
    scored = _shared(each.scores.keys() for each in found.values())
    tallies = {side: TrajectoryTally() for side in found}
    runs: dict[AnsweringAgent, int] = dict.fromkeys(found, 0)
    excluded: dict[AnsweringAgent, Counter[str]] = {side: Counter() for side in found}
    for side, each in _sided(read(), both):
        if each.record.subject in common:
            tallies[side].add(each.record)
            runs[side] += 1
            if score_of(each.record) is None:
                excluded[side][why_excluded(each.record)] += 1
    ordered = sorted(found, key=lambda side: (side.other, natural(side.agent), natural(side.version), str(side)))
    return CrossAgent(
        sides=tuple(
            SideFigures(
                side=side,
                runs=runs[side],
                mean=found[side].mean(scored),
                excluded=dict(excluded[side]),
                figures=tallies[side].figures(side.agent),
            )
            for side in ordered[:MOST_SIDES]
        ),
        queries=len(common),
        scored=len(scored),
        left_out=len(every) - len(common),
        not_counted=len(answered - common),
    )


class _Answers:
    """The queries that one side answered."""

    def __init__(self) -> None:
        self.queries: set[str] = set()
        self.counted: set[str] = set()
        """Those with a run that counts."""
        self.scores: dict[str, tuple[float, int]] = {}
        """The sum of the scores, and their number, of those with a scored run."""

    def add(self, record: RunRecord) -> None:
        """Add a run."""
        self.queries.add(record.subject)
        if record.outcome.counts:
            self.counted.add(record.subject)
        if (scored := score_of(record)) is not None:
            total, number = self.scores.get(record.subject, (0.0, 0))
            self.scores[record.subject] = total + scored.score, number + 1

    def mean(self, queries: Set[str]) -> float | None:
        """Return the mean over queries of the mean score of each; None of none."""
        return fmean(total / number for total, number in map(self.scores.__getitem__, queries)) if queries else None


def _shared(sets: Iterable[Set[str]]) -> set[str]:
    """Return what is in all sets; nothing if there is none."""
    found = [set(each) for each in sets]
    return set.intersection(*found) if found else set()


def _shared_names(runs: Iterable[ComparedRun]) -> frozenset[AnsweringAgent]:
    """The names that runs on both sides have: there, what is compared with is a side of its own."""
    found: dict[bool, set[AnsweringAgent]] = {False: set(), True: set()}
    for each in runs:
        found[each.other].add(_names(each))
    return frozenset(found[False] & found[True])


def _sided(
    runs: Iterable[ComparedRun], both: frozenset[AnsweringAgent]
) -> Iterator[tuple[AnsweringAgent, ComparedRun]]:
    for each in runs:
        names = _names(each)
        yield (
            (AnsweringAgent(names.agent, names.version, names.framework, names.technique, True), each)
            if (each.other and names in both)
            else (names, each)
        )


def _names(each: ComparedRun) -> AnsweringAgent:
    told = (each.attributes.get(name) for name in ("framework", "technique"))
    framework, technique = (value if isinstance(value, str) else "" for value in told)
    return AnsweringAgent(each.record.agent, each.record.agent_version or "", framework, technique)
