"""Shows that a run is alive: a line that changes on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.status import Status
from rich.text import Text

from records.text import one_line
from records.transcript import Round

QUIET_SECONDS = 10.0
"""Without a terminal, a line at most this often."""


class RunProgress:
    """The progress of one run. Use as a context manager, and hand `on_round` to the run."""

    def __init__(self, console: Console, subject: str, max_rounds: int, *, show: bool = True) -> None:
        self._console = console
        self._subject = one_line(subject, 60)
        self._max_rounds = max_rounds
        self._began = self._last = time.monotonic()
        self._show = show
        self._words = "starting"
        self._status: Status | None = None

    def __enter__(self) -> RunProgress:
        if self._show and self._console.is_terminal:
            self._status = self._console.status(self)
            self._status.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.__exit__(kind, error, trace)

    def on_round(self, round_: Round) -> None:
        """One more round is in the journal."""
        self._words = f"round {round_.number} of at most {self._max_rounds}"
        if self._show and self._status is None and time.monotonic() - self._last >= QUIET_SECONDS:
            self._last = time.monotonic()
            self._console.print(self._text())

    def __rich__(self) -> Text:
        """What the spinner shows, made anew each time: the seconds go on while an agent thinks, or a judge."""
        return self._text()

    def _text(self) -> Text:
        return Text(f"{self._subject}: {self._words}, {time.monotonic() - self._began:.0f} s")
