"""Shows on a terminal how the shares of causes of misses changed from suite to suite, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.records.codec import to_plain
from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.console.suite import short_names
from viva.reports.console.trends import FEW_BARS, MOST_BARS, sparkline
from viva.reports.console.whys import name_words
from viva.statistics.causes.cause_trends import CauseTrend

MOST_SHOWN = 10
CHANGED = ("new", "back", "more", "gone", "less")
WORSE = ("new", "back", "more")
WORDS = 120
"""Maximum number of characters of a reason."""


def cause_trend_tables(trends: Sequence[CauseTrend], *, everything: bool = False) -> Iterator[RenderableType]:
    """Yield a table of the causes whose shares changed; nothing if none did.

    Args:
        trends: What was found.
        everything: Also show those that did not change, and every row.
    """
    changed = [each for each in trends if everything or each.kind in CHANGED]
    shown = changed if everything else changed[:MOST_SHOWN]
    if not shown:
        return
    labels = short_names(list(dict.fromkeys(each.agent for each in trends)))
    table = Table(
        title="causes of misses, by suite", title_justify="left", title_style="", show_edge=False, pad_edge=False
    )
    table.add_column("what fails", overflow="fold")
    if len(labels) > 1:
        table.add_column("agent", overflow="fold")
    bars = max(len(sparkline(each.points)) for each in shown)
    table.add_column("over time", overflow="fold", width=max(9, min(bars, MOST_BARS if len(labels) == 1 else FEW_BARS)))
    table.add_column("of the runs", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    for each in shown:
        style = "red" if each.kind in WORSE else "green" if each.kind in CHANGED else ""
        table.add_row(
            Text(cause_words(each)),
            *([Text(labels[each.agent])] if len(labels) > 1 else []),
            Text(sparkline(each.points)),
            share_words(each),
            Text(each.kind, style=style),
            each.cause.id,
        )
    yield table
    if hidden := len(changed) - len(shown):
        yield Text(f"{counted(hidden, 'more cause')}; --all shows them", style="dim")
    yield Text()


def cause_words(trend: CauseTrend) -> str:
    """Return the name of a cause, if it has one, and its commonest reason, or its statement where there is none."""
    return name_words(trend.cause) + one_line(trend.cause.reason or trend.cause.words, WORDS)


def share_words(trend: CauseTrend) -> str:
    """Return the runs with the cause in the two suites that are compared: `10 of 100→25 of 100`."""
    return "→".join(f"{point.found} of {point.runs}" for point in trend.points[-2:])


def cause_trends_plain(trends: Sequence[CauseTrend]) -> list[dict[str, Any]]:
    """Return the trends as JSON data, each with its sparkline."""
    return [
        {
            "cause": to_plain(each.cause),
            "agent": each.agent,
            "kind": each.kind,
            "change": each.change,
            "points": [{**to_plain(point, full=True), "share": point.mean} for point in each.points],
            "sparkline": sparkline(each.points),
        }
        for each in trends
    ]
