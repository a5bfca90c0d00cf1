"""Decides what remains to be done for a run when a suite is resumed."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from viva.exam.stored_runs import RunState


class Step(StrEnum):
    """The next step of a run."""

    EXAMINE = "examine"
    JUDGE = "judge"
    """Its conversation has ended and is complete; only the judgement is missing, or is repeated."""
    SKIP = "skip"


class NextStep(NamedTuple):
    """The next step of a run, and the number of the attempt."""

    step: Step
    attempt: int


def next_step(state: RunState | None, *, fresh: bool = False, retry_errors: bool = False) -> NextStep:
    """Return the next step of a run.

    Args:
        state: How far the run has come; None if it was not started.
        fresh: Repeat finished runs.
        retry_errors: Repeat runs that ended in an examiner, judge or infrastructure error.
    """
    if state is None:
        return NextStep(Step.EXAMINE, 1)
    if fresh:
        return NextStep(Step.EXAMINE, state.attempt + 1)
    failed = state.outcome is not None and not state.outcome.counts
    if state.finished and not (failed and retry_errors):
        return NextStep(Step.SKIP, state.attempt)
    if state.whole and not state.broken:
        return NextStep(Step.JUDGE, state.attempt)
    return NextStep(Step.EXAMINE, state.attempt + 1)
