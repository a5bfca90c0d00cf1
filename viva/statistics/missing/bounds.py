"""Bounds that hold over excluded and missing runs: verdicts are not missing at random.

A judge fails on long conversations, a provider on large ones, so the runs that remain are not a sample of all runs. An
interval around their mean says nothing about the others. These bounds assume nothing of what is missing (Manski 1989,
"Anatomy of the Selection Problem", Journal of Human Resources 24): the score of a missing run is 0 in the low bound
and 1 in the high one, and so is every point without a verdict in a run that was judged in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viva.judge.trajectory import SKIPPED
from viva.records.run_record import Outcome, RunRecord
from viva.statistics.cells import natural
from viva.statistics.scores import LAST_BIT, Score, primary_insight, score_of, why_excluded

UNKNOWN = Score(0.0, 0.0, 1.0)
"""What is known of a run without any verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingBounds:
    """Holds the bounds of the mean score over all runs, those without a score included."""

    agent: str | None = None
    """None for the runs of all agents."""
    runs: int
    """All runs, those without a score included."""
    missing: int
    """Of these: excluded from the averages, or never finished."""
    low: float
    """The mean score if everything that is missing turned out badly."""
    high: float
    """The mean score if everything that is missing turned out well."""


class MissingTallies:
    """Adds the bounds of runs up by agent."""

    def __init__(self, evaluator: str | None = None, absent: Mapping[str, int] | None = None) -> None:
        """Begin with the runs that have no record.

        Args:
            evaluator: Whose scores are bounded; None for each run's primary evaluator.
            absent: Agent to the number of runs that began and never finished.
        """
        self._evaluator = evaluator
        self._agents: dict[str, _BoundSums] = {}
        for agent, number in (absent or {}).items():
            self._of(agent).add(UNKNOWN, number, missing=True)

    def add(self, record: RunRecord) -> None:
        """Add one run; one in which the evaluator finds nothing to judge has no score that could be missing."""
        scored = score_of(record, self._evaluator)
        if scored is not None:
            self._of(record.agent).add(scored, 1, missing=False)
        elif why_excluded(record, self._evaluator) != SKIPPED:
            self._of(record.agent).add(_partial(record, self._evaluator), 1, missing=True)

    def by_agent(self) -> tuple[MissingBounds, ...]:
        """Return the bounds of each agent, if any agent's run is missing; else none, as a group's own bounds hold."""
        if not any(sums.missing for sums in self._agents.values()):
            return ()
        return tuple(self._agents[agent].bounds(agent) for agent in sorted(self._agents, key=natural))

    def _of(self, agent: str) -> _BoundSums:
        return self._agents.setdefault(agent, _BoundSums())


class _BoundSums:
    __slots__ = ("_high", "_low", "missing", "runs")

    def __init__(self) -> None:
        self.runs = self.missing = 0
        self._low = self._high = 0.0

    def add(self, scored: Score, number: int, *, missing: bool) -> None:
        self.runs += number
        self.missing += number if missing else 0
        self._low += scored.low * number
        self._high += scored.high * number

    def bounds(self, agent: str) -> MissingBounds:
        low, high = self._low / self.runs, self._high / self.runs
        return MissingBounds(agent=agent, runs=self.runs, missing=self.missing, low=low, high=high)


def _partial(record: RunRecord, evaluator: str | None) -> Score:
    """Return what the verdicts of an excluded run say; those of an unfair or broken exam say nothing."""
    if evaluator is not None or record.outcome is not Outcome.JUDGE_ERROR:
        return UNKNOWN
    insight = primary_insight(record)
    if insight is None or insight.score is None or insight.low is None or insight.high is None:
        return UNKNOWN
    # Bounds that leave nothing open are not those of a judgement that failed.
    if insight.high - insight.low <= LAST_BIT:
        return UNKNOWN
    return Score(insight.score, insight.low, insight.high)
