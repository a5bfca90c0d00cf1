"""Shows a suite under way: live on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harness.exam.examine import Run
from records.run_record import Outcome, RunRecord
from records.text import one_line
from records.transcript import NO_USAGE, Round, Usage

PLAIN_SECONDS = 10.0
SHOWN_RUNS = 8


@dataclass(slots=True)
class SuiteProgress:
    """Counts what happens. Use as a context manager; it is the suite's listener."""

    console: Console
    total: int
    """Runs to do now."""
    skipped: int = 0
    """Runs that were finished before."""
    show: bool = True
    done: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    usage: Usage = NO_USAGE
    _scores: float = 0.0
    _scored: int = 0
    _running: dict[str, int] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)
    _live: Live | None = None

    def __enter__(self) -> SuiteProgress:
        if self.show and self.console.is_terminal:
            self._live = Live(get_renderable=self._picture, console=self.console, refresh_per_second=4, transient=True)
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def on_start(self, run: Run) -> None:
        """A run begins, or begins again."""
        self._running[run.id] = 0

    def on_round(self, run: Run, round_: Round) -> None:
        """One more round is in the journal."""
        self._running[run.id] = round_.number
        self._plainly()

    def on_end(self, run: Run, record: RunRecord) -> None:
        """A run has its record."""
        self._running.pop(run.id, None)
        self.done += 1
        self.outcomes[record.outcome] += 1
        if record.outcome.counts and record.score is not None:
            self._scores += record.score
            self._scored += 1
        for used in record.usage.values():
            self.usage += used
        self._plainly()

    def line(self) -> str:
        """Everything in one line."""
        parts = [f"{self.done}/{self.total} runs"]
        if self.skipped:
            parts.append(f"{self.skipped} done before")
        if self._scored:
            parts.append(f"mean score {self._scores / self._scored:.3f}")
        faults = {kind: number for kind, number in self.outcomes.items() if kind is not Outcome.SCORED}
        parts.extend(f"{number} {kind.value}" for kind, number in sorted(faults.items()))
        if self.usage.calls:
            cost = "cost unknown" if self.usage.cost is None else f"${self.usage.cost:.3f}"
            parts.append(f"{self.usage.input_tokens + self.usage.output_tokens:,} tokens, {cost}")
        seconds = time.monotonic() - self._began
        parts.append(f"{seconds:.0f} s")
        if 0 < self.done < self.total:
            parts.append(f"about {seconds / self.done * (self.total - self.done):.0f} s left")
        return ", ".join(parts)

    def _plainly(self) -> None:
        if self.show and self._live is None and time.monotonic() - self._last >= PLAIN_SECONDS:
            self._last = time.monotonic()
            self.console.print(Text(self.line()), soft_wrap=True)

    def _picture(self) -> RenderableType:
        runs = Table.grid(padding=(0, 2))
        for name, rounds in list(self._running.items())[:SHOWN_RUNS]:
            runs.add_row(Text(one_line(name, 70), style="dim"), Text(f"round {rounds}", style="dim"))
        more = len(self._running) - SHOWN_RUNS
        if more > 0:
            runs.add_row(Text(f"and {more} more", style="dim"), "")
        return Group(ProgressBar(self.total or 1, self.done), Text(self.line()), runs)
