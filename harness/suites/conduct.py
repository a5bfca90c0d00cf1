"""Carries out what a command asks for: the one place that opens lock, journal and engine, and closes them again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from harness.exam.journal_paths import refuse_journal
from harness.exam.subscribers import RunHeader, Subscribers
from harness.suites.engine import Engine, LocalEngine, SuiteEnd, SuiteLimits
from harness.suites.job import Job, WorkOrder
from harness.suites.loop_watch import LoopWatch
from harness.suites.sink_feed import SinkFeed
from records.journal import Journal
from records.journal_lock import exclusive_writer
from records.journal_sync import Syncer
from records.run_record import RunRecord
from records.sink import Sink
from records.transcript import Transcript


class Display(Protocol):
    """Shows the user what happens; commands choose one. It may be a subscriber, too."""

    def note(self, words: str) -> None:
        """Show something that the user should know. The words may hold hostile text."""
        ...

    def warn(self, words: str) -> None:
        """Show something that went wrong besides the runs; to a user who asked for quiet, too."""
        ...

    def announce(self, words: str) -> None:
        """Show what is about to be done."""
        ...

    def begin(self, total: int, done_before: int) -> contextlib.AbstractContextManager[object]:
        """Show progress until the context ends.

        Args:
            total: Runs to do now.
            done_before: Runs that were finished before.
        """
        ...


class Silence:
    """A display that shows nothing."""

    def note(self, words: str) -> None:
        """Show nothing."""

    def warn(self, words: str) -> None:
        """Show nothing."""

    def announce(self, words: str) -> None:
        """Show nothing."""

    def begin(self, total: int, done_before: int) -> contextlib.AbstractContextManager[object]:
        """Show nothing."""
        return contextlib.nullcontext()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a suite runs with, and who is informed of it."""

    display: Display = field(default_factory=Silence)
    sinks: Sequence[tuple[str, Sink]] = ()
    """What the user calls each, and the sink."""
    subscribers: Sequence[object] = ()
    """Further ones."""
    engine: Engine = field(default_factory=LocalEngine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be done."""

    order: WorkOrder
    jobs: Callable[[Path], Iterable[Job]]
    """Makes the jobs, given the journal's folder; called once the journal is open."""
    total: int = 0
    """How many jobs there will be."""
    done_before: int = 0
    """How many runs were finished before."""
    fill: Callable[[Journal], tuple[int, int]] | None = None
    """Fills the journal with what the jobs are about; returns `total` and `done_before`. Called on a thread."""
    limits: SuiteLimits = field(default_factory=SuiteLimits)
    begun: Callable[[Journal], None] | None = None
    """Keeps beside a new journal what was asked for."""
    announce: str = ""
    """One line before the first run."""


async def conduct(folder: Path, prepare: Callable[[], Work], around: Surroundings, *, resumed: bool) -> SuiteEnd:
    """Do work in a journal.

    Args:
        folder: The journal's.
        prepare: Says what is to be done. Where work is resumed, it reads the journal under its lock: what another
            process would write meanwhile cannot be missed.
        around: What it runs with.
        resumed: The folder holds some of it already.

    Raises:
        SetupError: the user must change something; nothing was begun.
        JournalError: the journal cannot be written; what it holds can be resumed.
        asyncio.CancelledError: the work was stopped, and can be resumed.
    """
    folder = folder.absolute()
    engine, display = around.engine, around.display
    feeds = [SinkFeed(sink, name, display.warn, folder) for name, sink in around.sinks]
    with contextlib.ExitStack() as opened:
        journals: list[Journal] = []

        def open_journal() -> Journal:
            # Only now: a mistake in what was asked for must not leave a journal behind that can neither be resumed
            # nor begun.
            if not resumed:
                opened.enter_context(exclusive_writer(folder))
                # Under the lock: another process may have begun and ended here since the command looked.
                refuse_journal(folder)
            journals.append(opened.enter_context(Journal(folder)))
            return journals[0]

        try:
            if resumed:
                opened.enter_context(exclusive_writer(folder))
            work = prepare()
            await engine.open(work.order, open_journal)
            journal = journals[0]
            if work.begun is not None and not resumed:
                work.begun(journal)
            for notice in dict.fromkeys(engine.notices):
                display.note(notice)
            if work.announce:
                display.announce(work.announce)
            return await _run(work, journal, around, feeds)
        finally:
            try:
                await engine.close()
            finally:
                for feed in feeds:  # those of work that could not begin, too
                    await feed.on_closed()


async def _run(work: Work, journal: Journal, around: Surroundings, feeds: Sequence[SinkFeed]) -> SuiteEnd:
    display = around.display
    still = work.order.options.reply_seconds
    total, done_before = work.total, work.done_before
    if work.fill is not None:
        total, done_before = await asyncio.to_thread(work.fill, journal)
    with display.begin(total, done_before):
        async with Syncer(journal) as syncer, LoopWatch(display.note, still):
            subscribers = Subscribers([Syncing(syncer), display, *around.subscribers, *feeds])
            try:
                return await around.engine.run(work.jobs(journal.folder), work.limits, subscribers)
            finally:
                await subscribers.on_closed()


class Syncing:
    """The subscriber that has the disk catch up after each run."""

    def __init__(self, syncer: Syncer) -> None:
        self._syncer = syncer

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """A run has its record, which should survive a power cut."""
        self._syncer.want()
