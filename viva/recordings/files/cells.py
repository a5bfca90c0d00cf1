"""Turns the cells of tables into what JSON has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def plain(cell: Any) -> Any:
    """Return a cell as JSON has it; None for an empty one, also within lists and objects.

    A column of objects has every key of any of them, so an empty one says nothing.
    """
    if isinstance(cell, Mapping):
        return {str(key): value for key, each in cell.items() if (value := plain(each)) is not None}
    if isinstance(cell, list | tuple):
        # A column of maps has each as a list of pairs.
        if cell and all(isinstance(each, tuple) and len(each) == 2 for each in cell):
            return plain(dict(cell))
        return [plain(each) for each in cell]
    if isinstance(cell, datetime):
        moment = cell if cell.tzinfo is not None else cell.replace(tzinfo=UTC)
        passed = moment - _EPOCH
        # pandas's own times have nanoseconds beside the microseconds.
        beyond = getattr(cell, "nanosecond", 0)
        return ((passed.days * 86_400 + passed.seconds) * 10**6 + passed.microseconds) * 1000 + beyond
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    if isinstance(cell, float) and cell != cell:
        return None
    return cell if cell is None or isinstance(cell, str | int | float | bool) else _text(cell)


def _text(cell: Any) -> str:
    return cell.isoformat() if isinstance(cell, date) else str(cell)
