"""Runs many exams at once: each on its own, none able to stop or starve the others, all in one journal."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import tenacity

from adapters.errors import SetupError
from harness.exam.examine import Run, examine, judge_and_record, setting_for
from harness.exam.stored_runs import judged_by, workspace_of
from records.journal import JournalError
from records.journal_reader import StoredRun
from records.run_record import Outcome, RunRecord, Setting, Timing
from records.text import storable
from records.transcript import NO_USAGE, Round, Usage
from sandbox import SandboxError


@dataclass(frozen=True, slots=True)
class SuiteLimits:
    """What a suite may use before it stops cleanly."""

    concurrency: int = 4
    """Conversations at once."""
    attempts: int = 3
    """Attempts at a run whose examiner, sandbox or provider failed."""
    max_cost: float | None = None
    """US dollars, all roles together. Runs under way are finished, so the sum may end somewhat above."""
    max_tokens: int | None = None
    max_seconds: float | None = None
    """Wall-clock seconds; runs under way are cut off, and can be resumed."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    run: Run
    stored: StoredRun | None = None
    """A conversation that has ended and is only to be judged."""


class Listener(Protocol):
    """Is told what happens in a suite."""

    def on_start(self, run: Run) -> None:
        """A run begins, or begins again."""
        ...

    def on_round(self, run: Run, round_: Round) -> None:
        """One more round is in the journal."""
        ...

    def on_end(self, run: Run, record: RunRecord) -> None:
        """A run has its record."""
        ...


@dataclass(slots=True)
class SuiteEnd:
    """How a suite ended."""

    ended: int = 0
    """Runs that have a record now."""
    left_out: int = 0
    """Runs that were not begun, or cut off."""
    reason: str | None = None
    """Why some were left out."""


@dataclass(slots=True)
class Suite:
    """A suite under way. `run` does all jobs, or as many as the limits allow."""

    jobs: Iterable[Job]
    limits: SuiteLimits
    listener: Listener
    end: SuiteEnd = field(default_factory=SuiteEnd)
    _spent: Usage = NO_USAGE

    async def run(self) -> SuiteEnd:
        """Do the jobs.

        Raises:
            JournalError: the journal cannot be written; what it holds can be resumed.
            asyncio.CancelledError: somebody wants the suite to end; it can be resumed.
        """
        jobs = iter(self.jobs)
        workers: list[asyncio.Future[None]] = []
        try:
            async with asyncio.timeout(self.limits.max_seconds):
                for _ in range(self.limits.concurrency):
                    # Workers draw from one iterator: memory grows with concurrency, not with the number of jobs.
                    workers.append(asyncio.ensure_future(self._work(jobs)))
                    # One after the other: begun at once, no first message would leave before the last run is set up,
                    # and the replies would come in one heap ever after. At 500, that cost 6 ms in every round.
                    await asyncio.sleep(0)
                await _all(workers)
        except TimeoutError:
            self.end.reason = f"--max-time of {self.limits.max_seconds:g} s is over"
            self.end.left_out += sum(1 for _ in jobs)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return self.end

    async def _work(self, jobs: Iterator[Job]) -> None:
        for job in jobs:
            reason = self._over_budget()
            if reason is not None:
                self.end.reason = reason
                self.end.left_out += 1
                continue
            try:
                record = await self._do(job)
            except asyncio.CancelledError:
                self.end.left_out += 1
                raise
            self.end.ended += 1
            self.listener.on_end(job.run, record)

    async def _do(self, job: Job) -> RunRecord:
        if job.stored is not None:
            self.listener.on_start(job.run)
            return await self._judge_stored(job.run, job.stored)
        attempts = iter(range(job.run.attempt, job.run.attempt + self.limits.attempts))

        async def attempt() -> tuple[RunRecord, bool]:
            return await self._examine(replace(job.run, attempt=next(attempts)))

        record, again = await attempt()
        if not again or self.limits.attempts == 1:
            return record
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(lambda result: result[1]),
            stop=tenacity.stop_after_attempt(self.limits.attempts - 1),
            wait=tenacity.wait_exponential(0.2, 20.0) + tenacity.wait_random(0, 1),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        result: tuple[RunRecord, bool] = await retrying(attempt)
        return result[0]

    async def _examine(self, run: Run) -> tuple[RunRecord, bool]:
        """One attempt, and whether another may end better. Nothing that goes wrong in a run leaves it."""
        self.listener.on_start(run)
        try:
            record = await examine(run, lambda round_: self.listener.on_round(run, round_))
        except JournalError:
            raise
        except SetupError as error:
            return failed_record(run, str(error)), False
        except SandboxError as error:
            return failed_record(run, str(error)), True
        except Exception as error:
            return failed_record(run, _own_fault(error)), False
        # Each attempt was paid for, whether or not another follows.
        for used in record.usage.values():
            self._spent += used
        return record, was_no_exam(record)

    async def _judge_stored(self, run: Run, stored: StoredRun) -> RunRecord:
        setting = judged_by(stored.setting, run.resources.judge)
        if setting != stored.setting:
            run.append("setting", setting)
        work = judge_and_record(run, setting, stored.transcript, workspace_of(stored), conversation_timing(stored))
        try:
            record = await work
        except JournalError:
            raise
        except Exception as error:
            return failed_record(run, _own_fault(error), setting)
        # The conversation was paid for by the suite that held it.
        self._spent += record.usage.get("judge", NO_USAGE)
        return record

    def _over_budget(self) -> str | None:
        limits, spent = self.limits, self._spent
        if limits.max_tokens is not None and spent.input_tokens + spent.output_tokens >= limits.max_tokens:
            return f"--max-tokens of {limits.max_tokens:,} is used up"
        if limits.max_cost is None:
            return None
        if spent.cost is None:
            return "--max-cost cannot be kept: the price of a model is not known (--max-tokens can)"
        return f"--max-cost of ${limits.max_cost:g} is used up" if spent.cost >= limits.max_cost else None


