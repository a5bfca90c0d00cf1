"""Shows on a terminal how the causes of what was missed differ between two sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.records.codec import to_plain
from viva.records.text import counted, one_line
from viva.reports.console.whys import name_words
from viva.statistics.causes.changes import CauseChange

MOST_SHOWN = 8


def changed_causes(changes: Sequence[CauseChange], first: str, second: str) -> Iterator[RenderableType]:
    """Yield a table of the causes whose shares differ, those that differ most first; nothing if none does.

    Args:
        changes: The causes of both sides.
        first: The label of A.
        second: The label of B.
    """
    different = [each for each in changes if each.kind != "same"]
    if not different:
        return
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("what fails", overflow="fold")
    table.add_column("", no_wrap=True)
    for label in (first, second):
        table.add_column(label, justify="right", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    for each in different[:MOST_SHOWN]:
        table.add_row(
            Text(name_words(each.cause) + one_line(each.cause.reason or each.cause.words, 160)),
            Text(each.kind, style="red" if each.kind in ("new", "more") else "green"),
            f"{each.first} of {each.first_runs}",
            f"{each.second} of {each.second_runs}",
            each.cause.id,
        )
    yield table
    if len(different) > MOST_SHOWN:
        yield Text(f"… {counted(len(different) - MOST_SHOWN, 'more cause')}: --json", style="dim")
    yield Text()


def change_plain(change: CauseChange) -> dict[str, Any]:
    """Return a cause on both sides as JSON data."""
    return {
        "cause": to_plain(change.cause),
        "kind": change.kind,
        "a": change.first,
        "a_runs": change.first_runs,
        "b": change.second,
        "b_runs": change.second_runs,
    }
