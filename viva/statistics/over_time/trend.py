"""The data of trends: where one goes, its points and samples, and all that a stream of records shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from viva.statistics.intervals import Interval

OVERALL = "overall"
"""The dimension of an evaluator's own score."""


class Direction(StrEnum):
    """Where a trend goes; regressions come first in every list."""

    REGRESSION = "regression"
    """The mean fell, and the 95 % interval of the change excludes 0."""
    DROP = "drop"
    """The mean fell, but by no more than chance may explain."""
    FLAT = "flat"
    RISE = "rise"
    """The mean rose, but by no more than chance may explain."""
    IMPROVEMENT = "improvement"
    """The mean rose, and the 95 % interval of the change excludes 0."""
    SINGLE = "single"
    """There is nothing to compare with."""


class DrawnPoint(Protocol):
    """What a sparkline draws of a point."""

    @property
    def mean(self) -> float:
        """A mean or share in [0, 1]."""

    @property
    def version(self) -> str | None:
        """The agent's version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Some runs of one version that follow one another."""

    mean: float
    runs: int
    started: float
    """When the first of them began, in seconds since the epoch; 0 where that is not known."""
    ended: float
    """When the last of them began."""
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Some runs that are compared."""

    mean: float
    runs: int
    version: str | None = None
    """None if they are not of one known version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTrend:
    """The scores of one task and agent by one evaluator in one dimension, oldest first."""

    task: str
    agent: str
    evaluator: str
    dimension: str
    runs: int
    points: tuple[Point, ...]
    """The points: at most `MOST_POINTS`, or one for each version if there are more versions."""
    versions: tuple[Sample, ...]
    """The versions, in the order in which each was first seen."""
    now: Sample
    before: Sample | None
    direction: Direction
    change: float | None = None
    """Mean now minus mean before; None if there is nothing to compare with."""
    interval: Interval | None = None
    """95 % interval of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trends:
    """All trends, regressions first."""

    trends: tuple[TaskTrend, ...]
    runs: int
    """Runs that were read; one that was judged again counts once, as it was judged last."""
    excluded: int = 0
    """Runs that say nothing about the agent."""
    left_out: int = 0
    """Trends beyond `MOST_TRENDS`."""

    def of(self, direction: Direction) -> tuple[TaskTrend, ...]:
        """Return the trends that go this way."""
        return tuple(trend for trend in self.trends if trend.direction is direction)
