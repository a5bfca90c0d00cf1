"""The driver's side of one worker: one outstanding question for events, handed over to the jobs that they belong to."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable

from viva.exam.subscribers import Subscribers
from viva.journal.history import JournalHistory
from viva.journal.writer import Journal
from viva.suites.job import Job
from viva.suites.on_ray.beside import Beside
from viva.suites.on_ray.border import Link, LinkLost, Plain, pack
from viva.suites.on_ray.progress import RunProgress
from viva.suites.on_ray.remote_job import Broken, Ended, JobRefused, RemoteJob
from viva.suites.worker import Done

CANCEL_SECONDS = 5.0
"""Maximum time that a stopped job has to write how far it came."""
CLOSE_SECONDS = 15.0


class RemoteWorker:
    """One worker on a node, which does up to `places` jobs at a time."""

    def __init__(self, link: Link, node: str, places: int, *, checks: bool) -> None:
        """Args:
        link: The connection to the worker, which is open.
        node: The node's name.
        places: Maximum number of jobs at a time.
        checks: Whether it has a sandbox for checks.
        """
        self.node, self.places, self.checks = node, places, checks
        self.lost = False
        self.busy = 0
        """The number of places that are taken."""
        self.kept_free = False
        """Whether it gets no further job for the time being, because one is to have it alone."""
        self.on_lost: Callable[[RemoteWorker], None] = lambda _: None
        self._link = link
        self._jobs: dict[int, RemoteJob] = {}
        self._numbers = itertools.count(1)
        self._listening: asyncio.Task[None] | None = None

    def listen(self) -> None:
        """Begin to ask for events."""
        self._listening = asyncio.create_task(self._listen())

    async def do(
        self,
        job: Job,
        beside: Beside,
        journal: Journal,
        subscribers: Subscribers,
        history: JournalHistory,
        progress: RunProgress,
    ) -> Ended | Done | JobRefused | Broken | None:
        """Do a job, and return how it ended; None if the worker was lost on the way.

        Whatever happened after the record that ends the job was written, that record counts: then it is `Done`.

        Raises:
            JournalError: the journal cannot be written.
            asyncio.CancelledError: the job was stopped.
        """
        number = next(self._numbers)
        remote = self._jobs[number] = RemoteJob(job, beside, self.node, journal, subscribers, history, progress)
        try:
            if self.lost:
                return None
            await self._link.call("start", number, pack(job), beside.plain)
            ended = await remote.follow()
            return ended if isinstance(ended, Ended) else remote.recorded() or ended
        except LinkLost:
            self._lose()
            return remote.recorded()
        except Broken as error:
            return remote.recorded() or error
        except asyncio.CancelledError:
            await self._cancel(number, remote)
            raise
        finally:
            del self._jobs[number]
            remote.close()

    async def close(self) -> None:
        """Make the worker release its resources, and end its process."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if not self.lost:
            with contextlib.suppress(LinkLost, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._link.call("close")
        self._link.kill()

    async def _cancel(self, number: int, remote: RemoteJob) -> None:
        with contextlib.suppress(Exception, asyncio.CancelledError):
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._link.call("cancel", number)
                await remote.follow()

    async def _listen(self) -> None:
        acknowledged: list[list[Plain]] = []
        try:
            while True:
                events = await self._link.call("take", acknowledged)
                handled = [(event[0], self._jobs[event[1]].take(event)) for event in events if event[1] in self._jobs]
                acknowledged = [[number, await answer] for number, answer in handled]
        except LinkLost:
            self._lose()

    def _lose(self) -> None:
        if not self.lost:
            self.lost = True
            for job in self._jobs.values():
                job.lose()
            self._link.kill()
            self.on_lost(self)
