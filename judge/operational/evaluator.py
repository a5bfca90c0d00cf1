"""The operational evaluator: efficiency, tool economy and reliability of a run, compared with earlier runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from viva.adapters.part_errors import describe_part
from viva.errors import SetupError
from viva.judge.operational.decision import Signal, decide, signals_of
from viva.judge.operational.figures import baseline_of, figures_of, is_observed, scores_of
from viva.recordings.events.conversation import conversation_metrics
from viva.records.eval_run_record import EvalRunRecord
from viva.records.evaluator import Context
from viva.records.history import EvalHistorySource
from viva.records.text import counted
from viva.records.transcript import Metrics, Transcript
from viva.records.verdict import Insight, Verdict, error_insight

PRIOR = 1
"""The number of earlier runs that a run is compared with: the one before it."""
MOST_EARLIER = 1000
"""Maximum number of earlier runs whose median a run is compared with."""
LOOKED_AT = 20
"""Runs of a task among which those are looked for, at least: some may be of other agents."""
NOTHING = "nothing was observed: no model call, tool call, abort or failure, and it is unknown whether it was a success"


class OperationalEvaluator:
    """Scores a run by its metrics; deterministic, free, and without a model."""

    name = "operational"
    needs = ()

    def __init__(self, history: EvalHistorySource | None = None, *, earlier: int = PRIOR) -> None:
        """Args:
        history: The earlier runs, recorded elsewhere; None is what the run's journal holds.
        earlier: The number of earlier runs that a run is compared with: 1 is the prior run; of several, the median.

        Raises:
            SetupError: the history has no method `runs`, or the number is not a whole number from 1.
        """
        if type(earlier) is not int or not 1 <= earlier <= MOST_EARLIER:
            raise SetupError(
                f"operational: earlier must be a whole number from 1 to {MOST_EARLIER:,}, not {earlier!r:.40}."
            )
        self._wanted = earlier
        if history is not None and not callable(getattr(history, "runs", None)):
            raise SetupError(
                f"OperationalEvaluator(): history must be an EvalHistorySource, such as JournalHistory(folder), not "
                f"{type(history).__name__}."
            )
        self._history = history

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Judge by the metrics, or by the steps of a conversation that has none."""
        metrics = context.metrics or transcript.metrics or conversation_metrics(transcript)
        if not is_observed(metrics, transcript.success):
            return error_insight(self.name, context.subject, NOTHING)
        earlier, trouble = await self._earlier(context)
        before = baseline_of(earlier)
        scores = scores_of(metrics, transcript.success, before)
        signals = signals_of(figures_of(metrics, transcript.success), before)
        trend = decide(signals, earlier=len(earlier), success=transcript.success)
        overall = fmean(scores.values())
        reason = _reason(signals, len(earlier))
        return Insight(
            self.name,
            context.subject,
            trend.value,
            overall,
            low=overall,
            high=overall,
            scores=scores,
            summary=f"{trend.value}: {reason}",
            notes=(*_notes(metrics), *trouble),
            verdicts=(Verdict(context.subject, self.name, trend.value, overall, reason=reason),),
        )

    async def _earlier(self, context: Context) -> tuple[Sequence[EvalRunRecord], tuple[str, ...]]:
        """Return the newest runs of the same task and agent that began before this one, and what went wrong."""
        source, elsewhere = self._history or context.history, self._history is not None
        if source is None or not context.task:
            return (), ()
        try:
            limit = max(LOOKED_AT, 4 * self._wanted)
            runs = await source.runs(context.task, limit=limit)
            found = _before(runs, context, elsewhere=elsewhere)
            if len(found) < self._wanted and len(runs) == limit:
                # A run that is judged late has many after it.
                found = _before(await source.runs(context.task), context, elsewhere=elsewhere)
        except Exception as error:
            return (), (f"the history cannot be read: {describe_part(error, source)}",)
        return found[-self._wanted :], ()


def _before(runs: Sequence[EvalRunRecord], context: Context, *, elsewhere: bool) -> list[EvalRunRecord]:
    """Return those of the same agent that began before; if times are unknown, those that come first in the source."""
    own = next((place for place, run in enumerate(runs) if _is_own(run, context, elsewhere=elsewhere)), None)
    return [
        run
        for place, run in enumerate(runs)
        if not _is_own(run, context, elsewhere=elsewhere)
        and run.record.metrics is not None
        and (not context.agent or run.agent == context.agent)
        and _began_before(run, place, own, context.started)
    ]


def _is_own(run: EvalRunRecord, context: Context, *, elsewhere: bool) -> bool:
    """Return whether it is the run that is judged. Ids are unique within a journal; a repeated suite has the same."""
    if run.id != context.subject:
        return False
    return not elsewhere or context.started is None or run.started >= context.started


def _began_before(run: EvalRunRecord, place: int, own: int | None, started: float | None) -> bool:
    if started is None or run.started == started:
        return own is None or place < own
    return run.started < started


def _reason(signals: Sequence[Signal], earlier: int) -> str:
    if not earlier:
        return "no earlier run of this task to compare with"
    if not signals:
        return "the earlier runs share no known figure with this one"
    which = "the prior run" if earlier == 1 else f"the median of {counted(earlier, 'earlier run')}"
    compared = f"compared with {which}"
    marks = {1: "better", -1: "worse", 0: "same"}
    return f"{compared}: " + "; ".join(f"{each.words}: {marks[each.direction]}" for each in signals)


def _notes(metrics: Metrics) -> tuple[str, ...]:
    """Yield notes about the counts; names of tools and kinds come from the source, and are escaped as hostile text."""
    usage, calls = metrics.usage, sum(metrics.tool_calls.values())
    tokens = f"{usage.tokens:,}{'' if usage.reported else ' or more'}"
    notes = [f"{tokens} tokens in {counted(usage.calls, 'model call')}"]
    notes.append(f"{counted(calls, 'tool call')}, {sum(metrics.tool_failures.values())} failed")
    if metrics.never_completed or metrics.never_started:
        notes.append(
            f"{counted(metrics.never_completed, 'tool call')} never completed, {metrics.never_started} never started"
        )
    for noun, counts in (
        ("aborts", metrics.aborts),
        ("failed model calls", metrics.model_failures),
        ("unknown to Viva", metrics.unknown),
    ):
        if counts:
            notes.append(f"{noun}: {', '.join(f'{name} {number}' for name, number in list(counts.items())[:10])}")
    return tuple(notes)
