"""Shows a table as it is where it fits, and as one paragraph for each row on a terminal that is too narrow for it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

SEPARATOR = 3
"""Width of the line between two columns, with its blanks."""
FOLDED = 10
"""Width that a column needs if its text can be folded."""


class NarrowTable:
    """Draws a table of text cells. rich cuts figures, or leaves out the names of the rows, where the space is short."""

    def __init__(self, table: Table) -> None:
        """Lay out a table whose first column names the rows; its cells and heads are plain or rich text."""
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the table, or its rows as paragraphs."""
        if sum(map(_needed, self._table.columns)) + SEPARATOR * (len(self._table.columns) - 1) <= options.max_width:
            yield self._table
        else:
            yield from self._paragraphs()

    def _paragraphs(self) -> Iterator[Text | Padding]:
        names, *others = self._table.columns
        rows = zip(*(list(map(_text, column.cells)) for column in self._table.columns), strict=True)
        if head := _text(names.header):
            head.stylize("bold")
            yield head
        for name, *cells in rows:
            name.overflow = "fold"
            yield name
            words = Text(overflow="fold")
            for column, cell in zip(others, cells, strict=True):
                if cell:
                    title = " ".join(_text(column.header).plain.split("\n"))
                    words.append(", " if words else "").append(f"{title} ")
                    words.append(Text(", ").join(cell.split("\n")))
            if words:
                yield Padding(words, (0, 0, 0, 2))


def _needed(column: Column) -> int:
    """Return the width that shows a column whole."""
    lines = [line for cell in (column.header, *column.cells) for line in _text(cell).plain.split("\n")]
    longest = max(map(cell_len, lines), default=0)
    return longest if column.no_wrap else min(longest, FOLDED)


def _text(cell: object) -> Text:
    return cell.copy() if isinstance(cell, Text) else Text(str(cell))
