"""Makes the record of a run from its transcript and its insights."""

from __future__ import annotations

import time

from viva.adapters.trace_context import current_trace_id
from viva.exam.judging.unfair import UnfairAttempt, with_earlier
from viva.exam.outcome import outcome_of
from viva.exam.subscribers import RunHeader
from viva.judge.success import SUCCEEDED, SUCCESS
from viva.records.redact import redact
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.text import storable
from viva.records.transcript import NO_USAGE, Transcript
from viva.records.verdict import Insight, Label
from viva.records.wording import SCORING_POINTS
from viva.statistics.scores import insight_of, primary_evaluator

POINT_LABELS = frozenset({Label.HIT, Label.MISS, Label.UNSURE, Label.ERROR})
"""The labels of scoring points; other evaluators share the last two."""
_HIT, _MISS = Label.HIT, Label.MISS


def make_record(
    run: str,
    setting: Setting,
    transcript: Transcript,
    insights: tuple[Insight, ...],
    timing: Timing,
    header: RunHeader | None = None,
) -> RunRecord:
    """Make the record of a run that has been judged, or could not be judged.

    The primary evaluator is the first that the setting names, or else that of the first insight. It alone decides
    score, bounds, points and outcome; the order of the other insights does not matter. The header, if there is one,
    gives the agent's version, trial, attempt and tags.
    """
    primary = primary_evaluator(setting, insights)
    main = insight_of(insights, primary, run)
    outcome, error = outcome_of(transcript, insights, primary, run)
    points, max_points = points_of(main)
    score = low = high = None
    if main is not None:
        # An evaluator that gives no bounds is sure of its score.
        score, low, high = main.score, main.low, main.high
        low, high = score if low is None else low, score if high is None else high
    if low is not None and outcome is Outcome.TARGET_ERROR:
        low = 0.0  # the verdicts so far stay visible, but the run never passes
    judging, examiner_seconds, agent_seconds = NO_USAGE, 0.0, 0.0
    for insight in insights:
        judging += insight.usage
    for round_ in transcript.rounds:
        examiner_seconds += round_.examiner_seconds
        agent_seconds += round_.agent_seconds
    success = transcript.success
    return RunRecord(
        run,
        setting.case,
        setting.agent,
        outcome,
        score,
        low=low,
        high=high,
        points=points,
        max_points=max_points,
        error=error,
        rounds=len(transcript.rounds),
        stop=transcript.stop,
        insights=insights,
        usage={**transcript.usage, "judge": judging},
        timing=Timing(
            timing.started,
            timing.seconds,
            examiner_seconds=examiner_seconds,
            agent_seconds=agent_seconds,
            judge_seconds=timing.judge_seconds,
        ),
        trace_id=transcript.trace_id,
        success=_success(insights, run) if success is None else success,
        metrics=transcript.metrics,
        setting=setting,
        agent_version=header.agent_version if header else None,
        trial=header.trial if header else 1,
        attempt=header.attempt if header else 1,
        tags=header.tags if header else (),
    )


def failed_record(
    header: RunHeader, error: str, setting: Setting, earlier: tuple[UnfairAttempt, ...] = ()
) -> RunRecord:
    """Return the record of a run that the infrastructure kept from being conducted or judged.

    Args:
        header: The run.
        error: What went wrong.
        setting: Its setting.
        earlier: The attempts before in which the examiner was at fault.
    """
    return RunRecord(
        header.id,
        header.subject,
        header.agent,
        Outcome.INFRA_ERROR,
        None,
        error=redact(storable(error)),
        agent_version=header.agent_version,
        trial=header.trial,
        attempt=header.attempt,
        tags=header.tags,
        insights=with_earlier((), earlier, header.id) if earlier else (),
        timing=Timing(time.time()),
        trace_id=current_trace_id(),
        setting=setting,
    )


def _success(insights: tuple[Insight, ...], run: str) -> bool | None:
    """Return whether a check of the user's own calls the run a success; None if there is none, or it could not tell."""
    said = insight_of(insights, SUCCESS, run)
    return None if said is None or said.score is None else said.label == SUCCEEDED


def points_of(insight: Insight | None) -> tuple[float | None, float | None]:
    """Return the sum of the weights hit and the sum of all weights; None if the verdicts are not about scoring points.

    Verdicts of evaluators with their own labels have weights too, but these are not points.
    """
    verdicts = insight.verdicts if insight is not None else ()
    named = insight is not None and insight.evaluator == SCORING_POINTS
    weights, hits = [], []
    for verdict in verdicts:
        label = verdict.label
        weights.append(verdict.weight)
        if label == _HIT:
            hits.append(verdict.weight)
        elif label == _MISS:
            named = True
        elif label not in POINT_LABELS:
            return None, None
    return (sum(hits), sum(weights)) if weights and (named or hits) else (None, None)
