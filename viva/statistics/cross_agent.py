"""Compares agents, versions, frameworks and techniques by the rates of their trajectories on the same queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from viva.records.run_record import RunRecord
from viva.statistics.cells import natural
from viva.statistics.scores import score_of
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
    """Holds the figures of one side over the queries that all sides answered."""

    side: AnsweringAgent
    runs: int
    mean: float | None
    """Mean score of the runs that count; None if none does."""
    figures: TrajectoryFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAgent:
    """Holds a comparison."""

    sides: tuple[SideFigures, ...]
    queries: int
    """Queries answered by every side: only those are compared."""
    left_out: int
    """Queries that some side did not answer."""


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
    answered: dict[AnsweringAgent, set[str]] = {}
    both = _shared_names(read())
    for side, each in _sided(read(), both):
        answered.setdefault(side, set()).add(each.record.subject)
    every = set().union(*answered.values()) if answered else set()
    common = set.intersection(*answered.values()) if answered else set()
    tallies = {side: TrajectoryTally() for side in answered}
    runs: dict[AnsweringAgent, int] = dict.fromkeys(answered, 0)
    scores: dict[AnsweringAgent, list[float]] = {side: [] for side in answered}
    for side, each in _sided(read(), both):
        if each.record.subject in common:
            tallies[side].add(each.record)
            runs[side] += 1
            if (scored := score_of(each.record)) is not None:
                scores[side].append(scored.score)
    ordered = sorted(answered, key=lambda side: (side.other, natural(side.agent), natural(side.version), str(side)))
    return CrossAgent(
        sides=tuple(
            SideFigures(
                side=side,
                runs=runs[side],
                mean=sum(scores[side]) / len(scores[side]) if scores[side] else None,
                figures=tallies[side].figures(side.agent),
            )
            for side in ordered[:MOST_SIDES]
        ),
        queries=len(common),
        left_out=len(every) - len(common),
    )


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
