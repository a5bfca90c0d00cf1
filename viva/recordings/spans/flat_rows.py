"""Reads spans that are rows of a table: one column for each field and attribute, as Phoenix's data frames have them.

The columns are `context.span_id`, `context.trace_id`, `parent_id`, `name`, `span_kind`, `start_time`, `end_time`,
`status_code`, `status_message`, `events` and one `attributes.KEY` for each key (`px.Client().get_spans_dataframe()`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from viva.recordings.files.cells import plain

_CONTEXT, _ATTRIBUTES = "context.", "attributes."
_TIMES = ("start_time", "end_time")


def is_flat(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a row: its context or its attributes lie in columns of their own."""
    if isinstance(value.get("context"), dict) and isinstance(value.get("attributes"), dict):
        return False  # as in most dumps of spans
    return bool([key for key in value if isinstance(key, str) and key.startswith((_CONTEXT, _ATTRIBUTES))])


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
        value = plain(cell)
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