def was_no_exam(record: RunRecord) -> bool:
    """Whether the examiner or the infrastructure broke a conversation off, so that it should be held again.

    One that came to its end is never held again for the judge's sake.
    """
    return record.outcome in (Outcome.EXAMINER_ERROR, Outcome.INFRA_ERROR) and not record.insights


def failed_record(run: Run, error: str, setting: Setting | None = None) -> RunRecord:
    """Write the record of a run that could not be held or judged; `setting` is the one it has, if it has one."""
    record = RunRecord(
        run.id,
        run.case.name,
        run.resources.agent.spec,
        Outcome.INFRA_ERROR,
        None,
        error=storable(error),
        agent_version=run.resources.agent.version,
        trial=run.trial,
        attempt=run.attempt,
        tags=run.case.tags,
        timing=Timing(time.time()),
        setting=setting or setting_for(run.case, run.resources, ""),
    )
    run.append("run", record)
    return record


def _own_fault(error: Exception) -> str:
    return f"Viva itself failed: {''.join(traceback.format_exception(error)[-2:])}"


def conversation_timing(stored: StoredRun) -> Timing:
    """The time of a stored conversation without that of its judgement; as far as the rounds tell, without a record."""
    if stored.record is not None:
        timing = stored.record.timing
        return replace(timing, seconds=max(0.0, timing.seconds - timing.judge_seconds))
    rounds = stored.transcript.rounds
    seconds = sum(round_.examiner_seconds + round_.agent_seconds for round_ in rounds)
    return Timing((rounds[0].started if rounds else None) or 0.0, seconds)


async def _all(workers: Sequence[asyncio.Future[None]]) -> None:
    """Wait for all workers; the first that fails (only a journal that cannot be written does that) stops the rest."""
    done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    for worker in done:
        worker.result()
