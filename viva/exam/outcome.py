"""Decides the outcome of a run: pure functions on transcripts and insights. Holds the exit codes of commands."""

from __future__ import annotations

from collections.abc import Sequence

from viva.records.fault import Fault
from viva.records.run_record import Outcome
from viva.records.transcript import StopReason, Transcript
from viva.records.verdict import Insight, Label, Verdict
from viva.statistics.scores import insight_of

EXIT_DONE = 0
EXIT_BELOW = 1
EXIT_MISTAKE = 2
EXIT_NOT_SCORED = 3
# Each run needs these, and looking up a member of an enum takes ten times as long as looking up a name.
_SCORED, _NO_EXAM, _ERROR = Outcome.SCORED, StopReason.EXAMINER_ERROR, Label.ERROR


def outcome_of(
    transcript: Transcript, insights: Sequence[Insight], primary: str | None = None, run: str = ""
) -> tuple[Outcome, str | None]:
    """Return the outcome of one run, and what went wrong in words.

    Only the primary evaluator's insight decides. What other evaluators could not judge stays in their own insights,
    except that any evaluator can find the exam unfair (`unfair_verdict`). An open `error` verdict takes precedence over
    a failure of the agent, because a run that cannot be judged in full must not be averaged. If the agent never
    replied, there is nothing to judge, so its failure takes precedence.

    Args:
        transcript: The conversation.
        insights: The insights of all evaluators, in any order.
        primary: The name of the evaluator that decides; None means that of the first insight.
        run: The run's id, which distinguishes an insight about the run from one about a part of it.
    """
    infra = transcript.fault is not None and transcript.fault == Fault.INFRA
    if transcript.stop is _NO_EXAM:
        return Outcome.INFRA_ERROR if infra else Outcome.EXAMINER_ERROR, transcript.stop_detail
    if infra:
        return Outcome.INFRA_ERROR, transcript.stop_detail
    if (unfair := unfair_verdict(insights)) is not None:
        return Outcome.EXAMINER_ERROR, unfair.reason or unfair.statement or f"the exam was unfair: {unfair.criterion}"
    failed = transcript.failed
    if failed and not transcript.answered:
        return Outcome.TARGET_ERROR, transcript.stop_detail
    main = insight_of(insights, primary or (insights[0].evaluator if insights else None), run)
    if (failure := _failure(main)) is not None:
        return failure
    if failed:
        return Outcome.TARGET_ERROR, transcript.stop_detail
    return _SCORED, None


def unfair_verdict(insights: Sequence[Insight]) -> Verdict | None:
    """Return the first verdict that blames the examiner (`fault="examiner"`), which makes a run `examiner_error`.

    In this way a fairness evaluator, primary or not, excludes an unfair exam from the averages. Any evaluator can give
    such a verdict; its score does not matter.
    """
    for insight in insights:
        for verdict in insight.verdicts:
            if verdict.fault is not None and verdict.fault == Fault.EXAMINER:
                return verdict
    return None


def _failure(main: Insight | None) -> tuple[Outcome, str | None] | None:
    """Return the outcome and the reason if judging failed: with an open `error`, or without any result."""
    if main is None or (main.score is None and not main.verdicts):
        failed = main is not None and main.label == Label.ERROR and main.summary
        return Outcome.JUDGE_ERROR, f"nothing was judged{f': {failed}' if failed else ''}"
    errors = [verdict for verdict in main.verdicts if verdict.label == _ERROR]
    if not errors and main.label != _ERROR:
        return None
    for fault, kind in ((Fault.INFRA, Outcome.INFRA_ERROR), (Fault.JUDGE, Outcome.JUDGE_ERROR)):
        found = [verdict for verdict in errors if (verdict.fault or Fault.JUDGE) == fault]
        if found:
            return kind, found[0].reason
    return Outcome.JUDGE_ERROR, errors[0].reason if errors else main.summary or "the evaluator failed"
