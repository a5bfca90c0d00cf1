"""Whether the intervals of corrected scores hold the score that people would give, and whether they are biased.

Suites of cases that differ in difficulty, with 3 to 6 points each, are judged by judges of known sensitivity and
specificity whose mistakes come in cases; people labelled some of the cases. A 95 % interval should hold the true score
in 0.95 of the suites.

usage: python -m bench corrected
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import fmean

from bench.table import Figure
from viva.statistics.corrected.clusters import CaseSums, CorrectedMean
from viva.statistics.corrected.prediction_powered import prediction_powered
from viva.statistics.corrected.rogan_gladen import rogan_gladen

SUITES = 2_000
SCORES = (0.5, 0.7, 0.85)
JUDGES = ((0.99, 0.98), (0.95, 0.9), (0.9, 0.7), (0.9, 0.2), (0.6, 0.4))
"""Sensitivity and specificity; the last one answers at random."""
DESIGNS = ((20, 80), (20, 0), (20, 20), (40, 160))
"""Cases with labels, and without."""
POINTS = (3, 6)
"""Least and greatest number of points of a case."""
SPREAD, CLUSTERED = 3.0, 9.0
"""How alike the points of a case are, and how alike the judge's mistakes there."""
Method = Callable[[Sequence[CaseSums]], CorrectedMean | None]


def suite(
    rng: random.Random,
    score: float,
    judge: tuple[float, float],
    cases: tuple[int, int],
    trials: int = 1,
    points: tuple[int, int] = POINTS,
) -> list[CaseSums]:
    """Return one suite. In all trials of a case, the judge treats the hits of a point alike, and so its misses."""
    made = []
    for number in range(sum(cases)):
        skill = rng.betavariate(score * SPREAD, (1 - score) * SPREAD)
        seen, rejected = (rng.betavariate(each * CLUSTERED, (1 - each) * CLUSTERED) for each in judge)
        number_of_points = rng.randint(*points)
        sums = CaseSums()
        for _ in range(number_of_points):
            truths = [rng.random() < skill for _ in range(trials)]
            strictness = rng.random()
            for truth in truths:
                judged = strictness < (seen if truth else 1 - rejected)
                if number < cases[0]:
                    sums.add_labelled(1 / number_of_points, truth=truth, judged=judged)
                else:
                    sums.add_other(1 / number_of_points, judged)
        made.append(sums)
    return made


@dataclass
class Tally:
    """Adds up what a method says of many suites with one true score."""

    score: float
    held: int = 0
    suites: int = 0
    refused: int = 0
    values: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, found: CorrectedMean | None) -> None:
        """Add one suite."""
        self.suites += 1
        if found is None:
            self.refused += 1
            return
        self.held += found.low <= self.score <= found.high
        self.values.append(found.value)
        self.widths.append(found.high - found.low)

    @property
    def coverage(self) -> float:
        """Return the share of intervals that hold the truth, of those that were given."""
        return self.held / len(self.values) if self.values else 1.0

    @property
    def bias(self) -> float:
        """Return the mean error in points of a hundred."""
        return 100 * (fmean(self.values) - self.score) if self.values else 0.0


def simulate(
    method: Method,
    score: float,
    judge: tuple[float, float],
    cases: tuple[int, int],
    suites: int = SUITES,
    seed: int = 1,
    trials: int = 1,
    points: tuple[int, int] = POINTS,
) -> Tally:
    """Return what a method says of many suites."""
    rng, tally = random.Random(f"{seed} {score} {judge} {cases}"), Tally(score)
    for _ in range(suites):
        tally.add(method(suite(rng, score, judge, cases, trials, points)))
    return tally


def with_accuracy_elsewhere(cases: Sequence[CaseSums]) -> CorrectedMean | None:
    """Correct the cases without labels by the judge's accuracy on those with labels, as if these were another suite."""
    return rogan_gladen([case for case in cases if not case.weight], [case for case in cases if case.weight])


def figures() -> list[Figure]:
    """Return the figures of this benchmark."""
    made: list[Figure] = []
    for judge in JUDGES:
        made += _of_judge(judge)
    return made + _of_judge(JUDGES[1], "10 trials of one point, ", trials=10, points=(1, 1))


def _of_judge(
    judge: tuple[float, float], what: str = "", *, trials: int = 1, points: tuple[int, int] = POINTS
) -> list[Figure]:
    def tallies(method: Method, designs: Sequence[tuple[int, int]]) -> list[Tally]:
        return [
            simulate(method, score, judge, cases, trials=trials, points=points)
            for score, cases in product(SCORES, designs)
        ]

    shown = f"{judge[0]:g}/{judge[1]:g}"
    made = _of(f"{what}PPI++, judge {shown}", tallies(prediction_powered, DESIGNS), 0.96)
    if judge[0] + judge[1] > 1:
        # With few labelled cases, a judge that is nearly always right made no mistake in them: how often it would in
        # others is not known, and these intervals are wider than they had to be.
        designs = [cases for cases in DESIGNS if cases[1]]
        made += _of(f"{what}Rogan-Gladen, judge {shown}", tallies(rogan_gladen, designs), 0.98)
        made += _of(
            f"{what}the same, labels of another suite, {shown}", tallies(with_accuracy_elsewhere, designs), 0.98
        )
    return made


def _of(name: str, tallies: Sequence[Tally], most: float) -> list[Figure]:
    given = [tally for tally in tallies if len(tally.values) >= tally.suites / 2]
    width = fmean(fmean(tally.widths) for tally in tallies if tally.widths)
    refused = sum(tally.refused for tally in tallies) / sum(tally.suites for tally in tallies)
    note = f"{min(t.coverage for t in tallies):.3f} to {max(t.coverage for t in tallies):.3f}, width {width:.2f}"
    note += f", refused {refused:.0%}" if refused else ""
    coverage = sum(t.held for t in tallies) / sum(len(t.values) for t in tallies)
    return [
        Figure(f"{name}: coverage", coverage, "share", 0.94, at_least=True, note=note),
        Figure(f"{name}: coverage", coverage, "share", most),
        Figure(f"{name}: largest bias", max((abs(t.bias) for t in given), default=0.0), "points", 1.0),
    ]
