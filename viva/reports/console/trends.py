"""Shows trends on a terminal, with sparklines, and as plain data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.records.codec import to_plain
from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.console.suite import short_names
from viva.statistics.over_time.trend import OVERALL, Direction, DrawnPoint, TaskTrend, Trends

BARS = "▁▂▃▄▅▆▇█"
NEW_VERSION = "│"
WORDS = {
    Direction.REGRESSION: "regressions",
    Direction.DROP: "drops that may be chance",
    Direction.FLAT: "flat",
    Direction.SINGLE: "nothing to compare with",
    Direction.RISE: "rises that may be chance",
    Direction.IMPROVEMENT: "improvements",
}
STYLES = {Direction.REGRESSION: "bold red", Direction.DROP: "yellow", Direction.IMPROVEMENT: "green"}
MOST_BARS = 20
"""Maximum number of bars side by side; more are folded."""
FEW_BARS = 14
"""The same beside a column of agents."""
MOST_ROWS = 40
"""Rows of one kind."""


def sparkline(points: Sequence[DrawnPoint]) -> str:
    """Draw means from 0 to 1 as bars of eight heights; a line stands where a new agent version begins."""
    drawn = []
    for number, point in enumerate(points):
        if number and point.version != points[number - 1].version:
            drawn.append(NEW_VERSION)
        drawn.append(BARS[min(len(BARS) - 1, max(0, int(point.mean * len(BARS))))])
    return "".join(drawn)


def trends_report(
    trends: Trends, *, everything: bool = False, further: Iterable[RenderableType] = ()
) -> RenderableType:
    """Show trends, regressions first.

    Args:
        trends: What was found.
        everything: Also show each dimension and every row; else flat dimensions are only counted.
        further: What stands below the trends, above the last line.
    """
    parts: list[RenderableType] = []
    labels = short_names(list(dict.fromkeys(trend.agent for trend in trends.trends)))
    for direction, words in WORDS.items():
        found = trends.of(direction)
        if not found:
            continue
        shown = found if everything or direction in STYLES else [each for each in found if each.dimension == OVERALL]
        rows = shown if everything else shown[:MOST_ROWS]
        if rows:
            parts += [_table(rows, words, STYLES.get(direction, ""), labels), Text()]
        if hidden := len(found) - len(rows):
            parts += [Text(f"{words}: {counted(hidden, 'more trend')}; --all shows them", style="dim"), Text()]
    parts += [*further, _summary(trends)]
    return Stack(*parts)


def trends_plain(trends: Trends) -> dict[str, Any]:
    """Return the trends as JSON data, each with its sparkline."""
    plain: dict[str, Any] = to_plain(trends, full=True)
    for trend, each in zip(trends.trends, plain["trends"], strict=True):
        each["sparkline"] = sparkline(trend.points)
    return plain


def scores_words(trend: TaskTrend) -> str:
    """Return both means in words: `0.90→0.50`."""
    return f"{trend.now.mean:.2f}" if trend.before is None else f"{trend.before.mean:.2f}→{trend.now.mean:.2f}"


def change_words(trend: TaskTrend) -> str:
    """Return the change in words: `-0.40`; nothing where there is nothing to compare with."""
    return "" if trend.change is None else f"{trend.change:+.2f}"


def compared_words(trend: TaskTrend) -> str:
    """Return what is compared: `3.0→3.1`, or the numbers of runs."""
    now, before = trend.now, trend.before
    if before is None:
        return one_line(now.version, 20) if now.version is not None else counted(now.runs, "run")
    if now.version is not None and before.version is not None and now.version != before.version:
        return f"{one_line(before.version, 20)}→{one_line(now.version, 20)}"
    return f"{before.runs}→{counted(now.runs, 'run')}"


def name_words(trend: TaskTrend) -> str:
    """Return a trend's evaluator, and its dimension if it is not the overall score."""
    name = one_line(trend.evaluator, 60)
    return name if trend.dimension == OVERALL else f"{name}: {one_line(trend.dimension, 60)}"


def _table(trends: Sequence[TaskTrend], title: str, style: str, labels: Mapping[str, str]) -> Table:
    table = Table(title=title, title_justify="left", title_style=style, show_edge=False, pad_edge=False)
    # Rich cuts the table off at the right if a column must not shrink, so only the figures must not. All names fold.
    table.add_column("task", overflow="fold")
    if len(labels) > 1:
        table.add_column("agent", overflow="fold")
    table.add_column("evaluator", overflow="fold")
    bars = max((len(sparkline(trend.points)) for trend in trends), default=0)
    table.add_column("over time", overflow="fold", width=max(9, min(bars, MOST_BARS if len(labels) == 1 else FEW_BARS)))
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("change", justify="right", no_wrap=True)
    table.add_column("compared", justify="right", overflow="fold")
    for trend in trends:
        table.add_row(
            Text(one_line(trend.task, 60)),
            *([Text(labels[trend.agent])] if len(labels) > 1 else []),
            Text(name_words(trend)),
            Text(sparkline(trend.points)),
            scores_words(trend),
            change_words(trend),
            Text(compared_words(trend)),
        )
    return table


def _summary(trends: Trends) -> Text:
    times = [point.started for trend in trends.trends for point in trend.points if point.started]
    since = f", {_day(min(times))} to {_day(max(times))}" if times else ""
    words = f"{counted(trends.runs, 'run')}{since}; {counted(len(trends.of(Direction.REGRESSION)), 'regression')}"
    if trends.excluded:
        words += f"; {counted(trends.excluded, 'run')} without a score excluded"
    if trends.left_out:
        words += f"; at least {counted(trends.left_out, 'trend')} left out"
    return Text(f"{words}.", style="bold")


def _day(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "unknown"
