"""Checks the columns that filters and reports name against those that the rows of a suite or a journal have."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from viva.errors import SetupError
from viva.filters.expression import Expression, FilterError, comparisons
from viva.records.text import one_line

ROW = "row"
"""The field of filters whose key is a column."""
COLUMNS_SHOWN = 12


def columns_named(expression: Expression | None) -> dict[str, int]:
    """Return the columns that an expression names, each with the place in its text at which it is first named."""
    found: dict[str, int] = {}
    for each in comparisons(expression) if expression is not None else ():
        if each.name == ROW and each.key is not None:
            found.setdefault(each.key, each.column)
    return found


def refuse_unknown_columns(expression: Expression | None, columns: Collection[str], option: str = "--where") -> None:
    """Check that each column that an expression names is one of a row: of none, a misspelt one would keep no run.

    Args:
        expression: The expression.
        columns: The columns of all rows among which it chooses.
        option: What the message names.

    Raises:
        FilterError: no row has such a column.
    """
    for name, place in columns_named(expression).items():
        if name not in columns:
            raise FilterError(f"{option}, column {place}: {unknown_column(name, columns)}")


def unknown_column(name: str, columns: Collection[str]) -> str:
    """Return in words that no row has a column, with the nearest one."""
    words = f"no row has a column {one_line(name, 60)!r}"
    if not columns:
        return f"{words}: none of these cases is a row of a family (for_each)"
    near = get_close_matches(name, columns, 1, 0.5)
    if near:
        return f"{words}; did you mean {one_line(near[0], 60)!r}?"
    shown = ", ".join(one_line(each, 60) for each in sorted(columns)[:COLUMNS_SHOWN])
    return f"{words}; the columns are {shown}{', …' if len(columns) > COLUMNS_SHOWN else ''}"


def refuse_unknown_names(names: Collection[str], columns: Collection[str], option: str) -> None:
    """Check columns that an option names.

    Raises:
        SetupError: no row has one of them.
    """
    for name in names:
        if name not in columns:
            raise SetupError(f"{option}: {unknown_column(name, columns)}.")
