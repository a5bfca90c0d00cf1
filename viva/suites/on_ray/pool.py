"""Gives jobs to the workers of a cluster, and to another one if a worker is lost or refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from viva.cases import Case
from viva.errors import SetupError, SharedSetupError
from viva.exam.subscribers import Subscribers
from viva.journal.history import JournalHistory
from viva.journal.kept_cases import keep_case, stored_case
from viva.journal.writer import Journal
from viva.records.wording import counted
from viva.suites.job import Action, Job
from viva.suites.on_ray.beside import Beside, gather_beside
from viva.suites.on_ray.failed_runs import REMEDY, write_failure
from viva.suites.on_ray.progress import RunProgress
from viva.suites.on_ray.remote_job import Broken, Ended, JobRefused
from viva.suites.on_ray.remote_worker import RemoteWorker
from viva.suites.worker import Done

Refusal = tuple[str, str]
"""A node's name and an agent's SPEC; the SPEC is empty for judging."""


class WorkerPool:
    """A `Doer` that does each job on one of several workers. All methods are called on one event loop."""

    def __init__(
        self,
        journal: Journal,
        cases: Sequence[Case],
        attempts: int,
        needs_sandbox: Callable[[Case | None], bool],
        workspaces: tuple[str, ...] = (),
    ) -> None:
        """Args:
        journal: The journal that is written.
        cases: The cases that the workers know.
        attempts: Maximum number of times that a job is begun because workers were lost.
        needs_sandbox: Tells whether runs of a case can only be judged by a worker with a sandbox.
        workspaces: Folders outside of journals in which agents' files may be read.
        """
        self.workers: list[RemoteWorker] = []
        self.expected = 0
        """Number of workers that are being started, and may soon be there."""
        self.done = 0
        """Number of jobs that were done."""
        self._journal, self._attempts, self._workspaces = journal, attempts, workspaces
        self._needs_sandbox = needs_sandbox
        self._cases = {(case.name, case.hash): case for case in cases}
        self._sent = frozenset(self._cases)
        self._checked: dict[tuple[str, str], bool] = {}
        self._kept: set[tuple[str, str]] = set()
        self._histories: dict[Path, JournalHistory] = {}
        self._refusals: dict[Refusal, str] = {}
        self._stopped: dict[Refusal, str] = {}
        self._changed = asyncio.Condition()

    def why_not(self, job: Job) -> str | None:
        """Return why a job must not be started (no node reaches its agent any more), in words; None if it may."""
        if job.action is Action.JUDGE or self.expected:
            return None
        nodes = {worker.node for worker in self.workers if not worker.lost}
        words = [self._stopped.get((node, job.header.agent)) for node in nodes]
        return next(iter(words)) if words and None not in words else None

    async def do(self, job: Job, subscribers: Subscribers) -> Done:
        """Do a job on one of the workers.

        Raises:
            SharedSetupError: no worker can do it.
            JournalError: the journal cannot be written.
            asyncio.CancelledError: the job was stopped.
        """
        self._keep_case(job)
        losses, first, progress = 0, job, RunProgress(job.unfair)
        while True:
            # The last attempt gets a worker of its own, so that other runs do not die with it.
            alone = losses == self._attempts - 1
            worker = await (self._take_all_places(job) if alone else self._take_place(job))
            places = worker.places if alone else 1
            try:
                folder = self._journal.folder if job.conversation is None else Path(job.conversation.folder)
                history = self._histories.setdefault(folder, JournalHistory(folder))
                beside = await self._beside(job)
                ended = await worker.do(job, beside, self._journal, subscribers, history, progress)
            finally:
                await self._give_places(worker, places)
            if isinstance(ended, Ended):
                self._note_stopped(worker.node, job, ended.stopped)
                self.done += 1
                done = ended.done
                break
            if isinstance(ended, Done):
                self.done += 1
                done = ended
                break
            if isinstance(ended, Broken):
                done = write_failure(self._journal, job, progress, worker.node, str(ended))
                break
            if isinstance(ended, JobRefused):
                self._refuse(worker.node, job, ended.words, subscribers)
            else:
                losses += 1
                if losses >= self._attempts:
                    where = f"the last time on {worker.node}, where it did nothing else. {REMEDY}"
                    words = f"the worker that did it was lost {counted(losses, 'time')}, {where}"
                    done = write_failure(self._journal, job, progress, worker.node, words)
                    break
            job = await asyncio.to_thread(progress.next_job, first, self._journal.folder)
        await subscribers.on_end(done.header, done.record, done.transcript)
        return done

    async def changed(self) -> None:
        """Wake the jobs that wait for a place: a worker was added or lost."""
        async with self._changed:
            self._changed.notify_all()

    async def _take_place(self, job: Job) -> RemoteWorker:
        checks = self._needs_checks(job)
        async with self._changed:
            while True:
                free = [each for each in self._willing(job) if each.busy < each.places and not each.kept_free]
                if free:
                    # Workers without a sandbox first: those with one are kept for jobs that need it.
                    chosen = min(free, key=lambda worker: (worker.checks and not checks, worker.busy / worker.places))
                    chosen.busy += 1
                    return chosen
                await self._changed.wait()

    async def _take_all_places(self, job: Job) -> RemoteWorker:
        """Keep further jobs from a worker until it does nothing, and take it."""
        chosen: RemoteWorker | None = None
        async with self._changed:
            try:
                while True:
                    willing = self._willing(job)
                    if chosen is None or chosen not in willing:
                        if chosen is not None:
                            # It lives, but its node refuses this job: other jobs may have it.
                            chosen.kept_free = False
                            self._changed.notify_all()
                        others = [worker for worker in willing if not worker.kept_free]
                        chosen = min(others, key=lambda worker: worker.busy, default=None)
                        if chosen is not None:
                            chosen.kept_free = True
                    if chosen is not None and not chosen.busy:
                        chosen.busy = chosen.places
                        return chosen
                    await self._changed.wait()
            finally:
                if chosen is not None:
                    chosen.kept_free = False
                    self._changed.notify_all()

    def _willing(self, job: Job) -> list[RemoteWorker]:
        """Return the workers that can do a job, now or later; it may be empty while workers are being started.

        Raises:
            SharedSetupError: there will be none.
        """
        checks = self._needs_checks(job)
        able = [worker for worker in self.workers if not worker.lost and (worker.checks or not checks)]
        willing = [worker for worker in able if self._refusal(worker.node, job) is None]
        if not willing and not self.expected:
            raise SharedSetupError(self._why_none(job, able))
        return willing

    async def _give_places(self, worker: RemoteWorker, number: int) -> None:
        worker.busy -= number
        await self.changed()

    def _why_none(self, job: Job, able: Sequence[RemoteWorker]) -> str:
        if able:
            words = self._refusal(able[0].node, job) or ""
            nodes = list(dict.fromkeys(worker.node for worker in able))
            return f"{words} (on {_names(nodes)})"
        if any(not worker.lost for worker in self.workers):
            return "no node of the Ray cluster that runs checks is left."
        return f"no worker of the Ray cluster is left. {REMEDY}"

    def _refusal(self, node: str, job: Job) -> str | None:
        return self._refusals.get((node, _agent_of(job)))

    def _refuse(self, node: str, job: Job, words: str, subscribers: Subscribers) -> None:
        if (node, _agent_of(job)) in self._refusals:
            return
        self._refusals[node, _agent_of(job)] = words
        if any(not worker.lost and self._refusal(worker.node, job) is None for worker in self.workers):
            subscribers.note(f"the node {node} gets no further runs like this: {words}")

    def _note_stopped(self, node: str, job: Job, words: str | None) -> None:
        if job.action is Action.JUDGE:
            return
        if words is None:
            self._stopped.pop((node, job.header.agent), None)
        else:
            self._stopped[node, job.header.agent] = words

    def _needs_checks(self, job: Job) -> bool:
        key = job.header.subject, job.case_hash
        if key not in self._checked:
            self._checked[key] = self._needs_sandbox(self._cases.get(key) if job.case_hash else None)
        return self._checked[key]

    def _keep_case(self, job: Job) -> None:
        """Store the case of a job in the journal: nodes do not send cases."""
        key = job.header.subject, job.case_hash
        if not job.case_hash or key in self._kept:
            return
        folder = None if job.conversation is None else Path(job.conversation.folder)
        try:
            if key not in self._cases and folder is not None:
                self._cases[key] = stored_case(folder, *key)
            keep_case(self._cases[key], self._journal, folder)
        except SetupError:
            return  # the node finds the same, and says so in the record
        self._kept.add(key)

    async def _beside(self, job: Job) -> Beside:
        sends_case = bool(job.case_hash) and (job.header.subject, job.case_hash) not in self._sent
        folder, named = self._journal.folder, self._workspaces
        if job.conversation is None:
            return gather_beside(job, folder, named, sends_case=False)
        return await asyncio.to_thread(gather_beside, job, folder, named, sends_case=sends_case)


def _agent_of(job: Job) -> str:
    return "" if job.action is Action.JUDGE else job.header.agent


def _names(nodes: Sequence[str]) -> str:
    shown = ", ".join(nodes[:3])
    return shown if len(nodes) <= 3 else f"{shown} and {counted(len(nodes) - 3, 'more node')}"
