"""Engines run many jobs concurrently into one journal; no job can stop or starve the others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from viva.exam.given import NOTHING, Given
from viva.exam.last_words import noting_last_words
from viva.exam.subscribers import Subscribers
from viva.journal.writer import Journal
from viva.records.transcript import NO_USAGE, Usage
from viva.suites.job import Job, WorkOrder
from viva.suites.worker import Done, Worker, open_worker


@dataclass(frozen=True, slots=True)
class SuiteLimits:
    """The limits at which a suite stops cleanly."""

    concurrency: int = 4
    """Maximum number of concurrent conversations."""
    max_cost: float | None = None
    """US dollars for all roles together. Runs in progress are completed, so the total can be somewhat higher."""
    max_tokens: int | None = None
    max_seconds: float | None = None
    """Wall-clock seconds; runs in progress are cancelled, and can be resumed."""


@dataclass(slots=True)
class SuiteEnd:
    """How a suite ended."""

    ended: int = 0
    """Number of runs that now have a record."""
    left_out: int = 0
    """Number of runs that were not started, or were cancelled."""
    reason: str | None = None
    """Why some runs were left out."""
    gaps: dict[str, str] = field(default_factory=dict)
    """Stored conversations that were left out: the run, and its missing rounds."""


class Engine(Protocol):
    """Runs the jobs of one work order. The caller opens it, runs it once, and always closes it."""

    @property
    def notices(self) -> Sequence[str]:
        """Return what the user should know before the first job."""
        ...

    async def open(self, order: WorkOrder, journal: Callable[[], Journal]) -> None:
        """Build what the jobs require, and open the journal once that has succeeded.

        Raises:
            SetupError: the user must change something; no journal was opened.
            SandboxError: the sandbox is not available.
            JournalError: the journal cannot be written.
        """
        ...

    async def run(self, jobs: Iterable[Job], limits: SuiteLimits, subscribers: Subscribers) -> SuiteEnd:
        """Run the jobs, or as many as the limits allow.

        Raises:
            SharedSetupError: the user must change something first; the suite can be resumed afterwards.
            JournalError: the journal cannot be written; the suite can be resumed.
            asyncio.CancelledError: the suite was cancelled; it can be resumed.
        """
        ...

    async def close(self) -> None:
        """Release what `open` built. It may be called without `open`."""
        ...


class LocalEngine:
    """Runs all jobs in this process, with one worker on one event loop."""

    def __init__(self, worker: Worker | None = None, given: Given = NOTHING) -> None:
        """Args:
        worker: A worker that is already open.
        given: Objects that replace names in the work order.
        """
        self.worker = worker
        self._given = given
        self._watch = contextlib.ExitStack()

    @property
    def notices(self) -> Sequence[str]:
        """Return what the user should know before the first job."""
        return () if self.worker is None else self.worker.resources.notices

    async def open(self, order: WorkOrder, journal: Callable[[], Journal]) -> None:
        """Open the worker."""
        opened: list[Journal] = []

        def open_journal() -> Journal:
            opened.append(journal())
            return opened[0]

        self.worker = await open_worker(order, open_journal, self._given)
        if opened and any(agent.kind == "python" for agent in self.worker.resources.agents.values()):
            # An agent in this process can end it, and then nothing else can say so.
            self._watch.enter_context(noting_last_words(opened[0].folder))

    async def close(self) -> None:
        """Close the worker."""
        self._watch.close()
        if self.worker is not None:
            await self.worker.resources.close()

    async def run(self, jobs: Iterable[Job], limits: SuiteLimits, subscribers: Subscribers) -> SuiteEnd:
        """Run the jobs concurrently."""
        assert self.worker is not None
        return await run_jobs(self.worker, jobs, limits, subscribers)


class Doer(Protocol):
    """Does one job at a time for each of its callers."""

    def why_not(self, job: Job) -> str | None:
        """Return why a job must not be started, in words; None if it may."""
        ...

    async def do(self, job: Job, subscribers: Subscribers) -> Done:
        """Do a job; its record is in the journal when this returns."""
        ...


async def run_jobs(doer: Doer, jobs: Iterable[Job], limits: SuiteLimits, subscribers: Subscribers) -> SuiteEnd:
    """Do jobs concurrently, or as many as the limits allow. It raises what `Engine.run` raises."""
    suite = _JobRunner(doer, iter(jobs), limits, subscribers)
    workers: list[asyncio.Future[None]] = []
    try:
        async with asyncio.timeout(limits.max_seconds):
            for _ in range(limits.concurrency):
                # All draw from one iterator: memory grows with concurrency, not with the number of jobs.
                workers.append(asyncio.ensure_future(suite.work()))
                # Started one by one: otherwise no first message is sent before the last run is set up, and all
                # replies keep arriving at the same time. With 500, that cost 6 ms in every round.
                await asyncio.sleep(0)
            await _all(workers)
    except TimeoutError:
        suite.end.reason = f"--max-time of {limits.max_seconds:g} s is used up"
        suite.end.left_out += sum(1 for _ in suite.jobs)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return suite.end


class _JobRunner:
    """Runs jobs from a shared iterator, and adds up their cost."""

    def __init__(self, doer: Doer, jobs: Iterator[Job], limits: SuiteLimits, subscribers: Subscribers) -> None:
        self.jobs, self.end = jobs, SuiteEnd()
        self._doer, self._limits, self._subscribers = doer, limits, subscribers
        self._spent = NO_USAGE

    async def work(self) -> None:
        """Run one job after the other."""
        for job in self.jobs:
            reason = over_budget(self._limits, self._spent) or self._doer.why_not(job)
            if reason is not None:
                self.end.reason = reason
                self.end.left_out += 1
                continue
            try:
                done = await self._doer.do(job, self._subscribers)
            except asyncio.CancelledError:
                self.end.left_out += 1
                raise
            self._spent += done.spent
            self.end.ended += 1


def over_budget(limits: SuiteLimits, spent: Usage) -> str | None:
    """Return why no further run may start, in words; None if one may."""
    if limits.max_tokens is not None and spent.tokens >= limits.max_tokens:
        return f"--max-tokens of {limits.max_tokens:,} is used up"
    if limits.max_cost is None:
        return None
    if spent.cost is None:
        return "--max-cost cannot be applied, because the price of a model is unknown; use --max-tokens"
    return f"--max-cost of ${limits.max_cost:g} is used up" if spent.cost >= limits.max_cost else None


async def _all(workers: Sequence[asyncio.Future[None]]) -> None:
    """Wait for all workers; the first that fails (only because the journal cannot be written) stops the others."""
    done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    for worker in done:
        worker.result()
