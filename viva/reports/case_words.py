"""What a case says of itself beyond its exam, as names and values: its row, the row's columns, and metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from viva.filters.stored_cases import CaseFacts

MOST_VALUES = 60
"""Number of values that are shown of one case."""


def fact_rows(facts: CaseFacts) -> list[tuple[str, str]]:
    """Return names and values: `row`, `row.COLUMN`, `metadata.KEY`, and `POINT: metadata.KEY` of scoring points."""
    found = list(islice(_rows(facts), MOST_VALUES + 1))
    if len(found) > MOST_VALUES:
        found[-1] = ("more", "further values are in the journal's copy of the case")
    return found


def _rows(facts: CaseFacts) -> Iterator[tuple[str, str]]:
    if facts.row:
        yield "row", facts.row
    yield from _named("row", facts.columns)
    yield from _named("metadata", facts.metadata)
    for point, values in facts.points.items():
        yield from _named(f"{point}: metadata", values)


def _named(part: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        yield f"{part}.{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
