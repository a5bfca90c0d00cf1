"""Finds out what is left to do in a suite that was begun."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from records.journal import Damage, scan
from records.journal_reader import StoredRun, read_runs
from records.run_record import Outcome
from records.transcript import StopReason


@dataclass(slots=True)
class RunState:
    """How far a run has come, in its newest attempt."""

    attempt: int
    ended: bool = False
    """The conversation came to its end, and was an exam: it need not be held again."""
    outcome: Outcome | None = None
    """None until there is a record."""

    @property
    def finished(self) -> bool:
        """There is a record."""
        return self.outcome is not None


def read_states(folder: Path, damage: Damage | None = None) -> dict[str, RunState]:
    """The state of every run in a journal, by run id. A few dozen bytes for each are kept in memory."""
    states: dict[str, RunState] = {}
    for event in scan(folder, damage, kinds=frozenset({"setting", "transcript", "run"})):
        state = states.get(event.run)
        if state is None or event.attempt > state.attempt:
            state = states[event.run] = RunState(event.attempt)
        if event.attempt < state.attempt:
            continue
        if event.kind == "transcript":
            # A conversation that the examiner or a provider broke off was no exam.
            broken = event.data.get("fault") in ("examiner", "infra")
            state.ended = event.data.get("stop") not in (None, StopReason.CANCELLED.value) and not broken
        elif event.kind == "run":
            state.outcome = _outcome(event.data.get("outcome"))
    return states


def to_do(state: RunState | None, *, fresh: bool, retry_errors: bool) -> tuple[str, int]:
    """What to do with a run, and as which attempt: `skip`, `judge`, or `examine`."""
    if state is None:
        return "examine", 1
    if fresh:
        return "examine", state.attempt + 1
    failed = state.outcome is not None and not state.outcome.counts
    if state.finished and not (failed and retry_errors):
        return "skip", state.attempt
    if state.ended:
        return "judge", state.attempt
    return "examine", state.attempt + 1


def conversations(folder: Path, wanted: Collection[str]) -> Iterator[StoredRun]:
    """The stored conversations of some runs, one at a time."""
    if wanted:
        yield from (stored for stored in read_runs(folder) if stored.id in wanted)


def _outcome(value: object) -> Outcome | None:
    try:
        return Outcome(str(value))
    except ValueError:
        return None
