"""Decides what remains to be done for a run when a suite is resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.exam.judging.unfair import UnfairAttempt
from viva.exam.stored_runs import RunState
from viva.records.run_record import Outcome
from viva.records.text import one_line


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
    unfair: tuple[UnfairAttempt, ...] = ()
    """The attempts before it in which the examiner was at fault."""


def kept_digests(runs: Iterable[tuple[RunState | None, ResumeStep]]) -> dict[str, tuple[str, ...]]:
    """Return the digests of the agents' files in stored runs whose conversations are kept, by the agents' SPECs."""
    found: dict[str, dict[str, None]] = {}
    for state, step in runs:
        if state is not None and step is not ResumeStep.EXAMINE and state.agent_digest:
            found.setdefault(state.agent, {})[state.agent_digest] = None
    return {agent: tuple(digests) for agent, digests in found.items()}


def changed_agents(before: Mapping[str, tuple[str, ...]], agents: Mapping[str, LoadedAgent]) -> Iterator[str]:
    """Yield a note for each agent whose file is not the one of the runs that are kept.

    Args:
        before: What `kept_digests` returned.
        agents: The agents as they are now, by SPEC.
    """
    for spec, digests in before.items():
        now = agents[spec].digest if spec in agents else None
        if now is not None and set(digests) != {now}:
            yield (
                f"the file of the agent {one_line(spec, 200)} has changed since finished runs were conducted; they are "
                "kept, so the results are those of two agents. --fresh repeats all runs; a new suite keeps both apart."
            )


def past_outcomes(state: RunState | None, *, alone: bool = False) -> tuple[str, ...]:
    """Return the outcomes of earlier attempts that the setting of a run's next attempt names.

    Args:
        state: How far the run has come; None if it was not started.
        alone: Whether the user has this run repeated, and not every run of the journal: it may be for its result, so
            an outcome that counts is named.
    """
    if state is None:
        return ()
    counted = alone and not state.again and state.outcome is not None and state.outcome.counts
    return (*state.requeued, str.__str__(state.outcome)) if counted else state.requeued


def next_step(
    state: RunState | None, *, fresh: bool = False, every: bool = False, retry_errors: bool = False
) -> NextStep:
    """Return the next step of a run.

    Args:
        state: How far the run has come; None if it was not started.
        fresh: Repeat finished runs.
        every: Whether every run of the journal is repeated, so that no exam before counts any more.
        retry_errors: Repeat runs that ended in an examiner, judge or infrastructure error.
    """
    if state is None:
        return NextStep(ResumeStep.EXAMINE, 1)
    if fresh:
        # Repeating a run alone must not be a way to forget what its examiner did.
        return NextStep(ResumeStep.EXAMINE, state.attempt + 1, () if every else state.unfair)
    if state.again:
        return NextStep(ResumeStep.EXAMINE, state.attempt + 1, state.unfair)
    failed = state.outcome is not None and not state.outcome.counts
    if state.finished and not (failed and retry_errors):
        return NextStep(ResumeStep.SKIP, state.attempt)
    if state.outcome is Outcome.EXAMINER_ERROR and state.live:
        return NextStep(
            ResumeStep.EXAMINE, state.attempt + 1, state.unfair
        )  # an unfair exam stays unfair, however it is judged
    if state.whole and not state.broken:
        return NextStep(ResumeStep.JUDGE, state.attempt, tuple(e for e in state.unfair if e.attempt < state.attempt))
    return NextStep(ResumeStep.EXAMINE, state.attempt + 1, state.unfair)
