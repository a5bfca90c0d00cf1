"""The jobs of an adaptive suite, batch by batch: the next batch is planned when all runs of the last one have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from viva.records.wording import counted
from viva.statistics.adaptive.evidence import Strata
from viva.statistics.adaptive.trials import first_batch, limited, next_batch
from viva.statistics.adaptive.until import Aim, Until
from viva.suites.adaptive.batches import StoredBatch, StratumKey, after, gathered, read_batches, write_batch
from viva.suites.adaptive.decisions import Scores, decide, questions, scores_in
from viva.suites.job import Job
from viva.suites.worker import Done

MOST_FILLS = 2
"""Times that excluded runs of one batch are replaced."""


class AdaptivePlan:
    """Plans the batches of one suite. What it decides depends on stored batches and scores alone."""

    def __init__(self, until: Until, strata: Sequence[StratumKey], max_runs: int | None = None) -> None:
        """Args:
        until: The decision.
        strata: What can be tried; the same cases, in the same order, of each agent.
        max_runs: The largest number of runs of all batches.
        """
        self.until = until
        self._strata, self._most = strata, max_runs
        agents = tuple(dict.fromkeys(key.agent for key in strata))
        self._questions = questions(until, agents)
        self._shape = Strata.of(len(strata) // len(agents), compared=until.aim is Aim.COMPARE)
        self.why = ""
        """Why no further batch is planned although something is undecided."""

    @property
    def fewest(self) -> int:
        """Return the number of runs of the first batch if every case is tried once."""
        return len(self._strata)

    def first(self) -> StoredBatch:
        """Return the first batch: all cases alike."""
        number = first_batch(self._shape)[0]
        if self._most is not None:
            number = max(1, min(number, self._most // len(self._strata)))
        return after((), dict.fromkeys(self._strata, number))

    def next(self, batches: Sequence[StoredBatch], scores: Scores) -> StoredBatch | None:
        """Return the batch to conduct now that all runs of the earlier ones have ended; None if there is none."""
        left = None if self._most is None else self._most - sum(row.trials for each in batches for row in each.rows)
        filling = self._fill(batches, scores)
        if filling and (left is None or sum(filling.values()) <= left):
            return after(batches, filling, fills=True)
        numbers: dict[StratumKey, int] = {}
        for agents in self._questions:
            found = decide(self.until, agents, batches, scores)
            if found.ended or found.seen is None:
                continue
            keys = [key for agent in agents for key in self._strata if key.agent == agent]
            numbers.update(zip(keys, next_batch(self.until, self._shape, found.seen), strict=True))
        if not numbers:
            return None
        allowed = list(numbers.values()) if left is None else limited(list(numbers.values()), left)
        if allowed is None:
            self.why = f"--max-runs of {self._most:,} leaves no further batch"
            return None
        return after(batches, dict(zip(numbers, allowed, strict=True)))

    def so_far(self, batches: Sequence[StoredBatch], scores: Scores) -> str:
        """Return the estimates in words."""
        found = [decide(self.until, agents, batches, scores) for agents in self._questions]
        return ", ".join("unknown" if each.estimate is None else f"{each.estimate:.3f}" for each in found)

    def _fill(self, batches: Sequence[StoredBatch], scores: Scores) -> dict[StratumKey, int]:
        """Return how many trials must stand in for excluded runs of the last batch."""
        fills = 0
        for batch in reversed(batches):
            if not batch.fills:
                break
            fills += 1
        if fills >= MOST_FILLS:
            return {}
        needed: dict[StratumKey, int] = {}
        for key, (wanted, runs) in gathered(batches)[-1].items():
            lacking = wanted - sum(scores.get(run) is not None for run in runs)
            if lacking > 0:
                needed[key] = lacking
        return needed


class BatchedJobs:
    """Gives out the jobs of the batches that are stored, and then those of further ones, until there is none."""

    def __init__(
        self,
        plan: AdaptivePlan,
        folder: Path,
        jobs: Iterator[Job],
        more: Callable[[StoredBatch], Iterator[Job]],
        announce: Callable[[str], None],
    ) -> None:
        """Args:
        plan: Plans the batches.
        folder: The journal's.
        jobs: Those of the batches that are stored.
        more: Makes the jobs of a further batch, which is stored by then.
        announce: Is told of each further batch.
        """
        self._plan, self._folder, self._jobs, self._more, self._announce = plan, folder, jobs, more, announce
        self._begun = 0
        self._stopped = self._ended = False
        self._lock, self._settled = asyncio.Lock(), asyncio.Event()

    async def draw(self) -> Job | None:
        """Return the next job; once all of a batch were drawn, wait until they have ended."""
        async with self._lock:
            while (job := next(self._jobs, None)) is None and not self._ended:
                if self._begun:
                    self._settled.clear()
                    await self._settled.wait()
                elif self._stopped:
                    self._ended = True
                else:
                    await self._plan_more()
            self._begun += job is not None
            return job

    def settled(self, done: Done | None) -> None:
        """Note that a job that was drawn is done, or was left out: then no further batch is planned."""
        self._begun -= 1
        self._stopped = self._stopped or done is None
        self._settled.set()

    def close(self) -> int:
        """Plan no further batch; return how many jobs of this one were not drawn."""
        self._ended = True
        return sum(1 for _ in self._jobs)

    async def _plan_more(self) -> None:
        batches, scores, planned = await asyncio.to_thread(self._planned)
        if planned is None:
            self._ended = True
            return
        number = sum(row.trials for row in planned.rows)
        what = (
            "instead of excluded ones" if planned.fills else f"of batch {sum(not each.fills for each in batches) + 1}"
        )
        self._announce(f"{counted(number, 'run')} {what} to conduct; so far: {self._plan.so_far(batches, scores)}")
        self._jobs = self._more(planned)

    def _planned(self) -> tuple[list[StoredBatch], Mapping[str, float | None], StoredBatch | None]:
        batches, scores = read_batches(self._folder), scores_in(self._folder, self._plan.until)
        planned = self._plan.next(batches, scores)
        if planned is not None:
            write_batch(self._folder, len(batches) + 1, planned)
        return batches, scores, planned
