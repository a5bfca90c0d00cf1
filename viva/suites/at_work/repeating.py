"""Gives out runs again that were requeued while their suite was at work, and tells how many of them are left."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from pathlib import Path

from viva.exam.stored_runs import RunState, read_run_states
from viva.suites.at_work.requeueing import MARK, GrowingJobs
from viva.suites.engine import JobSource
from viva.suites.job import Job
from viva.suites.worker import Done

NOT_PREPARED = "requeued, but whose case this process had not loaded because all its runs had ended"
TOO_LATE = "requeued after the last run had started"


class RunsAgain:
    """Knows which runs of a suite are at work, so that none of them is given out a second time."""

    def __init__(self, job_of: Callable[[str, RunState], Job | None], prepared: Container[str]) -> None:
        """Args:
        job_of: Makes the job of a run that is to be done again; None if it has been given out.
        prepared: The ids of the runs that this process can do.
        """
        self._job_of, self._prepared = job_of, prepared
        self._in_hand: set[str] = set()
        """The runs that were given out and have not ended: they are at work, or were left out."""
        self._later: set[str] = set()
        """Those of them that were requeued meanwhile."""
        self._due: list[str] = []
        """Those of these that have ended."""
        self._ready: list[Job] = []
        """The jobs of those of them that are still to be repeated."""
        self._refused: set[str] = set()

    def jobs(self, planned: Iterator[Job], folder: Path) -> Iterator[Job]:
        """Return the jobs that were planned, and then those of requeued runs; it may end and go on again."""
        return _JobsAgain(GrowingJobs(planned, folder, self._job), folder, self)

    def source(self, source: JobSource) -> JobSource:
        """Return a source of jobs that were made by `jobs`; it notes which of them have ended."""
        return _NotingSource(source, self)

    def begin(self, run: str) -> None:
        """Note that a run is given out."""
        self._in_hand.add(run)

    def end(self, run: str) -> None:
        """Note that a run has ended."""
        self._in_hand.discard(run)
        if run in self._later:
            self._later.discard(run)
            self._due.append(run)

    def due(self, folder: Path) -> Job | None:
        """Return the job of a run that was requeued while it was at work, has ended, and is still to be repeated."""
        if self._due:
            states = read_run_states(folder)  # the whole journal, so once for all of them
            ended = {run: states[run] for run in self._due if run in states}
            self._due.clear()
            # If its own next attempt followed the one after which it was requeued, it has been repeated.
            jobs = (self._job_of(run, state) for run, state in ended.items() if state.again)
            self._ready += [job for job in jobs if job is not None]
        return self._ready.pop(0) if self._ready else None

    def left(self, folder: Path) -> dict[str, int]:
        """Return how many requeued runs nobody has repeated or counted, by why. Call this when the lock is released.

        Whoever requeues a run then finds that nobody is at work.

        Raises:
            JournalError: the journal cannot be read.
        """
        marked = os.path.lexists(folder / MARK)
        if not (marked or self._refused):
            return {}
        again = {run for run, state in read_run_states(folder).items() if state.again} - self._in_hand
        refused = again & self._refused
        late = again - refused if marked else set()
        return {words: len(runs) for words, runs in ((NOT_PREPARED, refused), (TOO_LATE, late)) if runs}

    def _job(self, run: str, state: RunState) -> Job | None:
        if run in self._in_hand:
            # Between two attempts of its own, too, the record of the last one is in the journal.
            self._later.add(run)
            return None
        if run not in self._prepared:
            self._refused.add(run)
        return self._job_of(run, state)


class _JobsAgain(Iterator[Job]):
    """Gives out first what is due, and notes what it gives out."""

    def __init__(self, jobs: GrowingJobs, folder: Path, again: RunsAgain) -> None:
        self._jobs, self._folder, self._again = jobs, folder, again

    def __next__(self) -> Job:
        job = self._again.due(self._folder) or next(self._jobs)
        self._again.begin(job.header.id)
        return job


class _NotingSource:
    """Notes which of the jobs of a source have ended."""

    def __init__(self, source: JobSource, again: RunsAgain) -> None:
        self._source, self._again = source, again

    async def draw(self) -> Job | None:
        """Return the next job."""
        return await self._source.draw()

    def settled(self, done: Done | None) -> None:
        """Note that a job is done, before another one is drawn for it."""
        if done is not None:
            self._again.end(done.header.id)
        self._source.settled(done)

    def close(self) -> int:
        """Return how many jobs were not drawn."""
        return self._source.close()
