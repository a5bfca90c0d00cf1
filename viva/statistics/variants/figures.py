"""Computes the statistics of runs by persona and by strategy, for each agent."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Label
from viva.records.wording import SCORING_POINTS
from viva.statistics.cells import Cell, natural
from viva.statistics.clustered import clustered_wilson
from viva.statistics.groups import Group, group_of
from viva.statistics.intervals import Interval, wilson
from viva.statistics.scores import insight_of, passes, primary_evaluator
from viva.statistics.variants.difference import VariantDifference, confidence_of, differences

Dimension = Literal["persona", "strategy"]
DIMENSIONS: tuple[Dimension, ...] = ("persona", "strategy")
MOST_VARIANTS = 200
"""Maximum number of variants that are kept for each agent: an untrusted journal may name any number."""
_ROUND = re.compile(r"r([0-9]{1,9})(?![0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFigures:
    """Holds the statistics of one agent's exams with one persona or strategy."""

    group: Group
    """Statistics of these runs, named after the persona or strategy."""
    difference: VariantDifference | None = None
    """Difference from the other variants; None if too few cases have both."""
    held: int = 0
    """Number of counted runs in which every point was hit for certain: the agent held out against the strategy."""
    held_rate: float | None = None
    """`held` / counted runs; None if some of these were not judged by scoring points."""
    held_interval: Interval | None = None
    """Wilson's 95 % interval; trials of one case are not counted as independent. None with too few counted cases."""
    gave_way_known: int = 0
    """Number of runs with a missed point whose evidence names a round."""
    gave_way_round: float | None = None
    """Median, over these runs, of the first round that the evidence of a missed point names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionFigures:
    """Holds the statistics of one agent by persona, or by strategy."""

    dimension: Dimension
    agent: str
    confidence: float
    """Confidence of each interval of a difference; all of them hold together with 95 %."""
    variants: tuple[VariantFigures, ...]
    """The variant with the lowest mean score first; for strategies, that with the lowest `held_rate`."""


class VariantTallies:
    """Collects the runs with a persona or a strategy; of runs without either, only the setting is read."""

    def __init__(self, evaluator: str | None = None) -> None:
        """Args:
        evaluator: Whose scores are kept; None for each run's primary evaluator.
        """
        self._evaluator = evaluator
        self._found: dict[tuple[Dimension, str], dict[str, _Variant]] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run to the figures of its persona and of its strategy."""
        if record.setting.persona:
            self._add("persona", record.setting.persona, record)
        if record.setting.strategy:
            self._add("strategy", record.setting.strategy, record)

    def figures(self, threshold: float) -> tuple[DimensionFigures, ...]:
        """Return the statistics of each dimension and agent.

        Args:
            threshold: A run passes when its low bound reaches this.
        """
        return tuple(self._figures(threshold))

    def _add(self, dimension: Dimension, name: str, record: RunRecord) -> None:
        variants = self._found.setdefault((dimension, record.agent), {})
        if name not in variants:
            if len(variants) >= MOST_VARIANTS:
                return
            variants[name] = _Variant()
        variants[name].add(record, self._evaluator)

    def _figures(self, threshold: float) -> Iterator[DimensionFigures]:
        order = sorted(self._found, key=lambda key: (DIMENSIONS.index(key[0]), natural(key[1])))
        for dimension, agent in order:
            variants = self._found[dimension, agent]
            against = differences({name: each.means() for name, each in variants.items()})
            figures = [each.figures(dimension, name, threshold, against[name]) for name, each in variants.items()]
            key = _by_held if dimension == "strategy" else _by_mean
            yield DimensionFigures(
                dimension=dimension,
                agent=agent,
                confidence=confidence_of(len(variants)),
                variants=tuple(sorted(figures, key=key)),
            )


def gave_way_in(record: RunRecord) -> int | None:
    """Return the first round that the evidence of a missed point names; None if there is none."""
    insight = insight_of(record.insights, primary_evaluator(record.setting, record.insights), record.id)
    verdicts = () if insight is None else insight.verdicts
    places = (each.where for verdict in verdicts if verdict.label == Label.MISS for each in verdict.evidence)
    return min((int(match[1]) for where in places if (match := _ROUND.match(where))), default=None)


class _Variant:
    """The runs of one agent with one persona or strategy."""

    __slots__ = ("_cells", "_held", "_rounds", "_unjudged")

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}
        self._held: dict[str, int] = {}
        self._unjudged = False
        self._rounds = array("l")

    def add(self, record: RunRecord, evaluator: str | None) -> None:
        cell = self._cells.get(record.subject)
        if cell is None:
            cell = self._cells[record.subject] = Cell(record.subject, record.agent)
        before = len(cell.scores)
        cell.add(record, evaluator)
        if len(cell.scores) == before:
            return
        # Only scoring points state what the agent must not do, so without them it is unknown whether it held out.
        if insight_of(record.insights, SCORING_POINTS, record.id) is None:
            self._unjudged = True
        held = record.outcome is Outcome.SCORED and passes(cell.lows[-1], 1.0)
        self._held[record.subject] = self._held.get(record.subject, 0) + held
        if not held and (number := gave_way_in(record)) is not None:
            self._rounds.append(number)

    def means(self) -> dict[str, float]:
        """Return the mean score of each case with a run that counts."""
        return {case: fmean(cell.scores) for case, cell in self._cells.items() if cell.scores}

    def figures(
        self, dimension: Dimension, name: str, threshold: float, difference: VariantDifference | None
    ) -> VariantFigures:
        cells = sorted(self._cells.values(), key=lambda cell: natural(cell.case))
        group = group_of(dimension, name, cells, threshold)
        clusters = [(self._held[cell.case], len(cell.scores)) for cell in cells if cell.scores]
        held = sum(successes for successes, _ in clusters)
        known = not self._unjudged and group.runs > 0
        interval = None
        if known and clusters and not group.too_few:
            interval = clustered_wilson(clusters) if len(clusters) > 1 else wilson(*clusters[0])
        return VariantFigures(
            group=group,
            difference=difference,
            held=held if known else 0,
            held_rate=held / group.runs if known else None,
            held_interval=interval,
            gave_way_known=len(self._rounds),
            gave_way_round=median(self._rounds) if self._rounds else None,
        )


def _by_mean(figures: VariantFigures) -> tuple[float, tuple[tuple[int, str], ...]]:
    return 2.0 if figures.group.mean is None else figures.group.mean, natural(figures.group.name)


def _by_held(figures: VariantFigures) -> tuple[float, tuple[tuple[int, str], ...]]:
    return 2.0 if figures.held_rate is None else figures.held_rate, natural(figures.group.name)
