"""Shows the progress of runs: a live display on a terminal, occasional plain lines elsewhere."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.text import Text

from viva.exam.subscribers import RunHeader
from viva.records.redact import redacted_line
from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.records.transcript import Round, Transcript
from viva.reports.progress.picture import ProgressPicture
from viva.reports.progress.state import Progress

PLAIN_SECONDS = 10.0
"""Minimum number of seconds between two lines if there is no terminal."""
SILENT_SECONDS = 30.0
"""Maximum number of seconds without a line there, although nothing may have happened: a reader of a log cannot tell
patience from a hung process."""
REFRESHES = 4
"""Pictures per second on a terminal; the cost of one does not depend on the number of runs."""


@dataclass(slots=True)
class ConsoleDisplay:
    """Shows notes and progress on a console. It is a subscriber of the suite."""

    console: Console
    show: bool = True
    progress: Progress = field(default_factory=Progress)
    """What has happened since `begin`."""
    _last: float = field(default_factory=time.monotonic)
    _live: Live | None = None

    def note(self, words: str) -> None:
        """Show something that the user should know."""
        if self.show:
            self.console.print(Text(f"note: {redacted_line(words, 1000)}", style="yellow"), soft_wrap=True)

    def warn(self, words: str) -> None:
        """Show something that went wrong outside of the runs, even if progress is not shown."""
        self.console.print(Text(f"warning: {redacted_line(words, 1000)}", style="yellow"), soft_wrap=True)

    def announce(self, words: str) -> None:
        """Show what is about to be done."""
        if self.show:
            self.console.print(Text(one_line(words, 1000)), soft_wrap=True)

    @contextlib.contextmanager
    def begin(self, total: int, done_before: int) -> Iterator[None]:
        """Show progress until the context ends. A display can be used for several suites, one after the other."""
        self.progress = Progress(total, done_before)
        if not (self.show and total):
            yield
            return
        # A dumb terminal cannot move its cursor: it gets lines.
        if not self.console.is_terminal or self.console.is_dumb_terminal:
            with self._beating():
                yield
            return
        picture = ProgressPicture(self.progress, self.console)
        self._live = Live(
            get_renderable=picture.refreshed,
            console=self.console,
            refresh_per_second=REFRESHES,
            transient=True,
            vertical_overflow="crop",
        )
        try:
            with self._live:
                yield
        finally:
            self._live = None

    def grow(self, runs: int) -> None:
        """Show that there are further runs to do."""
        self.progress.total += runs

    async def on_start(self, run: RunHeader) -> None:
        """Note that a run started, or started again."""
        self.progress.start(run)

    async def on_round(self, run: RunHeader, round_: Round) -> None:
        """Note that a further round is in the journal."""
        self.progress.round(run, round_.number)
        self._plainly()

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """Note that the record of a run is in the journal."""
        self.progress.end(run, record)
        self._plainly()

    def line(self) -> str:
        """Return the progress in one line; several agents are never averaged."""
        return self.progress.line()

    @contextlib.contextmanager
    def _beating(self) -> Iterator[None]:
        """Print a line from time to time, also while nothing happens, from a thread of its own as the live display."""
        over = threading.Event()
        self._last = time.monotonic()

        def beat() -> None:
            while not over.wait(max(0.0, SILENT_SECONDS - (time.monotonic() - self._last))):
                self._plainly(SILENT_SECONDS)

        thread = threading.Thread(target=beat, name="progress", daemon=True)
        with contextlib.suppress(RuntimeError):  # no thread is left: then lines tell of events only
            thread.start()
        try:
            yield
        finally:
            over.set()

    def _plainly(self, seconds: float | None = None) -> None:
        least = PLAIN_SECONDS if seconds is None else seconds
        if self.show and self._live is None and time.monotonic() - self._last >= least:
            self._last = time.monotonic()
            self.console.print(Text(self.line()), soft_wrap=True)
