"""Shows the progress of runs: a live display on a terminal, occasional plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harness.exam.subscribers import RunHeader
from harness.wording import counted, is_reported, usage_words
from records.run_record import Outcome, RunRecord
from records.text import one_line
from records.transcript import NO_USAGE, Round, Transcript, Usage

PLAIN_SECONDS = 10.0
"""Minimum number of seconds between two lines if there is no terminal."""
SHOWN_RUNS = 8
SHOWN_NODES = 4


@dataclass(slots=True)
class _Running:
    header: RunHeader
    rounds: int = 0


@dataclass(slots=True)
class ConsoleDisplay:
    """Shows notes and progress on a console. It is a subscriber of the suite."""

    console: Console
    show: bool = True
    total: int = 0
    """Number of runs to do now."""
    done_before: int = 0
    """Number of runs that were already finished."""
    done: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    usage: Usage = NO_USAGE
    _scores: float = 0.0
    _scored: int = 0
    _running: dict[str, _Running] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)
    _live: Live | None = None

    def note(self, words: str) -> None:
        """Show something that the user should know."""
        if self.show:
            self.console.print(Text(f"note: {one_line(words, 1000)}", style="yellow"), soft_wrap=True)

    def warn(self, words: str) -> None:
        """Show something that went wrong outside of the runs, even if progress is not shown."""
        self.console.print(Text(f"warning: {one_line(words, 1000)}", style="yellow"), soft_wrap=True)

    def announce(self, words: str) -> None:
        """Show what is about to be done."""
        if self.show:
            self.console.print(Text(one_line(words, 1000)), soft_wrap=True)

    @contextlib.contextmanager
    def begin(self, total: int, done_before: int) -> Iterator[None]:
        """Show progress until the context ends."""
        self.total, self.done_before = total, done_before
        if not (self.show and self.console.is_terminal):
            yield
            return
        self._live = Live(get_renderable=self._picture, console=self.console, refresh_per_second=4, transient=True)
        try:
            with self._live:
                yield
        finally:
            self._live = None

    async def on_start(self, run: RunHeader) -> None:
        """Note that a run started, or started again."""
        self._running[run.id] = _Running(run)

    async def on_round(self, run: RunHeader, round_: Round) -> None:
        """Note that a further round is in the journal."""
        self._running[run.id].rounds = round_.number
        self._plainly()

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """Note that the record of a run is in the journal."""
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
        """Return the progress in one line."""
        seconds = time.monotonic() - self._began
        if self.total == 1 and len(self._running) == 1:
            (only,) = self._running.values()
            limit = f" of at most {only.header.max_rounds}" if only.header.max_rounds else ""
            words = f"round {only.rounds}{limit}" if only.rounds else "starting"
            return f"{one_line(only.header.subject, 60)}: {words}, {seconds:.0f} s"
        parts = [f"{self.done}/{counted(self.total, 'run')}"]
        if self.done_before:
            parts.append(f"{self.done_before} already finished")
        if self._scored:
            parts.append(f"mean score {self._scores / self._scored:.3f}")
        faults = {kind: number for kind, number in self.outcomes.items() if kind is not Outcome.SCORED}
        parts.extend(f"{number} {kind.value}" for kind, number in sorted(faults.items()))
        nodes = Counter(each.header.node for each in self._running.values() if each.header.node is not None)
        if nodes:
            shown = [f"{number} on {one_line(node, 40)}" for node, number in sorted(nodes.items())[:SHOWN_NODES]]
            more = len(nodes) - SHOWN_NODES
            parts.append(", ".join([*shown, f"the others on {more} more nodes"] if more > 0 else shown))
        if is_reported(self.usage):
            parts.append(usage_words(self.usage))
        parts.append(f"{seconds:.0f} s")
        if 0 < self.done < self.total:
            parts.append(f"about {seconds / self.done * (self.total - self.done):.0f} s left")
        return ", ".join(parts)

    def _plainly(self) -> None:
        if self.show and self._live is None and time.monotonic() - self._last >= PLAIN_SECONDS:
            self._last = time.monotonic()
            self.console.print(Text(self.line()), soft_wrap=True)

    def _picture(self) -> RenderableType:
        if self.total == 1:
            return Text(self.line())
        runs = Table.grid(padding=(0, 2))
        for each in list(self._running.values())[:SHOWN_RUNS]:
            runs.add_row(Text(one_line(each.header.id, 70), style="dim"), Text(_where(each), style="dim"))
        more = len(self._running) - SHOWN_RUNS
        if more > 0:
            runs.add_row(Text(f"and {more} more", style="dim"), "")
        return Group(ProgressBar(self.total or 1, self.done), Text(self.line()), runs)


def _where(running: _Running) -> str:
    node = running.header.node
    return f"round {running.rounds}" if node is None else f"round {running.rounds} on {one_line(node, 40)}"
