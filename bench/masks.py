"""Whether the bounds of a suite hold the score of the complete set, whatever is deleted from it.

Verdicts and whole runs are deleted from suites whose complete scores are known: at random, or by an adversary who
deletes the hits first, or the misses, or the runs with the best or the worst scores.

usage: python -m bench masks
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from bench.table import Figure
from viva.judge.scoring_points.scoring import summarize as insight_of
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Insight, Label, Verdict
from viva.statistics.scores import LAST_BIT
from viva.statistics.summary import Figures, summarize

MASKS = 1_000
SETTING = Setting(evaluators=("scoring_points",))
GONE = (Outcome.INFRA_ERROR, Outcome.EXAMINER_ERROR, Outcome.JUDGE_ERROR, None)
"""What becomes of a deleted run; None is a run that never ended."""
Order = Callable[[Verdict], float]
ORDERS: tuple[Order | None, ...] = (
    None,
    lambda verdict: verdict.label != Label.HIT,
    lambda verdict: verdict.label == Label.HIT,
    lambda verdict: -verdict.weight * (1 if verdict.label == Label.HIT else -1),
)
"""Which verdicts are deleted first; None is at random."""


def complete(rng: random.Random) -> list[RunRecord]:
    """Return a suite in which every verdict is known."""
    made = []
    for case in range(rng.randint(1, 12)):
        weights = [rng.choice((0.5, 1, 2, 5)) for _ in range(rng.randint(1, 6))]
        skill = rng.random()
        for trial in range(1, rng.randint(1, 4) + 1):
            name = f"{case}-{trial}"
            labels = [Label.HIT if rng.random() < skill else Label.MISS for _ in weights]
            verdicts = [
                Verdict(name, str(number), label, None, weight=weight)
                for number, (label, weight) in enumerate(zip(labels, weights, strict=True))
            ]
            made.append(judged(name, str(case), trial, verdicts))
    return made


def judged(name: str, case: str, trial: int, verdicts: Sequence[Verdict]) -> RunRecord:
    """Return the record of a run with these verdicts, as an exam would leave it."""
    insight = insight_of("scoring_points", name, verdicts)
    outcome = Outcome.JUDGE_ERROR if insight.label == Label.ERROR else Outcome.SCORED
    bounds = {"low": insight.low, "high": insight.high}
    return RunRecord(
        name, case, "agent", outcome, insight.score, **bounds, trial=trial, insights=(insight,), setting=SETTING
    )


def masked(rng: random.Random, suite: Sequence[RunRecord]) -> tuple[list[RunRecord], int]:
    """Return the suite after a part of it was deleted, and the number of runs that have no record any more."""
    share, order = rng.random(), rng.choice(ORDERS)
    kept: list[RunRecord] = []
    absent = 0
    worst = sorted(suite, key=lambda record: record.score or 0, reverse=rng.random() < 0.5)
    victims = worst if order is not None else rng.sample(list(suite), len(suite))
    gone = {record.id for record in victims[: round(len(suite) * share * rng.random())]}
    left = [(record.id, verdict) for record in suite for verdict in record.insights[0].verdicts]
    rng.shuffle(left)
    if order is not None:
        left.sort(key=lambda each: order(each[1]))
    deleted = {(run, verdict.criterion) for run, verdict in left[: round(len(left) * share)]}
    for record in suite:
        if record.id in gone:
            outcome = rng.choice(GONE)
            absent += outcome is None
            if outcome is not None:
                kept.append(_without_verdicts(record, outcome))
            continue
        label = rng.choice((Label.UNSURE, Label.ERROR))
        verdicts = [
            replace(verdict, label=label) if (record.id, verdict.criterion) in deleted else verdict
            for verdict in record.insights[0].verdicts
        ]
        kept.append(judged(record.id, record.subject, record.trial, verdicts))
    return kept, absent


def _without_verdicts(record: RunRecord, outcome: Outcome) -> RunRecord:
    empty = Insight("scoring_points", record.id, Label.ERROR, None)
    return replace(record, outcome=outcome, score=None, low=None, high=None, insights=(empty,))


def bounds_of(figures: Figures) -> tuple[float, float]:
    """Return the bounds that reports show for the only agent."""
    if figures.missing:
        return figures.missing[0].low, figures.missing[0].high
    suite = figures.suite
    assert suite.low is not None
    assert suite.high is not None
    return suite.low, suite.high


def holds(seed: int) -> bool:
    """Return whether the bounds of one masked suite hold the score of the complete one."""
    rng = random.Random(seed)
    suite = complete(rng)
    kept, absent = masked(rng, suite)
    truth = summarize(suite).suite.mean
    assert truth is not None
    low, high = bounds_of(summarize(kept, absent=Counter({"agent": absent}) if absent else None))
    return low - LAST_BIT <= truth <= high + LAST_BIT


def figures() -> list[Figure]:
    """Return the figures of this benchmark."""
    held = sum(holds(seed) for seed in range(MASKS))
    return [Figure("masks of which the bounds hold the truth", held, "masks", MASKS, at_least=True)]
