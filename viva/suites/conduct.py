"""Carries out the work of a command. Only this module opens and closes lock, journal and engine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from viva.errors import PlanError
from viva.exam.last_words import last_words_of_newest, read_last_words
from viva.exam.subscribers import RunHeader, Subscribers
from viva.journal.fresh_folder import JUDGED, SAID, FreshFolder
from viva.journal.lock import exclusive_writer
from viva.journal.paths import refuse_journal
from viva.journal.sync import Syncer
from viva.journal.writer import Journal
from viva.records.run_record import RunRecord
from viva.records.sink import Sink
from viva.records.transcript import Transcript
from viva.suites.at_work.pausing import Pauses, forget_pause
from viva.suites.at_work.requeueing import forget_marks
from viva.suites.engine import Budget, Engine, JobSource, LocalEngine, SuiteEnd, run_jobs
from viva.suites.job import Job, WorkOrder
from viva.suites.loop_watch import LoopWatch
from viva.suites.request import Request
from viva.suites.resuming.stored_request import save_request
from viva.suites.sink_feed import SinkFeed


class Display(Protocol):
    """Shows the user what happens; each command chooses one. A display can also be a subscriber."""

    def note(self, words: str) -> None:
        """Show something that the user should know. The words can contain hostile text."""
        ...

    def warn(self, words: str) -> None:
        """Show something that went wrong outside of the runs, even with --quiet."""
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

    def grow(self, runs: int) -> None:
        """Show that there are further runs to do, which depend on the results of earlier ones."""
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

    def grow(self, runs: int) -> None:
        """Show nothing."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The engine, display, sinks and subscribers of a suite."""

    display: Display = field(default_factory=Silence)
    sinks: Sequence[tuple[str, Sink]] = ()
    """The user's name for each sink, and the sink."""
    subscribers: Sequence[object] = ()
    """Subscribers besides the display and the sinks."""
    engine: Engine = field(default_factory=LocalEngine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work to do."""

    request: Request
    """What was asked; it is stored in a new journal, so that the work can be resumed."""
    order: WorkOrder
    """What the jobs share. Its concurrency is that of the jobs."""
    jobs: Callable[[Path], Iterable[Job] | JobSource]
    """Makes the jobs, given the journal's folder; called when the journal is open."""
    total: int = 0
    """Number of jobs."""
    done_before: int = 0
    """Number of runs that were finished before."""
    fill: Callable[[Journal], tuple[int, int]] | None = None
    """Writes the subjects of the jobs into the journal, and returns `total` and `done_before`. Called on a thread."""
    copies: bool = False
    """Whether all conversations are stored elsewhere, so that only judgements are lost with the new journal."""
    announce: str = ""
    """One line to show before the first run."""


async def conduct(
    folder: Path, prepare: Callable[[], Work], around: Surroundings, *, resumed: bool, budget: Budget | None = None
) -> SuiteEnd:
    """Do the work and write it to a journal.

    Args:
        folder: The journal's folder.
        prepare: Returns the work to do. If work is resumed, it is called under the journal's lock, so that it cannot
            miss what another process writes.
        around: The engine, display, sinks and subscribers.
        resumed: Whether the folder already holds part of the work.
        budget: What the work may use; None means no limit.

    Raises:
        SetupError: the user must change something; nothing was started.
        SharedSetupError: the user must change something; the work can be resumed afterwards.
        PlanError: the same. If nothing was said or judged yet, a new journal is removed.
        JournalError: the journal cannot be written; what it holds can be resumed.
        asyncio.CancelledError: the work was stopped, and can be resumed.
    """
    folder, engine, display = folder.absolute(), around.engine, around.display
    worth = Worth()
    for words in dict.fromkeys((last_words_of_newest(), read_last_words(folder))):
        if words is not None:
            display.note(str(words))
    feeds = [SinkFeed(sink, name, display.warn, folder) for name, sink in around.sinks]
    async with contextlib.AsyncExitStack() as files, contextlib.AsyncExitStack() as running:
        if not resumed:
            files.enter_context(_removed_without_worth(folder, worth))
        journals: list[Journal] = []

        def lock_folder() -> None:
            if (note := files.enter_context(exclusive_writer(folder))) is not None:
                display.note(note)

        def open_journal() -> Journal:
            # Only now: a mistake in the request must not leave a journal behind that can be neither resumed nor
            # started again.
            if not resumed:
                lock_folder()
                # Under the lock: another process may have used the folder since the command checked it.
                refuse_journal(folder)
            journals.append(files.enter_context(Journal(folder)))
            return journals[0]

        for feed in reversed(feeds):  # those of work that could not begin, too
            running.push_async_callback(feed.on_closed)
        running.push_async_callback(engine.close)
        if resumed:
            lock_folder()
            forget_pause(folder)
            forget_marks(folder)  # before the journal is read, which has what they stand for
        work = prepare()
        doer = await engine.open(work.order, open_journal)
        journal, options = journals[0], work.order.options
        if not resumed:
            save_request(replace(work.request, planned=work.total + work.done_before), journal)
        for notice in dict.fromkeys(engine.notices):
            display.note(notice)
        if work.announce:
            display.announce(work.announce)
        counts = work.total, work.done_before
        if work.fill is not None:
            counts = await asyncio.to_thread(work.fill, journal)
        worth.kinds = JUDGED if work.copies else SAID
        running.enter_context(display.begin(*counts))
        syncer = await running.enter_async_context(Syncer(journal))
        await running.enter_async_context(LoopWatch(display.note, options.reply_seconds))
        subscribers = Subscribers([Syncing(syncer), Noting(display), display, *around.subscribers, *feeds])
        running.push_async_callback(subscribers.on_closed)
        engine.notify(subscribers.note)
        if budget is not None and budget.max_runs is not None:
            budget = replace(budget, max_runs=max(0, budget.max_runs - work.done_before))
        may_begin = Pauses(folder, display.note).wait
        return await run_jobs(doer, work.jobs(journal.folder), options.concurrency, subscribers, budget, may_begin)


@dataclass(slots=True)
class Worth:
    """The kinds of events for which a new journal is kept if the work ends with a mistake of the user's."""

    kinds: Collection[str] = ()


@contextlib.contextmanager
def _removed_without_worth(folder: Path, worth: Worth) -> Iterator[None]:
    """Remove a new journal in which nothing is worth keeping, if the work ends because the user must change something.

    It would be the newest journal, and the next command without a name would take it.
    """
    fresh = FreshFolder(folder)
    try:
        yield
    except PlanError:
        if not fresh.holds(worth.kinds):
            fresh.remove()
        raise


class Noting:
    """The subscriber that shows the user what an engine says while it runs."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def on_note(self, words: str) -> None:
        """Show a note."""
        self._display.note(words)


class Syncing:
    """The subscriber that syncs the journal to disk after each run."""

    def __init__(self, syncer: Syncer) -> None:
        self._syncer = syncer

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """Request a sync: the record of a run should survive a power cut."""
        self._syncer.want()
