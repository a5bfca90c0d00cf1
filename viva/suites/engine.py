"""Engines provide what does the jobs of a suite; `run_jobs` does them concurrently, and no job can stop the others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from viva.exam.given import NOTHING, Given
from viva.exam.last_words import noting_last_words
from viva.exam.subscribers import Subscribers
from viva.journal.writer import Journal
from viva.records.transcript import NO_USAGE, Usage
from viva.records.wording import counted
from viva.suites.job import Job, WorkOrder
from viva.suites.resuming.left_out import LeftOut
from viva.suites.worker import Done, Worker, open_worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a suite may use. It stops cleanly when this is used up."""

    max_cost: float | None = None
    """US dollars for all roles together. Runs in progress are completed, so the total can be somewhat higher."""
    max_tokens: int | None = None
    max_runs: int | None = None
    """Runs that are conducted or judged. For a suite that is resumed, those that had ended are subtracted."""
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
    """Why some runs were left out, other than those in `requeued`, or why there is no further batch."""
    requeued: Mapping[str, int] = field(default_factory=dict)
    """Number of runs left out that had been requeued too late, by what is said of them."""
    conversations: LeftOut = field(default_factory=LeftOut)
    """The stored conversations that were left out."""

    @property
    def words(self) -> str:
        """Return how many runs were left out, and why; empty if none were."""
        if not self.left_out:
            return ""
        others = self.left_out - sum(self.requeued.values())
        if others:
            words = [f"{counted(others, 'run')}, {self.reason}", *requeued_words(self.requeued)]
        else:
            words = [*requeued_words(self.requeued), *filter(None, [self.reason])]
        return f"left out: {'; '.join(words)}"

    @property
    def left_out_in_all(self) -> int:
        """Return how many runs and stored conversations were left out."""
        return self.left_out + self.conversations.number

    @property
    def reasons(self) -> str | None:
        """Return why they were left out; None if none were and the work did not stop early."""
        reasons = [self.conversations.words, self.reason, *requeued_words(self.requeued)]
        return "; ".join(filter(None, reasons)) or None


def requeued_words(requeued: Mapping[str, int]) -> list[str]:
    """Return which requeued runs nobody has repeated, in words.

    Args:
        requeued: Their numbers, by what is said of them.
    """
    return [
        f"{counted(number, 'run')} that {'was' if number == 1 else 'were'} {words}"
        for words, number in requeued.items()
    ]


class Doer(Protocol):
    """Does one job at a time for each of its callers: a worker in this process, or the workers of a cluster."""

    def why_not(self, job: Job) -> str | None:
        """Return why a job must not be started, in words; None if it may."""
        ...

    async def do(self, job: Job, subscribers: Subscribers) -> Done:
        """Do a job; its record is in the journal when this returns.

        Raises:
            SharedSetupError: the user must change something first; the suite can be resumed afterwards.
            JournalError: the journal cannot be written; the suite can be resumed.
            asyncio.CancelledError: the job was stopped.
        """
        ...


@runtime_checkable
class JobSource(Protocol):
    """Gives out jobs, some of which may depend on the results of earlier ones, so that a worker has to wait."""

    async def draw(self) -> Job | None:
        """Return the next job as soon as it is known; None if there is none left."""
        ...

    def settled(self, done: Done | None) -> None:
        """Note that a drawn job is done; None if it was left out, so that none that depends on it may follow."""
        ...

    def close(self) -> int:
        """Give out no further job; return how many are known that were not drawn."""
        ...


