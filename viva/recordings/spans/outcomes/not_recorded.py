"""Counts what the spans of a run leave out, so that users are told what could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viva.records.trajectory import MARK, undispatched
from viva.records.transcript import Round, Step, StepKind


def not_recorded(round_: Round) -> dict[str, int]:
    """Return what a run of spans leaves out, in words, and how often; nothing for a run without any decision."""
    marked = [step for step in round_.steps if MARK in step.attributes]
    if not marked:
        return {}
    # What was not parsed is a step of another kind, and its words are recorded.
    called = [step for step in marked if step.tool is not None and undispatched(step) is None]
    counts = {
        "model calls whose output was not recorded": _silent(round_.steps),
        "tool calls whose input was not recorded": sum(step.tool_input is None for step in called),
        "tool calls whose result was not recorded": sum(step.result is None and not step.error for step in called),
        "runs whose question was not recorded": int(round_.examiner is None),
        "runs whose answer was not recorded": int(round_.agent is None and not round_.error),
    }
    return {words: count for words, count in counts.items() if count}


def as_notes(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return counts as notes for the transcript."""
    return tuple(f"{words}: {count}" for words, count in counts.items())


def _silent(steps: Sequence[Step]) -> int:
    return sum(step.kind is StepKind.MODEL and MARK not in step.attributes for step in steps)
