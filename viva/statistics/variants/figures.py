"""Computes the statistics of runs by persona, by strategy and by each setting that is varied, for each agent."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from viva.adapters.connectors.varied_spec import split_settings
from viva.records.run_record import RunRecord
from viva.records.verdict import Label
from viva.records.wording import SCORING_POINTS
from viva.statistics.cells import Cell, natural
from viva.statistics.clustered import clustered_wilson
from viva.statistics.groups import Group, group_of
from viva.statistics.intervals import Interval, wilson
from viva.statistics.scores import insight_of, passes, score_of
from viva.statistics.variants.difference import VariantDifference, confidence_of, differences

Dimension = Literal["persona", "strategy", "setting"]
DIMENSIONS: tuple[Dimension, ...] = ("persona", "strategy", "setting")
MOST_VARIANTS = 200
"""Maximum number of variants that are kept for each agent: an untrusted journal may name any number."""
_ROUND = re.compile(r"r([0-9]{1,9})(?![0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFigures:
    """Holds the statistics of one agent's exams with one persona, one strategy, or one value of a setting."""

    group: Group
    """Statistics of these runs, named after the persona, the strategy or the value."""
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
    """Holds the statistics of one agent by persona, by strategy, or by one of its settings."""

    dimension: Dimension
    agent: str
    """Its SPEC; for a setting, without settings."""
    setting: str = ""
    """The name of the setting; empty for other dimensions."""
    confidence: float
    """Confidence of each interval of a difference; all of them hold together with 95 %, also over several settings."""
    variants: tuple[VariantFigures, ...]
    """The variant with the lowest mean score first; for strategies, that with the lowest `held_rate`."""


class VariantTallies:
    """Collects the runs with a persona, a strategy or settings of the agent; others are left alone."""

    def __init__(self, evaluator: str | None = None) -> None:
        """Args:
        evaluator: Whose scores are kept; None for each run's primary evaluator.
        """
        self._evaluator = evaluator
        self._found: dict[tuple[Dimension, str, str], dict[str, _Variant]] = {}
        """By dimension, agent and setting, then by the name of the variant."""

    def add(self, record: RunRecord) -> None:
        """Add one run to the figures of its persona, of its strategy, and of its agent's settings."""
        if record.setting.persona:
            self._add("persona", record.setting.persona, record)
        if record.setting.strategy:
            self._add("strategy", record.setting.strategy, record)
        if record.agent.endswith("]"):
            varied = split_settings(record.agent)
            for setting, value in varied.settings.items():
                self._add("setting", value, record, varied.base, setting)

    def figures(self, threshold: float) -> tuple[DimensionFigures, ...]:
        """Return the statistics of each dimension and agent.

        Args:
            threshold: A run passes when its low bound reaches this.
        """
        return tuple(self._figures(threshold))

    def _add(self, dimension: Dimension, name: str, record: RunRecord, agent: str = "", setting: str = "") -> None:
        variants = self._found.setdefault((dimension, agent or record.agent, setting), {})
        if name not in variants:
            if len(variants) >= MOST_VARIANTS:
                return
            variants[name] = _Variant(agent or record.agent)
        variants[name].add(record, self._evaluator)

    def _figures(self, threshold: float) -> Iterator[DimensionFigures]:
        order = sorted(self._found, key=lambda key: (DIMENSIONS.index(key[0]), natural(key[1])))
        for dimension, agent, setting in order:
            variants = self._found[dimension, agent, setting]
            if setting and len(variants) < 2:
                continue  # it was not varied
            confidence = confidence_of(*self._compared(agent) if setting else (len(variants),))
            against = differences({name: each.means() for name, each in variants.items()}, confidence)
            figures = [each.figures(dimension, name, threshold, against[name]) for name, each in variants.items()]
            key = _by_held if dimension == "strategy" else _by_mean
            yield DimensionFigures(
                dimension=dimension,
                agent=agent,
                setting=setting,
                confidence=confidence,
                variants=tuple(sorted(figures, key=key)),
            )

    def _compared(self, agent: str) -> list[int]:
        """Return the number of values of each setting of an agent that is varied."""
        found = (len(variants) for (_, of, setting), variants in self._found.items() if setting and of == agent)
        return [number for number in found if number > 1]


def gave_way_in(record: RunRecord) -> int | None:
    """Return the first round that the evidence of a missed scoring point names; None if there is none."""
    insight = insight_of(record.insights, SCORING_POINTS, record.id)
    verdicts = () if insight is None else insight.verdicts
    places = (each.where for verdict in verdicts if verdict.label == Label.MISS for each in verdict.evidence)
    return min((int(match[1]) for where in places if (match := _ROUND.match(where))), default=None)


class _Variant:
    """The runs of one agent with one persona, one strategy or one value of a setting."""

    __slots__ = ("_agent", "_cells", "_held", "_rounds", "_unjudged")

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._cells: dict[str, Cell] = {}
        self._held: dict[str, int] = {}
        self._unjudged = False
        self._rounds = array("l")

    def add(self, record: RunRecord, evaluator: str | None) -> None:
        cell = self._cells.get(record.subject)
        if cell is None:
            cell = self._cells[record.subject] = Cell(record.subject, self._agent)
        before = len(cell.scores)
        cell.add(record, evaluator)
        if len(cell.scores) == before:
            return
        # Only scoring points state what the agent must not do, whichever evaluator is the primary one: without them, it
        # is unknown whether it held out.
        points = score_of(record, SCORING_POINTS)
        if points is None or insight_of(record.insights, SCORING_POINTS, record.id) is None:
            self._unjudged = True
        held = points is not None and passes(points.low, 1.0)
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
