"""Syncs a journal to the disk without making its writers wait for the disk."""

from __future__ import annotations

import asyncio

from viva.journal.writer import Journal, JournalError

PAUSE_SECONDS = 1.0
"""Seconds between two syncs. Appending waits while a file is synced: without a pause, a suite took twice as long."""


class Syncer:
    """Syncs a journal on a thread, about once a second while it grows. A power cut loses at most the last second.

    Use it as an async context manager. When the context ends, everything has been synced. If the journal is lost, the
    work in the context is cancelled, and the context ends with JournalLost.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._owner: asyncio.Task[object] | None = None
        self._lost: JournalError | None = None

    async def __aenter__(self) -> Syncer:
        self._owner = asyncio.current_task()
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._lost is not None:
            raise self._lost
        self._journal.sync()

    def want(self) -> None:
        """Request a sync, because something was appended that should survive a power cut."""
        self._wanted.set()

    async def _work(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await asyncio.to_thread(self._journal.sync)
            except JournalError as error:
                self._lost = error
                if self._owner is not None:
                    self._owner.cancel()
                return
            await asyncio.sleep(PAUSE_SECONDS)
