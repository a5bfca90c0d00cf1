"""The score of a run, by its primary evaluator or by any other, and whether it passes. Pure functions on records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from viva.judge.trajectory import SKIPPED
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Insight, Label

UNSCORED = "unscored"
LAST_BIT = 1e-9
"""Scores closer than this are the same: one of thirds that add up to 1 must pass a threshold of 1."""


class Score(NamedTuple):
    """Holds a score with the bounds that open verdicts leave."""

    score: float
    low: float
    high: float


def passes(low: float, threshold: float) -> bool:
    """Return whether a low bound, of a run or of a mean, reaches a threshold."""
    return low >= threshold - LAST_BIT


def threshold_of(record: RunRecord, threshold: float) -> float:
    """Return what the low bound of a run must reach: the threshold of its case as it was judged, else the given one."""
    own = record.setting.threshold
    return threshold if own is None else own


def run_passes(record: RunRecord, threshold: float) -> bool:
    """Return whether a run passes: never if the agent failed, whatever the threshold, and never if it is excluded.

    Args:
        record: The run.
        threshold: What its low bound must reach, in [0, 1], unless its case has a threshold of its own.
    """
    scored = score_of(record)
    return scored is not None and scored_passes(record, scored, threshold)


def scored_passes(record: RunRecord, scored: Score, threshold: float) -> bool:
    """Return whether a run with a known `score_of` passes; see `run_passes`."""
    return record.outcome is not _TARGET_ERROR and passes(scored.low, threshold_of(record, threshold))


class Named(Protocol):
    """Something that names an evaluator: an insight, or a part of one."""

    @property
    def evaluator(self) -> str:
        """Return the evaluator's name."""
        ...


class Chosen(Protocol):
    """Something that names the evaluators of a run: its setting, or a part of it."""

    @property
    def evaluators(self) -> Sequence[str]:
        """Return the names; the first is the primary's."""
        ...


class Judged(Protocol):
    """What tells the evaluators of a run: its record, or a part of it."""

    @property
    def insights(self) -> Sequence[Named]:
        """Return the insights."""
        ...

    @property
    def setting(self) -> Chosen:
        """Return the setting."""
        ...


def evaluator_names(record: Judged) -> tuple[str, ...]:
    """Return the evaluators of a run, each once: those that its setting names, then others that left an insight."""
    names = dict.fromkeys(_chosen(record.setting))
    for insight in record.insights:
        names[insight.evaluator] = None
    return tuple(names)


def primary_evaluator(setting: Setting, insights: Sequence[Insight]) -> str | None:
    """Return the evaluator that decides score, points and outcome: the setting's first, else the first insight's."""
    named = _chosen(setting)
    if named:
        return named[0]
    return insights[0].evaluator if insights else None


def primary_insight(record: RunRecord) -> Insight | None:
    """Return the insight that decides a record's score, points and outcome; None if its evaluator left none."""
    return insight_of(record.insights, primary_evaluator(record.setting, record.insights), record.id)


def insight_of(insights: Sequence[Insight], evaluator: str | None, run: str) -> Insight | None:
    """Return an evaluator's insight about a run as a whole; None if it speaks only of rounds and steps.

    Without a run's id, the first insight of the evaluator counts.
    """
    # A loop, as this is asked several times of each of 100,000 runs.
    for insight in insights:
        if insight.evaluator == evaluator and (not run or insight.subject == run):
            return insight
    return None


def score_of(record: RunRecord, evaluator: str | None = None) -> Score | None:
    """Return the score of a run that counts; None for one that must not be averaged.

    An agent that failed before anything could be judged has earned nothing, and the low bound of a run in which it
    failed is 0, so that it never passes. A run whose primary evaluator failed still
    has the scores of the others; a run that was no exam (`examiner_error`, `infra_error`) has none.

    Args:
        record: The run.
        evaluator: Whose score; None for the primary evaluator's, which is the run's own.
    """
    if evaluator is None or evaluator == primary_evaluator(record.setting, record.insights):
        return _score(record, record.score, record.low, record.high) if record.outcome.counts else None
    insight = insight_of(record.insights, evaluator, record.id)
    if insight is None or record.outcome in _NO_EXAM or _failed(insight):
        return None
    return _score(record, insight.score, insight.low, insight.high)


def why_excluded(record: RunRecord, evaluator: str | None = None) -> str:
    """Return why a run has no `score_of`: the outcome that keeps it out of averages, `skipped`, or `unscored`.

    A run is skipped by an evaluator that finds nothing to judge in it, such as a trajectory without steps.
    """
    if not record.outcome.counts:
        return record.outcome.value
    name = evaluator or primary_evaluator(record.setting, record.insights)
    judged = insight_of(record.insights, name, record.id)
    if judged is not None and judged.label == SKIPPED:
        return SKIPPED
    insight = judged if evaluator is not None else None
    return Outcome.JUDGE_ERROR.value if insight is not None and _failed(insight) else UNSCORED


def _score(record: RunRecord, score: float | None, low: float | None, high: float | None) -> Score | None:
    failed = record.outcome is _TARGET_ERROR
    # A stranger's journal may say that a score is no number, which no average survives.
    if score is None or score != score or low != low or high != high:
        return _NOTHING_EARNED if failed else None
    if failed:  # also in journals of before this rule: what an error's words happen to satisfy was not earned
        return Score(score, 0.0, score if high is None else high)
    # As `Score` makes it, in half of the time: this is asked several times of each of 100,000 runs.
    return _made_score((score, score if low is None else low, score if high is None else high))


_made_score: Callable[[tuple[float, float, float]], Score] = partial(tuple.__new__, Score)
_NOTHING_EARNED = Score(0.0, 0.0, 0.0)
# Constants, because members of an enum are found by a search through its classes.
_ERROR, _TARGET_ERROR, _NO_EXAM = Label.ERROR, Outcome.TARGET_ERROR, (Outcome.EXAMINER_ERROR, Outcome.INFRA_ERROR)


def _failed(insight: Insight) -> bool:
    if insight.label == _ERROR:
        return True
    for verdict in insight.verdicts:  # noqa: SIM110
        if verdict.label == _ERROR:
            return True
    return False


def _chosen(setting: Chosen) -> tuple[str, ...]:
    return tuple(getattr(setting, "evaluators", ()))
