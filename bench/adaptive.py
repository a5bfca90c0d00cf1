"""Whether adaptive trials decide rightly, how often their intervals hold the truth, and how many runs they save.

Suites with known expected scores are simulated: of 5 to 50 cases, whose pass probabilities are mostly near 0 and 1,
high, or anywhere, with scores of 0 and 1 or of several points. Each is run until its decision.

usage: python -m bench adaptive
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from statistics import fmean, median

from bench.table import Figure
from viva.statistics.adaptive.evidence import BatchEvidence, Strata, evidence
from viva.statistics.adaptive.trials import first_batch, next_batch
from viva.statistics.adaptive.until import Aim, Until

SUITES = 2_000
CASES = (5, 10, 20, 50)
Cases = Callable[[random.Random, int], list[float]]
KINDS: dict[str, Cases] = {
    "mixed": lambda rng, n: [rng.betavariate(0.6, 0.2) for _ in range(n)],
    "good": lambda rng, n: [1 - 0.2 * rng.random() ** 2 if rng.random() < 0.4 else 0.995 for _ in range(n)],
    "alike": lambda rng, n: [0.95] * n,
    "flaky": lambda rng, n: [rng.uniform(0.2, 0.9) for _ in range(n)],
}
"""The expected scores of cases."""
POINTS = (1, 1, 5)
"""Points of a case, each hit or missed at random: the scores of a case are more alike with several."""
UNTIL = {
    "ci": Until(aim=Aim.CI, value=0.05),
    "compare": Until(aim=Aim.COMPARE, margin=0.1),
    "gate": Until(aim=Aim.GATE, value=0.8),
}


@dataclass(slots=True)
class Tally:
    """What came of the suites."""

    suites: int = 0
    held: int = 0
    wrong: int = 0
    undecided: int = 0
    runs: list[int] = field(default_factory=list)
    saved: list[float] = field(default_factory=list)
    """Against a fixed number of trials that is planned without knowing how scores vary."""
    saved_knowing: list[float] = field(default_factory=list)
    """Against one that is planned with the true variance."""

    @property
    def coverage(self) -> float:
        """Return the share of the intervals that hold the truth."""
        return self.held / self.suites


def one_suite(rng: random.Random, until: Until, expected: list[float], points: int, strata: Strata) -> BatchEvidence:
    """Run a suite until its decision is made or due."""

    def trial(place: int) -> float:
        return sum(rng.random() < expected[place] for _ in range(points)) / points

    numbers, batches = first_batch(strata), []
    while True:
        batches.append([[trial(place) for _ in range(number)] for place, number in enumerate(numbers)])
        seen = evidence(until, strata, batches)
        if seen.verdict or seen.due:
            return seen
        numbers = next_batch(until, strata, seen)


def simulate(name: str, kind: str, cases: int, suites: int, seed: int = 1) -> Tally:
    """Return what comes of many suites of one kind."""
    rng, tally, until = random.Random(f"{name} {kind} {cases} {seed}"), Tally(), UNTIL[name]
    compared = until.aim is Aim.COMPARE
    strata = Strata.of(cases, compared=compared)
    for _ in range(suites):
        points = rng.choice(POINTS)
        expected = KINDS[kind](rng, cases)
        if compared:
            better = rng.choice((0.0, 0.0, 0.1, 0.2))
            expected += [min(1.0, max(0.0, each + better + rng.uniform(-0.1, 0.1))) for each in expected]
        truth = sum(weight * each for weight, each in zip(strata.weights, expected, strict=True))
        seen = one_suite(rng, until, expected, points, strata)
        tally.suites += 1
        tally.held += seen.interval.low - 1e-9 <= truth <= seen.interval.high + 1e-9
        tally.wrong += is_wrong(until, seen, truth)
        tally.undecided += not seen.verdict
        tally.runs.append(seen.runs)
        variance = fmean(each * (1 - each) / points for each in expected)
        for saved, known in ((tally.saved, None), (tally.saved_knowing, variance)):
            saved.append(1 - seen.runs / (until.fixed_trials(cases, known) * len(expected)))
    return tally


def is_wrong(until: Until, seen: BatchEvidence, truth: float) -> bool:
    """Return whether a decision is wrong; an estimate is if it is farther from the truth than its half width."""
    if seen.verdict == "precise":
        return abs(seen.estimate - truth) > until.value
    wrong = {
        "above": truth <= until.value,
        "below": truth >= until.value,
        "second": truth <= 0,
        "first": truth >= 0,
        "equivalent": abs(truth) >= until.margin,
    }
    return wrong.get(seen.verdict, False)


def figures(suites: int = SUITES) -> list[Figure]:
    """Return the figures of this benchmark."""
    made: list[Figure] = []
    for name in UNTIL:
        tallies = {
            (kind, cases): simulate(name, kind, cases, suites // (len(KINDS) * len(CASES)))
            for kind, cases in product(KINDS, CASES)
        }
        every = list(tallies.values())
        total = sum(tally.suites for tally in every)
        by_kind = {
            kind: sum(t.held for (k, _), t in tallies.items() if k == kind)
            / sum(t.suites for (k, _), t in tallies.items() if k == kind)
            for kind in KINDS
        }
        by_cases = {
            cases: sum(t.held for (_, c), t in tallies.items() if c == cases)
            / sum(t.suites for (_, c), t in tallies.items() if c == cases)
            for cases in CASES
        }
        coverage = sum(tally.held for tally in every) / total
        note = ", ".join(f"{group} {value:.3f}" for group, value in (*by_kind.items(), *by_cases.items()))
        saved = median(each for tally in every for each in tally.saved)
        knowing = median(each for tally in every for each in tally.saved_knowing)
        kinds = ", ".join(
            f"{kind} {median(x for (k, _), t in tallies.items() if k == kind for x in t.saved):.0%}" for kind in KINDS
        )
        runs = sorted(each for tally in every for each in tally.runs)
        made += [
            Figure(f"{name}: wrong decisions", sum(t.wrong for t in every) / total, "share", 0.05),
            Figure(f"{name}: undecided when all is in", sum(t.undecided for t in every) / total, "share"),
            Figure(f"{name}: coverage after the stop", coverage, "share", 0.94, at_least=True, note=note),
            Figure(f"{name}: coverage after the stop", coverage, "share", 0.96),
            Figure(f"{name}: median of runs saved", saved, "share", 0.5, at_least=True, note=kinds),
            Figure(f"{name}: the same, if the variance was known", knowing, "share"),
            Figure(f"{name}: median of runs", runs[total // 2], "runs"),
        ]
    return made
