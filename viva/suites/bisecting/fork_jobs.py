"""The jobs of a bisection: each depends on the results of the earlier ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from viva.exam.subscribers import RunHeader
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript
from viva.statistics.bisection.plan import BisectionPlan, trial_of
from viva.statistics.bisection.search import ForkResult, ForkTrial, search
from viva.suites.job import Job


class ForkJobs:
    """Provides the forks that the search wants next. It is also the subscriber that is told their results."""

    def __init__(
        self, plan: BisectionPlan, results: dict[ForkTrial, ForkResult], job_of: Callable[[ForkTrial], Job]
    ) -> None:
        """Args:
        plan: What is to be found.
        results: The results of earlier forks; those of new ones are added.
        job_of: Makes the job of a fork.
        """
        self._plan, self._results, self._job_of = plan, results, job_of
        self._at_work: set[ForkTrial] = set()
        self._refused = False
        self._changed = asyncio.Event()

    async def draw(self) -> Job | None:
        """Return the next fork as soon as it is known; None at the end of the search."""
        while not self._refused:
            wanted = search(self._plan.rules, self._results).wanted
            trial = next((each for each in wanted if each not in self._at_work), None)
            if trial is not None:
                self._at_work.add(trial)
                return self._job_of(trial)
            if not wanted:
                break
            await self._changed.wait()
        return None

    def refuse(self) -> None:
        """Note that no further job may be started."""
        self._refused = True
        self._wake()

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """Note the result of a fork."""
        trial = trial_of(run.id)
        if trial is not None:
            self._results[trial] = self._plan.result(record, trial.kept)
            self._at_work.discard(trial)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
