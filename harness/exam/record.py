"""Puts the record of a run together from what was said and judged."""

from __future__ import annotations

from dataclasses import replace

from harness.exam.outcome import outcome_of
from records.run_record import RunRecord, Setting, Timing
from records.transcript import NO_USAGE, Transcript
from records.verdict import Insight


def make_record(
    run: str, setting: Setting, transcript: Transcript, insights: tuple[Insight, ...], timing: Timing
) -> RunRecord:
    """The record of a run that has been judged, or could not be."""
    outcome, error = outcome_of(transcript, insights)
    main = insights[0] if insights else None
    judge_usage = NO_USAGE
    for insight in insights:
        judge_usage += insight.usage
    verdicts = main.verdicts if main else ()
    return RunRecord(
        run,
        setting.case,
        setting.agent,
        outcome,
        main.score if main else None,
        low=main.low if main else None,
        high=main.high if main else None,
        points=sum(verdict.weight for verdict in verdicts if verdict.label == "hit") if verdicts else None,
        max_points=sum(verdict.weight for verdict in verdicts) if verdicts else None,
        error=error,
        rounds=len(transcript.rounds),
        stop=transcript.stop,
        insights=insights,
        usage={**transcript.usage, "judge": judge_usage},
        timing=replace(
            timing,
            examiner_seconds=sum(round_.examiner_seconds for round_ in transcript.rounds),
            agent_seconds=sum(round_.agent_seconds for round_ in transcript.rounds),
            judge_seconds=sum(insight.seconds for insight in insights),
        ),
        trace_id=transcript.trace_id,
        setting=setting,
    )
