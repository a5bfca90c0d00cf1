"""Reads spans that are rows of a table: one column for each field and attribute, as Phoenix's data frames have them.

The columns are `context.span_id`, `context.trace_id`, `parent_id`, `name`, `span_kind`, `start_time`, `end_time`,
`status_code`, `status_message`, `events` and one `attributes.KEY` for each key (`px.Client().get_spans_dataframe()`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

_CONTEXT, _ATTRIBUTES = "context.", "attributes."
_TIMES = ("start_time", "end_time")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_flat(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a row: its context or its attributes lie in columns of their own."""
    return any(isinstance(key, str) and key.startswith((_CONTEXT, _ATTRIBUTES)) for key in value)


def spans_of_rows(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the raw spans of a row, or of a whole table as pandas writes it: an object for each column.

    In such a table the ids of the spans may be the index, that is, the keys of each column.
    """
    ids = value.get("context.trace_id")
    if not isinstance(ids, Mapping):
        yield nested(value)
        return
    for row in ids:
        columns = {key: column.get(row) for key, column in value.items() if isinstance(column, Mapping)}
        yield nested({"context.span_id": row, **columns})


def nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as a span whose context and attributes are objects; empty cells are left out."""
    span: dict[str, Any] = {}
    for key, cell in row.items():
        value = _plain(cell)
        if value is None:
            continue
        for prefix in (_CONTEXT, _ATTRIBUTES):
            if key.startswith(prefix):
                inner = span.setdefault(prefix[:-1], {})
                if isinstance(inner, dict):
                    inner[key.removeprefix(prefix)] = value
                break
        else:
            span[key] = _nanoseconds(value) if key in _TIMES else value
    if isinstance(events := span.get("events"), str):
        span["events"] = _loaded(events)
    return span


def _plain(cell: Any) -> Any:
    """Return a cell as JSON has it; None for an empty one, also within lists and objects.

    A column of objects has every key of any of them, so an empty one says nothing.
    """
    if isinstance(cell, Mapping):
        return {str(key): value for key, each in cell.items() if (value := _plain(each)) is not None}
    if isinstance(cell, list | tuple):
        # A column of maps has each as a list of pairs.
        if cell and all(isinstance(each, tuple) and len(each) == 2 for each in cell):
            return _plain(dict(cell))
        return [_plain(each) for each in cell]
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


def _nanoseconds(value: Any) -> Any:
    """Return a time in nanoseconds if it is a number of seconds, milliseconds or microseconds, as pandas writes it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return value
    for limit, factor in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3)):
        if value < limit:
            return int(value * factor)
    return int(value) if value < 1e19 else value


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
