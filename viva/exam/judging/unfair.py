"""Keeps the scores and faults of unfair exams when a run is held again, in the insight of the last attempt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viva.judge.exam.kinds import EXAM
from viva.records.fault import Fault
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.unfair_attempts import BROKE_OFF, EARLIER, UnfairAttempt, earlier_attempts, sound_attempts
from viva.records.verdict import Insight
from viva.statistics.scores import insight_of

__all__ = ["UnfairAttempt", "attempts_so_far", "is_unfair", "unfair_attempts", "was_judged", "with_earlier"]


def was_judged(record: RunRecord) -> bool:
    """Return whether anything in the last attempt at a run was judged."""
    return any(insight.label != BROKE_OFF for insight in record.insights)


def is_unfair(record: RunRecord) -> bool:
    """Return whether the evaluator `exam` found a run unfair."""
    insight = insight_of(record.insights, EXAM, record.id)
    return insight is not None and any(verdict.fault == Fault.EXAMINER for verdict in insight.verdicts)


def unfair_attempts(record: RunRecord) -> Iterator[UnfairAttempt]:
    """Yield what is kept of an attempt that is not the last one: nothing if its examiner was not at fault."""
    if record.outcome is not Outcome.EXAMINER_ERROR or EXAM not in record.setting.evaluators:
        return
    insight = insight_of(record.insights, EXAM, record.id)
    verdicts = () if insight is None else insight.verdicts
    kinds = dict.fromkeys(verdict.criterion for verdict in verdicts if verdict.fault == Fault.EXAMINER)
    yield UnfairAttempt(record.attempt, tuple(kinds) or (BROKE_OFF,), record.score)


def attempts_so_far(record: RunRecord) -> tuple[UnfairAttempt, ...]:
    """Return all unfair attempts that a record knows: those that it names, and its own."""
    insight = insight_of(record.insights, EXAM, record.id)
    named = _untold(record.setting) if insight is None else earlier_attempts(insight.details)
    return (*(each for each in named if each.attempt != record.attempt), *unfair_attempts(record))


def _untold(setting: Setting) -> tuple[UnfairAttempt, ...]:
    """Return what a setting, which may be a struct, keeps of an exam about which nobody was asked."""
    attempts = setting.unfair_attempts
    return sound_attempts([{"attempt": each.attempt, "kinds": each.kinds, "score": each.score} for each in attempts])


def with_earlier(insights: tuple[Insight, ...], earlier: tuple[UnfairAttempt, ...], run: str) -> tuple[Insight, ...]:
    """Return the insights of a run with its earlier unfair attempts in the details of the evaluator `exam`.

    Args:
        insights: Those of the last attempt; none if it was broken off.
        earlier: The earlier attempts.
        run: The run's id.
    """
    kept = [each.plain() for each in earlier]
    if not any(insight.evaluator == EXAM for insight in insights):
        words = "this attempt was broken off, after others that were unfair"
        insights = (*insights, Insight(EXAM, run, BROKE_OFF, None, summary=words))
    return tuple(
        replace(insight, details={**insight.details, EARLIER: kept}) if insight.evaluator == EXAM else insight
        for insight in insights
    )