class ListedJobs:
    """A source of jobs that do not depend on each other."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = iter(jobs)

    async def draw(self) -> Job | None:
        """Return the next job."""
        return next(self._jobs, None)

    def settled(self, done: Done | None) -> None:
        """Do nothing: no job depends on another one."""

    def close(self) -> int:
        """Return the number of jobs that were not drawn."""
        return sum(1 for _ in self._jobs)


class Engine(Protocol):
    """Provides what does the jobs of one work order. The caller opens it once, and always closes it."""

    @property
    def notices(self) -> Sequence[str]:
        """Return what the user should know before the first job."""
        ...

    async def open(self, order: WorkOrder, journal: Callable[[], Journal]) -> Doer:
        """Build what the jobs require, open the journal once that has succeeded, and return what does the jobs.

        Raises:
            SetupError: the user must change something; no journal was opened.
            SandboxError: the sandbox is not available.
            JournalError: the journal cannot be written.
        """
        ...

    def notify(self, note: Callable[[str], None]) -> None:
        """Call `note` from now on with what the user should know."""
        ...

    async def close(self) -> None:
        """Release what `open` built. It may be called without `open`."""
        ...


class LocalEngine:
    """Does all jobs in this process, with one worker on one event loop."""

    def __init__(self, given: Given = NOTHING) -> None:
        """Args:
        given: Objects that replace names in the work order.
        """
        self._worker: Worker | None = None
        self._given = given
        self._watch = contextlib.ExitStack()

    @property
    def notices(self) -> Sequence[str]:
        """Return what the user should know before the first job."""
        return () if self._worker is None else self._worker.resources.notices

    async def open(self, order: WorkOrder, journal: Callable[[], Journal]) -> Worker:
        """Open the worker."""
        opened: list[Journal] = []

        def open_journal() -> Journal:
            opened.append(journal())
            return opened[0]

        self._worker = await open_worker(order, open_journal, self._given)
        if opened and any(agent.kind == "python" for agent in self._worker.resources.agents.values()):
            # An agent in this process can end it, and then nothing else can say so.
            self._watch.enter_context(noting_last_words(opened[0].folder))
        return self._worker

    def notify(self, note: Callable[[str], None]) -> None:
        """Do nothing: all that this engine has to say is known when it is open."""

    async def close(self) -> None:
        """Close the worker."""
        self._watch.close()
        if self._worker is not None:
            await self._worker.resources.close()


async def run_jobs(
    doer: Doer,
    jobs: Iterable[Job] | JobSource,
    concurrency: int,
    subscribers: Subscribers,
    budget: Budget | None = None,
    may_begin: Callable[[], Awaitable[None]] | None = None,
) -> SuiteEnd:
    """Do jobs concurrently, or as many as the budget allows.

    Args:
        doer: Does one job.
        jobs: The jobs, or their source. They are drawn one by one.
        concurrency: The number of jobs at once.
        subscribers: Are notified.
        budget: What the jobs may use.
        may_begin: Waits until a further job may be drawn.

    Raises:
        SharedSetupError: the user must change something first; the suite can be resumed afterwards.
        JournalError: the journal cannot be written; the suite can be resumed.
        asyncio.CancelledError: the suite was cancelled; it can be resumed.
    """
    budget = budget or Budget()
    end, spent = SuiteEnd(), NO_USAGE
    source = jobs if isinstance(jobs, JobSource) else ListedJobs(jobs)
    begun, drained = 0, False

    async def work() -> None:
        nonlocal spent, begun, drained
        while True:
            if may_begin is not None:
                await may_begin()
            if (job := await source.draw()) is None:
                drained = True
                return
            try:
                if may_begin is not None:
                    await may_begin()  # again: the job may have been waited for
                reason = over_budget(budget, spent, begun) or doer.why_not(job)
                if reason is not None:
                    end.reason = reason
                    end.left_out += 1
                    source.settled(None)
                    continue
                begun += 1
                done = await doer.do(job, subscribers)
            except asyncio.CancelledError:
                end.left_out += 1
                raise
            spent += done.spent
            end.ended += 1
            source.settled(done)

    workers: list[asyncio.Future[None]] = []
    try:
        async with asyncio.timeout(budget.max_seconds):
            while len(workers) < concurrency and not drained:
                # All draw from one iterator: memory grows with concurrency, not with the number of jobs.
                workers.append(asyncio.ensure_future(work()))
                # Started one by one: otherwise no first message is sent before the last run is set up, and all
                # replies keep arriving at the same time. With 500, that cost 6 ms in every round.
                await asyncio.sleep(0)
            # The first that fails stops the others.
            ended, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for worker in ended:
                worker.result()
    except TimeoutError:
        end.reason = f"--max-time of {budget.max_seconds:g} s is used up"
        end.left_out += source.close()
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return end


def over_budget(budget: Budget, spent: Usage, begun: int = 0) -> str | None:
    """Return why no further run may start, in words; None if one may."""
    if budget.max_runs is not None and begun >= budget.max_runs:
        return "--max-runs is reached"
    if budget.max_tokens is not None and spent.tokens >= budget.max_tokens:
        return f"--max-tokens of {budget.max_tokens:,} is used up"
    if budget.max_cost is None:
        return None
    if spent.cost is None:
        return "--max-cost cannot be applied, because the price of a model is unknown; use --max-tokens"
    return f"--max-cost of ${budget.max_cost:g} is used up" if spent.cost >= budget.max_cost else None
