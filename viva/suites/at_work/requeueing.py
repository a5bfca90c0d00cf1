"""Has runs repeated that ended with an error, and keeps their first outcome.

A line in the journal says so. It counts only after a record with one of these outcomes, of the same attempt: what was
scored cannot be done again. The process that works on the journal reads such lines when its other runs are done.
If every run is repeated, whatever its outcome, one line says so for all of them: nothing is chosen then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from viva.errors import SetupError
from viva.exam.stored_runs import REQUEUE, REQUEUED_AFTER, RunState, read_run_states
from viva.journal.lines import REPEAT
from viva.journal.lock import holder
from viva.journal.writer import Journal
from viva.records.run_record import Outcome
from viva.records.wording import counted
from viva.suites.job import Job
from viva.suites.resuming.stored_request import load_request

MARK = ".requeue"
"""The file that tells a process at work that there are new such lines."""
OUTCOMES = REQUEUED_AFTER
"""The outcomes of runs that can be done again."""
COMMANDS = ("run", "suite")


@dataclass(frozen=True, slots=True)
class Again:
    """What such a line holds."""

    outcome: str
    """How the run ended."""
    at: float
    """When it was asked for, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """What the line holds that has every run repeated."""

    at: float
    """When it was asked for, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Requeued:
    """What `requeue` did."""

    runs: tuple[str, ...]
    waiting: int
    """Number of runs that were to be done again before."""
    at_work: bool
    """Whether a process is at work that will do them."""


def requeue(folder: Path, outcomes: Collection[Outcome], chosen: Collection[str] | None = None) -> Requeued:
    """Ask for runs with these outcomes to be done again.

    Args:
        folder: The journal.
        outcomes: Some of `OUTCOMES`.
        chosen: The ids of runs, all of which must have ended so; None for all that did.

    Raises:
        SetupError: there is nothing to do again, a run did not end so, or the journal is of another command.
        JournalError: there is no journal, or it cannot be written.
    """
    states = read_run_states(folder)
    request = load_request(folder)
    command = None if request is None else request.command
    if command not in COMMANDS:
        again = f"; viva {command} --resume {folder} --retry-errors repeats what could not be judged" if command else ""
        raise SetupError(f"{folder} is not the journal of a suite: only its runs can be requeued{again}.")
    if chosen is not None:
        _check(states, chosen, outcomes, folder)
    names = states.keys() if chosen is None else chosen
    found = [name for name in names if states[name].outcome in outcomes and not states[name].again]
    waiting = sum(state.again for state in states.values())
    if not found and not waiting:
        kinds = " or ".join(outcome.value for outcome in outcomes)
        raise SetupError(f"no run in {folder} ended as {kinds}; {counted(len(states), 'run')} searched.")
    if found:
        with Journal(folder) as journal:
            for name in found:
                state = states[name]
                value = Again(str.__str__(state.outcome or ""), time.time())
                journal.append(REQUEUE, name, state.attempt, value)
            journal.sync()
        _mark(folder)
    return Requeued(tuple(found), waiting, holder(folder) is not None)


def repeat_all(folder: Path, states: Mapping[str, RunState]) -> None:
    """Note that every run is to be repeated, those that have not ended included. Call this under the journal's lock.

    One line is on the disk before the first run begins: a full disk or a kill leaves all runs to be repeated, or none.

    Raises:
        JournalError: the journal cannot be written.
    """
    if all(state.again for state in states.values()):
        return
    name, newest = list(states.items())[-1]
    with Journal(folder) as journal:
        journal.append(REPEAT, name, newest.attempt, Repeat(time.time()))
        journal.sync()


def _check(
    states: Mapping[str, RunState], chosen: Collection[str], outcomes: Collection[Outcome], folder: Path
) -> None:
    for name in chosen:
        state = states.get(name)
        if state is None:
            raise SetupError(f"{folder} holds no run {name!r:.100}.")
        if state.outcome in outcomes or state.again:
            continue
        if state.outcome is None:
            raise SetupError(f"the run {name} has not ended; viva suite --resume {folder} continues it.")
        ended = state.outcome.value
        if state.outcome in OUTCOMES:
            raise SetupError(f"the run {name} ended as {ended}: add --outcome {ended}.")
        why = "what was scored stays" if state.outcome is Outcome.SCORED else "--resume with --retry-errors repeats it"
        raise SetupError(f"the run {name} ended as {ended}, which cannot be requeued: {why}.")


def _mark(folder: Path) -> None:
    """Tell the process at work; without it, nothing is to be told."""
    with suppress(OSError):
        os.close(os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644))


def forget_marks(folder: Path) -> None:
    """Remove what was left for an earlier process; the journal itself has the lines."""
    with suppress(OSError):
        os.unlink(folder / MARK)


class GrowingJobs(Iterator[Job]):
    """The jobs of a suite, and then those that were asked for while it was at work.

    It may end and go on again: whoever asks for a job later may still get one.
    """

    def __init__(self, jobs: Iterator[Job], folder: Path, job_of: Callable[[str, RunState], Job | None]) -> None:
        """Args:
        jobs: The jobs that were planned.
        folder: The journal's.
        job_of: Makes the job of a run that is to be done again; None if this process cannot do it.
        """
        self._jobs, self._folder, self._job_of = jobs, folder, job_of

    def __next__(self) -> Job:
        try:
            return next(self._jobs)
        except StopIteration:
            if not os.path.lexists(self._folder / MARK):
                raise
        forget_marks(self._folder)
        states = read_run_states(self._folder)
        found = (self._job_of(name, state) for name, state in states.items() if state.again)
        self._jobs = iter([job for job in found if job is not None])
        return next(self._jobs)
