"""Decides what remains to be done for a run when a suite is resumed."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from viva.exam.stored_runs import RunState


class ResumeStep(StrEnum):
    """The next step of a run."""

    EXAMINE = "examine"
    JUDGE = "judge"
    """Its conversation has ended and is complete; only the judgement is missing, or is repeated."""
    SKIP = "skip"


class NextStep(NamedTuple):
    """The next step of a run, and the number of the attempt."""

    step: ResumeStep
    attempt: int


def next_step(state: RunState | None, *, fresh: bool = False, retry_errors: bool = False) -> NextStep:
    """Return the next step of a run.

    Args:
        state: How far the run has come; None if it was not started.
        fresh: Repeat finished runs.
        retry_errors: Repeat runs that ended in an examiner, judge or infrastructure error.
    """
    if state is None:
        return NextStep(ResumeStep.EXAMINE, 1)
    if fresh:
        return NextStep(ResumeStep.EXAMINE, state.attempt + 1)
    failed = state.outcome is not None and not state.outcome.counts
    if state.finished and not (failed and retry_errors):
        return NextStep(ResumeStep.SKIP, state.attempt)
    if state.whole and not state.broken:
        return NextStep(ResumeStep.JUDGE, state.attempt)
    return NextStep(ResumeStep.EXAMINE, state.attempt + 1)
