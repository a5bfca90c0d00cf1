"""Decides how a run ended and whose fault it was. Pure functions on what was said and judged."""

from __future__ import annotations

from collections.abc import Sequence

from records.run import Outcome, RunRecord
from records.transcript import StopReason, Transcript
from records.verdict import Insight, Label

EXIT_DONE = 0
EXIT_BELOW = 1
EXIT_MISTAKE = 2
EXIT_NOT_SCORED = 3


def outcome_of(transcript: Transcript, insights: Sequence[Insight]) -> tuple[Outcome, str | None]:
    """The outcome of one run, and what went wrong in words.

    An open `error` verdict comes before a failure of the agent: a run that cannot be judged in full is not averaged.
    """
    if transcript.stop is StopReason.EXAMINER_ERROR:
        kind = Outcome.INFRA_ERROR if transcript.fault == "infra" else Outcome.EXAMINER_ERROR
        return kind, transcript.stop_detail
    if transcript.fault == "infra":
        return Outcome.INFRA_ERROR, transcript.stop_detail
    errors = [verdict for insight in insights for verdict in insight.verdicts if verdict.label == Label.ERROR]
    for fault, kind in (("infra", Outcome.INFRA_ERROR), ("judge", Outcome.JUDGE_ERROR)):
        found = [verdict for verdict in errors if (verdict.fault or "judge") == fault]
        if found:
            return kind, found[0].reason
    if not any(insight.verdicts for insight in insights):
        return Outcome.JUDGE_ERROR, "nothing was judged"
    if transcript.fault == "target" or transcript.stop in (StopReason.TARGET_ERROR, StopReason.BUDGET):
        return Outcome.TARGET_ERROR, transcript.stop_detail
    return Outcome.SCORED, None


def exit_code(records: Sequence[RunRecord], fail_under: float | None) -> int:
    """0 done, 1 a score below the gate (by its low bound), 3 not all could be scored."""
    if not records or not all(record.outcome.counts for record in records):
        return EXIT_NOT_SCORED
    low = sum(record.low or 0.0 for record in records) / len(records)
    # A mean of thirds must not fail a gate of 2/3 for the sake of the last bit.
    return EXIT_BELOW if fail_under is not None and low < fail_under - 1e-9 else EXIT_DONE
