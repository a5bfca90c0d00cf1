"""The statistics of each evaluator that judged: how many runs, how good, and the means of the scores it named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from viva.judge.exam.kinds import EXAM
from viva.records.run_record import RunRecord
from viva.statistics.cells import natural
from viva.statistics.scores import LAST_BIT, Score, evaluator_names, insight_of, primary_evaluator, score_of

MOST_EVALUATORS = 100
"""Evaluators that are kept of a stream of records, and named scores of each: a journal may be untrusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorStatistics:
    """Holds what one evaluator says of some runs: of all, of one agent's, or of one agent's with one case."""

    name: str
    """The evaluator's. Hostile text like all that a journal says."""
    agent: str | None = None
    """None for all runs."""
    case: str | None = None
    """None for all runs, and for all of one agent's."""
    primary: bool = False
    """Whether it decided the outcomes of all these runs."""
    judged: int = 0
    """Runs that it gave a score that counts; the means are taken over these."""
    not_judged: int = 0
    """Runs that it was to judge, and of which it has no such score."""
    mean: float | None = None
    low: float | None = None
    """Mean of the low bounds; what gates compare."""
    high: float | None = None
    """Mean of the high bounds."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Mean of each named score over the runs that have it; for all runs and for each agent, not for each case."""

    @property
    def has_bounds(self) -> bool:
        """Return whether the bounds differ because of open verdicts."""
        return self.low is not None and self.high is not None and self.high - self.low > LAST_BIT


class EvaluatorTallies:
    """Adds records up by evaluator: a few sums for each evaluator, agent and case, however many runs there are."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[tuple[str, str], _Tally]] = {}
        self._scores: dict[tuple[str, str], dict[str, _Mean]] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run."""
        primary, key = primary_evaluator(record.setting, record.insights), (record.agent, record.subject)
        for name in evaluator_names(record)[:MOST_EVALUATORS]:
            leads = name == primary
            if not leads and name == EXAM:
                continue  # it judges the examiner: see `viva.statistics.exams`
            cells = self._cells.get(name)
            if cells is None:
                if len(self._cells) >= MOST_EVALUATORS:
                    continue
                cells = self._cells[name] = {}
            tally = cells.get(key)
            if tally is None:
                tally = cells[key] = _Tally()
            scored = score_of(record, None if leads else name)
            tally.add(scored, leads)
            if scored is not None:
                insight = insight_of(record.insights, name, record.id)
                if insight is not None and insight.scores:
                    self._add_scores(self._scores.setdefault((name, record.agent), {}), insight.scores)

    def _add_scores(self, means: dict[str, _Mean], scores: Mapping[str, float]) -> None:
        for name, value in islice(scores.items(), MOST_EVALUATORS):
            mean = means.get(name)
            if mean is None:
                if len(means) >= MOST_EVALUATORS:
                    continue
                mean = means[name] = _Mean()
            mean.total += value  # as `add` does it
            mean.number += 1

    def overall(self) -> Iterator[EvaluatorStatistics]:
        """Yield the statistics of each evaluator over all runs, in the order in which they were first named."""
        for name, cells in self._cells.items():
            means = [found for (evaluator, _), found in self._scores.items() if evaluator == name]
            yield _statistics(name, list(cells.values()), means)

    def by_agent(self) -> Iterator[EvaluatorStatistics]:
        """Yield those of each evaluator and agent, agents in natural order."""
        for name, cells in self._cells.items():
            agents: dict[str, list[_Tally]] = {}
            for (agent, _), tally in cells.items():
                agents.setdefault(agent, []).append(tally)
            for agent in sorted(agents, key=natural):
                means = self._scores.get((name, agent))
                yield _statistics(name, agents[agent], [means] if means else [], agent)

    def by_cell(self) -> Iterator[EvaluatorStatistics]:
        """Yield those of each evaluator, case and agent, by case, then agent, in natural order."""
        for name, cells in self._cells.items():
            for agent, case in sorted(cells, key=lambda key: (natural(key[1]), natural(key[0]))):
                yield _statistics(name, [cells[agent, case]], [], agent, case)


class _Tally:
    __slots__ = ("high", "judged", "low", "not_judged", "primary", "score")

    def __init__(self) -> None:
        self.judged = self.not_judged = 0
        self.score = self.low = self.high = 0.0
        self.primary = True

    def add(self, scored: Score | None, primary: bool) -> None:
        if not primary:
            self.primary = False
        if scored is None:
            self.not_judged += 1
            return
        self.judged += 1
        score, low, high = scored
        self.score += score
        self.low += low
        self.high += high


class _Mean:
    __slots__ = ("number", "total")

    def __init__(self) -> None:
        self.total, self.number = 0.0, 0

    def add(self, value: float, number: int = 1) -> None:
        self.total += value
        self.number += number


def _statistics(
    name: str, tallies: list[_Tally], means: list[dict[str, _Mean]], agent: str | None = None, case: str | None = None
) -> EvaluatorStatistics:
    judged = sum(tally.judged for tally in tallies)
    scores: dict[str, _Mean] = {}
    for found in means:
        for score, mean in found.items():
            scores.setdefault(score, _Mean()).add(mean.total, mean.number)
    return EvaluatorStatistics(
        name=name,
        agent=agent,
        case=case,
        primary=all(tally.primary for tally in tallies),
        judged=judged,
        not_judged=sum(tally.not_judged for tally in tallies),
        mean=sum(tally.score for tally in tallies) / judged if judged else None,
        low=sum(tally.low for tally in tallies) / judged if judged else None,
        high=sum(tally.high for tally in tallies) / judged if judged else None,
        scores={score: mean.total / mean.number for score, mean in scores.items()},
    )
