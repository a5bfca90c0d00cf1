"""Draws the progress of runs for a live display: figures, a row for each agent, and the running runs that fit below."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.control import Control
from rich.progress_bar import ProgressBar
from rich.segment import ControlType, Segment, SegmentLines
from rich.table import Table
from rich.text import Text

from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.progress.state import AgentTally, Progress, Running, duration, fault_words

SHOWN_AGENTS = 10
SHOWN_RUNS = 10
NARROW = 50
"""Columns below which there is no bar, and the tables have fewer columns."""
BAR = 40
"""Maximum width of the bar. Short lines survive a terminal that is made narrower."""
HEAD = 1
"""Lines of a table's head."""


class ProgressPicture:
    """Draws what is known now. The figures come first and are wrapped, never cut; what does not fit is left out."""

    def __init__(self, progress: Progress, console: Console) -> None:
        self._progress, self._console = progress, console
        self._width = 0
        self._drawn: list[int] = []
        """The widths of the lines that were drawn last."""

    def refreshed(self) -> ProgressPicture:
        """Return the picture; move the cursor first if the terminal has wrapped the lines of the last one.

        A live display moves up by as many lines as it has drawn. A terminal that was made narrower since then shows
        more, and the rest would stay on the screen.
        """
        width = self._console.width
        if width < self._width:
            wrapped = sum((drawn - 1) // width for drawn in self._drawn if drawn)
            up = ((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2))
            self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), *up * wrapped))
        self._width = width
        return self

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw. A note that is printed above brings its own options, which must not keep the figures from wrapping."""
        options = options.update(no_wrap=None, overflow=None)
        height = max(1, options.size.height - 1)
        parts = Group(*self._parts(console, options, height))
        lines = console.render_lines(parts, options, pad=False)[:height]
        self._width, self._drawn = options.max_width, [Segment.get_line_length(line) for line in lines]
        yield SegmentLines(lines, new_lines=True)

    def _parts(self, console: Console, options: ConsoleOptions, height: int) -> Sequence[RenderableType]:
        progress, narrow = self._progress, options.max_width < NARROW
        if progress.total == 1:
            return [Text(progress.line(), overflow="fold")]
        head, used = self._head(console, options, narrow=narrow, short=False)
        if used + HEAD + min(len(progress.agents), SHOWN_AGENTS) > height:
            head, used = self._head(console, options, narrow=narrow, short=True)
        left = height - used
        running = len(progress.running)
        agents = _fitting(len(progress.agents), SHOWN_AGENTS, left - HEAD - (HEAD + 1 if running else 0))
        if agents < min(len(progress.agents), SHOWN_AGENTS):
            agents = _fitting(len(progress.agents), SHOWN_AGENTS, left - HEAD)
        runs = _fitting(running, SHOWN_RUNS, left - (agents + HEAD if agents else 0) - HEAD)
        parts: list[RenderableType] = [*head]
        if agents:
            parts.append(_agents(list(progress.agents.values()), agents, narrow=narrow))
        if runs:
            # A copy: the event loop's thread changes it at any time.
            shown = list(islice(list(progress.running.values()), runs))
            parts.append(_running(shown, running - runs, narrow=narrow))
        return parts

    def _head(
        self, console: Console, options: ConsoleOptions, *, narrow: bool, short: bool
    ) -> tuple[list[RenderableType], int]:
        """Return the figures, and how many lines they need."""
        words = " · ".join(self._progress.figures(short=short))
        head = [self._count(narrow=narrow), Text(words, overflow="fold")]
        return head, sum(len(console.render_lines(part, options)) for part in head)

    def _count(self, *, narrow: bool) -> RenderableType:
        progress = self._progress
        words = Text(f"{progress.done} of {counted(progress.total, 'run')} done", style="bold", overflow="fold")
        if narrow:
            return words
        grid = Table.grid(padding=(0, 2))
        grid.add_row(ProgressBar(progress.total, progress.done, width=BAR), words)
        return grid


def _fitting(number: int, most: int, rows: int) -> int:
    """Return how many of these can be shown in so many rows; one row says how many are not."""
    shown = min(number, most, max(0, rows))
    return shown if shown == number or not shown else max(1, min(shown, rows - 1))


def _agents(tallies: Sequence[AgentTally], shown: int, *, narrow: bool) -> Table:
    table = _table()
    table.add_column("agent")
    table.add_column("done", justify="right", no_wrap=True)
    table.add_column("score" if narrow else "score so far", justify="right", no_wrap=True)
    # Of one agent, the figures above the table have them.
    with_faults = not narrow and len(tallies) > 1 and any(tally.faults for tally in tallies)
    if with_faults:
        table.add_column("faults")
    for tally in tallies[:shown]:
        row = [_short(tally.label), Text(str(tally.done)), Text("-" if tally.score is None else f"{tally.score:.2f}")]
        faults = [Text(", ".join(fault_words(tally.faults)), style="yellow", overflow="fold")] if with_faults else []
        table.add_row(*row, *faults)
    if len(tallies) > shown:
        table.add_row(_short(f"and {counted(len(tallies) - shown, 'more agent')}"))
    return table


def _running(runs: Sequence[Running], more: int, *, narrow: bool) -> Table:
    on_nodes = not narrow and any(run.header.node for run in runs)
    table = _table()
    table.add_column("running")
    if not narrow:
        table.add_column("agent")
    if on_nodes:
        table.add_column("node")
    table.add_column("round", no_wrap=True)
    if not narrow:
        table.add_column("time", justify="right", no_wrap=True)
    now = time.monotonic()
    for run in runs:
        agent = [] if narrow else [_short(run.agent)]
        node = [_short(one_line(run.header.node or "", 60))] if on_nodes else []
        took = [] if narrow else [Text(duration(now - run.began))]
        table.add_row(_short(run.name()), *agent, *node, Text(run.stage()), *took)
    if more:
        table.add_row(_short(f"and {more} more"))
    return table


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")


def _short(words: str) -> Text:
    """Return text that is cut where the others of its row need the space; figures are in columns that do not shrink."""
    return Text(words, no_wrap=True, overflow="ellipsis")
