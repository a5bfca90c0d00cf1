"""Writes JSON in pieces, so that a large object is never held as text as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator

PIECE = 1_000_000
"""Characters that make a piece."""


def json_pieces(value: dict[str, object]) -> Iterator[str]:
    """Yield the line that `json.dumps(value)` makes, in pieces of `PIECE` or of one small value.

    An iterator is written as a list, so that its values need not exist at the same time.
    """
    waiting: list[str] = []
    size = 0
    for text in _texts(value):
        waiting.append(text)
        size += len(text)
        if size >= PIECE:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting) + "\n"


def _texts(value: object) -> Iterator[str]:
    """Yield a dict's values and an iterator's one by one, at any depth, and anything else as a whole."""
    if isinstance(value, dict):
        between = "{"
        for name, each in value.items():
            yield f"{between}{json.dumps(name)}: "
            yield from _texts(each)
            between = ", "
        yield "}" if value else "{}"
    elif isinstance(value, Iterator):
        between = "["
        for each in value:
            yield between
            yield from _texts(each)
            between = ", "
        yield "]" if between == ", " else "[]"
    else:
        yield json.dumps(value)
