"""Shows on a terminal which round decided."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from viva.records.text import one_line
from viva.reports.bisection.words import lead_of, lines_of, message_of, rows_of, side_by_side
from viva.statistics.bisection.plan import Bisection, BisectionFinding


def bisection_report(found: Bisection, folder: Path) -> RenderableType:
    """Show what was found, the forks by the rounds that they kept, and the replies side by side.

    Args:
        found: The bisection.
        folder: The journal of its forks.

    Raises:
        JournalError: the journal cannot be read.
    """
    style = "bold yellow" if found.finding is BisectionFinding.NOT_DECIDED else "bold"
    parts: list[RenderableType] = [Text(lead_of(found), style=style), *map(Text, lines_of(found)), Text()]
    forks = Table(box=None, pad_edge=False)
    for heading in ("rounds kept", "succeeded", "probability (95 %)"):
        forks.add_column(heading, justify="right")
    for row in rows_of(found):
        share = row.successes / row.trials
        forks.add_row(str(row.kept), f"{row.successes} of {row.trials}", f"{share:.0%} ({row.low:.0%}-{row.high:.0%})")
    parts.append(forks)
    if replies := side_by_side(found, folder):
        beside = Table(show_lines=False, expand=True)
        for each in replies:
            beside.add_column(Text(each.title), ratio=1)
        beside.add_row(*(Text(each.reply) for each in replies))
        parts += [Text(), Text(f"the examiner in round {found.round}: {one_line(message_of(found), 400)}"), beside]
    parts.append(Text(f"journal: {one_line(str(folder), 400)}"))
    return Group(*parts)
