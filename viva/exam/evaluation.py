"""Judges one conversation with all its evaluators; a failure of one evaluator stays in its own insight."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from viva.adapters.calls import TimeoutLeft, abandon, describe, guarded, within
from viva.errors import SharedSetupError
from viva.exam.options import EVALUATOR_SECONDS
from viva.exam.retry import retried
from viva.judge.registry import Need
from viva.judge.scoring_points.scoring import ScoringPointsEvaluator, summarize
from viva.records.evaluator import Context, Evaluator
from viva.records.transcript import NO_USAGE, Transcript, Usage
from viva.records.verdict import Insight, Label, Verdict
from viva.statistics.scores import LAST_BIT

OWN = "viva.judge."
"""What the modules of Viva's own evaluators begin with."""
LONGEST_PAUSE = 10.0
"""Maximum number of seconds between two attempts to judge one conversation."""


async def evaluate_all(
    evaluators: Sequence[Evaluator],
    transcript: Transcript,
    context: Context,
    judgings: int,
    seconds: float = EVALUATOR_SECONDS,
) -> tuple[Insight, ...]:
    """Return the insights of all evaluators, in order. An evaluator whose failure may be temporary is asked again.

    Args:
        evaluators: The primary first.
        transcript: The conversation.
        context: What else they may know.
        judgings: Maximum number of times that each is asked.
        seconds: Maximum time that an evaluator of the user's may take each time. Viva's own evaluators limit each of
            their waits.
    """
    if len(evaluators) == 1:
        return await _patiently(evaluators[0], transcript, context, judgings, seconds)
    tasks = [asyncio.ensure_future(_patiently(each, transcript, context, judgings, seconds)) for each in evaluators]
    try:
        found = await asyncio.gather(*tasks)
    finally:  # where one shows that the user must change something, the others stop, too
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return tuple(insight for insights in found for insight in insights)


def nothing_earned(evaluator: str, context: Context, transcript: Transcript) -> Insight:
    """Return the insight for a run in which the agent failed and gave no reply, without asking the evaluator."""
    reason = f"the agent gave no reply of its own: {transcript.stop_detail or 'it failed'}"
    points = (
        context.case.scoring_points if context.case is not None and evaluator == ScoringPointsEvaluator.name else ()
    )
    verdicts = [
        Verdict(
            context.subject,
            point.id,
            Label.MISS,
            0.0,
            reason=reason,
            statement=point.score_point,
            weight=point.weight,
            flags=("no-reply",),
        )
        for point in points
    ]
    if verdicts:
        return summarize(evaluator, context.subject, verdicts)
    return Insight(evaluator, context.subject, "no-reply", 0.0, low=0.0, high=0.0, summary=reason)


def is_retryable(insights: Sequence[Insight]) -> bool:
    """Return whether judging again may help. It does not if a check itself is broken: that fails every time."""
    errors = [verdict for insight in insights for verdict in insight.verdicts if verdict.label == Label.ERROR]
    return any(verdict.fault == "infra" or verdict.by not in ("code", "recording") for verdict in errors)


async def _patiently(
    evaluator: Evaluator, transcript: Transcript, context: Context, judgings: int, seconds: float
) -> tuple[Insight, ...]:
    """Return the final insights of one evaluator; their usage includes that of its failed attempts."""
    spent: list[Usage] = []

    async def judge() -> tuple[Insight, ...]:
        insights = await _in_time(evaluator, transcript, context, seconds)
        spent.extend(insight.usage for insight in insights if insight.usage is not NO_USAGE)
        return insights

    insights = await retried(judge, is_retryable, judgings, LONGEST_PAUSE)
    if not spent or len(spent) == len(insights) == 1:
        return insights
    first, *others = insights
    total = sum(spent, NO_USAGE)
    return (replace(first, usage=total), *(replace(other, usage=NO_USAGE) for other in others))


async def _in_time(
    evaluator: Evaluator, transcript: Transcript, context: Context, seconds: float
) -> tuple[Insight, ...]:
    """What an evaluator says, or that it took too long."""
    if type(evaluator).__module__.startswith(OWN):
        return await _evaluate(evaluator, transcript, context)
    began = time.monotonic()
    judging = asyncio.ensure_future(guarded(_evaluate(evaluator, transcript, context)))
    try:
        found: tuple[Insight, ...] = await within(seconds, judging)
        return found
    except TimeoutLeft as error:
        why = f": {error}" if str(error) else ". If it needs longer: --evaluator-timeout"
        await abandon([judging])
        words = f"the evaluator {evaluator.name} did not end within {seconds:g} s{why}"
    return (_broken(evaluator.name, context.subject, words, time.monotonic() - began),)


async def _evaluate(evaluator: Evaluator, transcript: Transcript, context: Context) -> tuple[Insight, ...]:
    began = time.monotonic()
    if Need.TEXT in getattr(evaluator, "needs", ()) and not _has_text(transcript):
        words = (
            f"the evaluator {evaluator.name} requires the text of the conversation, which the "
            "recording does not contain"
        )
        return (_broken(evaluator.name, context.subject, words, 0.0),)
    try:
        found = await evaluator.evaluate(transcript, context)
        insights = (found,) if isinstance(found, Insight) else tuple(found)
        if (fault := _fault_of(evaluator.name, insights)) is None:
            return insights
        words = f"the evaluator {evaluator.name} failed: {fault}"
    except SharedSetupError:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():  # the run is being stopped
            raise
        words = f"the evaluator {evaluator.name} failed: {describe(error)}"
    # An evaluator that breaks loses its own insight only.
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        words = f"the evaluator {evaluator.name} failed: {describe(error)}"
    return (_broken(evaluator.name, context.subject, words, time.monotonic() - began),)


def _fault_of(name: str, insights: Sequence[Insight]) -> str | None:
    """Return why the insights of an evaluator cannot be used, in words; None if they can.

    A journal holds one insight for each evaluator and subject, so an insight with another evaluator's name would
    replace that evaluator's.
    """
    if not insights or not all(isinstance(each, Insight) for each in insights):
        return "it returned no insight"
    subjects = set()
    for each in insights:
        if each.evaluator != name:
            return f"it returned an insight with the name of the evaluator {each.evaluator!r:.80}"
        if each.subject in subjects:
            return f"it returned two insights about {each.subject!r:.80}"
        subjects.add(each.subject)
        for score in _scores_of(each):
            if score is not None and not _is_score(score):
                return f"it returned a score of {score!r:.80}, and a score must be between 0 and 1"
    return None


def _scores_of(insight: Insight) -> Iterator[object]:
    yield from (insight.score, insight.low, insight.high)
    yield from insight.scores.values()
    yield from (verdict.score for verdict in insight.verdicts)


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and -LAST_BIT <= value <= 1 + LAST_BIT  # NaN is not


def _has_text(transcript: Transcript) -> bool:
    """Return whether any text was captured; some sources contain only names and counts."""
    return any(
        round_.examiner or round_.agent or any(step.thought or step.tool_input or step.result for step in round_.steps)
        for round_ in transcript.rounds
    )


def _broken(name: str, subject: str, reason: str, seconds: float) -> Insight:
    verdict = Verdict(subject, name, Label.ERROR, None, reason=reason, by="code", fault="judge")
    return Insight(name, subject, Label.ERROR, None, summary=reason, verdicts=(verdict,), seconds=seconds)
