"""The jobs of a bisection: each depends on the results of the earlier ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from viva.statistics.bisection.plan import BisectionPlan, trial_of
from viva.statistics.bisection.search import ForkResult, ForkTrial, search
from viva.suites.job import Job
from viva.suites.worker import Done


class ForkJobs:
    """Gives out the forks that the search wants next."""

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
        self._stopped = False
        self._changed = asyncio.Event()

    async def draw(self) -> Job | None:
        """Return the next fork as soon as it is known; None at the end of the search."""
        while not self._stopped:
            wanted = search(self._plan.rules, self._results).wanted
            trial = next((each for each in wanted if each not in self._at_work), None)
            if trial is not None:
                self._at_work.add(trial)
                return self._job_of(trial)
            if not wanted:
                break
            await self._changed.wait()
        return None

    def settled(self, done: Done | None) -> None:
        """Note the result of a fork, or that it was left out: then no further one is made."""
        trial = None if done is None else trial_of(done.record.id)
        if done is None:
            self._stopped = True
        elif trial is not None:
            self._results[trial] = self._plan.result(done.record, trial.kept)
            self._at_work.discard(trial)
        self._wake()

    def close(self) -> int:
        """Make no further fork; return how many of those that are wanted were not drawn."""
        self._stopped = True
        self._wake()
        return sum(each not in self._at_work for each in search(self._plan.rules, self._results).wanted)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
