"""Decides how a run ended and whose fault it was. Pure functions on what was said and judged."""

from __future__ import annotations

from collections.abc import Sequence

from harness.statistics.cells import passes
from records.run_record import Outcome, RunRecord
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
    """0 done, 1 an agent's mean score (by its low bound) below the gate, 3 not all could be scored."""
    if not records or not all(record.outcome.counts for record in records):
        return EXIT_NOT_SCORED
    lows: dict[str, list[float]] = {}
    for record in records:
        lows.setdefault(record.agent, []).append(record.low or 0.0)
    reached = fail_under is None or all(passes(sum(each) / len(each), fail_under) for each in lows.values())
    return EXIT_DONE if reached else EXIT_BELOW
