"""Shows the statistics by persona and by strategy on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.reports.console.narrow_table import NarrowTable
from viva.reports.variant_words import variant_tables
from viva.statistics.summary import Figures

MOST_ROWS = 60


def variant_parts(figures: Figures, labels: Mapping[str, str]) -> Iterator[RenderableType]:
    """Yield a table for each dimension and agent, and what follows from it."""
    for found in variant_tables(figures, labels):
        table = Table(show_edge=False, pad_edge=False, header_style="bold")
        table.add_column(Text(found.title), overflow="fold")
        for head in found.heads[1:]:
            table.add_column(head, justify="right", no_wrap=True)
        for row in found.rows[:MOST_ROWS]:
            table.add_row(*map(Text, row))
        if len(found.rows) > MOST_ROWS:
            table.add_row(Text(f"… {len(found.rows) - MOST_ROWS} more: viva report", style="dim"))
        yield NarrowTable(table)
        yield from map(Text, found.lines)
        yield Text()
