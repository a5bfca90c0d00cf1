"""Judges one conversation with all its evaluators; a failure of one evaluator stays in its own insight."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Sequence
from dataclasses import replace
from types import CoroutineType
from typing import Any

from viva.adapters.calls import TimeoutLeft, abandon, describe, within
from viva.adapters.tasks import place_for, run_through, start_call
from viva.adapters.threads import AgentThread
from viva.errors import SharedSetupError
from viva.exam.judging.judgements import NoJudgement, insights_of
from viva.exam.options import EVALUATOR_SECONDS
from viva.exam.retry import wait_before
from viva.judge.exchange.log import asking
from viva.judge.loaded_evaluator import LoadedEvaluator
from viva.judge.registry import Need
from viva.judge.scoring_points.scoring import ScoringPointsEvaluator, summarize_case
from viva.judge.scoring_points.verdicts import point_verdict
from viva.records.copies import changed
from viva.records.evaluator import Context
from viva.records.fault import Fault
from viva.records.transcript import NO_USAGE, Transcript, Usage
from viva.records.verdict import NO_REPLY, RULE, Insight, Label, error_insight, is_model

LONGEST_PAUSE = 10.0
"""Maximum number of seconds between two attempts to judge one conversation."""
_ERROR = Label.ERROR


async def evaluate_all(
    evaluators: Sequence[LoadedEvaluator],
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
    waiting = [each for each in evaluators if not each.instant]
    if len(waiting) < 2:
        found = [
            await _evaluate(each, transcript, context)
            if each.instant
            else await _patiently(each, transcript, context, judgings, seconds)
            for each in evaluators
        ]
        return tuple(insight for insights in found for insight in insights)
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
    case = context.case if evaluator == ScoringPointsEvaluator.name else None
    points = case.scoring_points if case is not None else ()
    verdicts = [
        point_verdict(context.subject, point, Label.MISS, reason, by=RULE, flags=(NO_REPLY,)) for point in points
    ]
    if case is not None and verdicts:
        return summarize_case(evaluator, case, context.subject, verdicts)
    return Insight(evaluator, context.subject, "no-reply", 0.0, low=0.0, high=0.0, summary=reason)


def is_retryable(insights: Sequence[Insight]) -> bool:
    """Return whether judging again may help. It does not if a check itself is broken: that fails every time."""
    for insight in insights:
        for verdict in insight.verdicts:
            if verdict.label == _ERROR and (verdict.fault == Fault.INFRA or is_model(verdict.by)):
                return True
    return False


async def _patiently(
    evaluator: LoadedEvaluator, transcript: Transcript, context: Context, judgings: int, seconds: float
) -> tuple[Insight, ...]:
    """Return the final insights of one evaluator; their usage includes that of its failed attempts."""
    spent: list[Usage] = []
    insights: tuple[Insight, ...] = ()
    # Here, because the first step of an evaluator's task may be taken in the context of who starts it.
    with asking(evaluator.name):
        for number in range(1, max(judgings, 1) + 1):
            if number > 1:
                await wait_before(number, LONGEST_PAUSE)
            insights = await _in_time(evaluator, transcript, context, seconds)
            spent += [insight.usage for insight in insights if insight.usage is not NO_USAGE]
            if not is_retryable(insights):
                break
    if not spent or len(spent) == len(insights) == 1:
        return insights
    first, *others = insights
    total = sum(spent, NO_USAGE)
    return (replace(first, usage=total), *(replace(other, usage=NO_USAGE) for other in others))


async def _in_time(
    evaluator: LoadedEvaluator, transcript: Transcript, context: Context, seconds: float
) -> tuple[Insight, ...]:
    """What an evaluator says, or that it took too long."""
    if evaluator.own:
        return await _evaluate(evaluator, transcript, context)
    began = time.monotonic()
    work = _evaluate(evaluator, transcript, context)
    judging: list[asyncio.Future[Any]] = []
    found: tuple[Insight, ...]
    try:
        if evaluator.never_waits and (place := place_for(work, never_waits=True)) is not None:
            found = await run_through(work, evaluator, place)
        else:
            judging.append(start_call(work, evaluator))
            found = await within(seconds, judging[0])
        return found
    except TimeoutLeft as error:
        why = f": {error}" if str(error) else ". If it needs longer: --evaluator-timeout"
        await abandon(judging)
        words = f"the evaluator {evaluator.name} did not end within {seconds:g} s{why}"
    return (error_insight(evaluator.name, context.subject, words, seconds=time.monotonic() - began),)


async def _evaluate(evaluator: LoadedEvaluator, transcript: Transcript, context: Context) -> tuple[Insight, ...]:
    began = time.monotonic()
    if Need.TEXT in evaluator.needs and not _has_text(transcript):
        words = (
            f"the evaluator {evaluator.name} requires the text of the conversation, which the "
            "recording does not contain"
        )
        return (error_insight(evaluator.name, context.subject, words),)
    try:
        if evaluator.is_async:
            found = evaluator.evaluate(transcript, context)
            insights = _read(evaluator, context, await found if _is_awaitable(found) else found)
        else:
            insights = await _judged_on_thread(evaluator, transcript, context)
        if not evaluator.own and len(insights) == 1 and not insights[0].seconds:
            return (changed(insights[0], seconds=time.monotonic() - began),)
        return insights
    except SharedSetupError:
        raise
    except NoJudgement as error:
        words = f"the evaluator {evaluator.name} failed: it returned {error}"
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():  # the run is being stopped
            raise
        words = f"the evaluator {evaluator.name} failed: {describe(error, evaluator.home)}"
    # An evaluator that breaks loses its own insight only.
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        words = f"the evaluator {evaluator.name} failed: {describe(error, evaluator.home)}"
    return (error_insight(evaluator.name, context.subject, words, seconds=time.monotonic() - began),)


async def _judged_on_thread(
    evaluator: LoadedEvaluator, transcript: Transcript, context: Context
) -> tuple[Insight, ...]:
    """Call a plain evaluator in a thread of its own, which is abandoned if it does not end."""

    def call() -> Any:
        found = evaluator.evaluate(transcript, context)
        # Reading may run the user's code, too: a generator, a mapping.
        return found if _is_awaitable(found) else _read(evaluator, context, found)

    thread = AgentThread("evaluator")
    try:
        found = await thread.call(call)
    finally:
        thread.release()
    insights: tuple[Insight, ...] = _read(evaluator, context, await found) if _is_awaitable(found) else found
    return insights


def _is_awaitable(found: object) -> bool:
    return type(found) is CoroutineType or inspect.isawaitable(found)


def _read(evaluator: LoadedEvaluator, context: Context, found: object) -> tuple[Insight, ...]:
    return insights_of(found, evaluator.name, context.subject, evaluator.own_name, trusted=evaluator.own)


def _has_text(transcript: Transcript) -> bool:
    """Return whether any text was captured; some sources contain only names and counts."""
    return any(
        round_.examiner or round_.agent or any(step.thought or step.tool_input or step.result for step in round_.steps)
        for round_ in transcript.rounds
    )
