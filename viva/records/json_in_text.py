"""Finds the JSON objects in a model's answer, and says in words why one does not fit a form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

MOST_BROKEN = 1000
"""Maximum number of braces that begin no JSON object. Each takes time by the length of the text: 200,000 took 6 s."""


class TooManyBraces(ValueError):
    """Too many parts of a text look like JSON objects and are not."""

    def __init__(self) -> None:
        super().__init__("it is full of braces that begin no JSON object")


def json_objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the start, the end and the value of each outermost JSON object in a text.

    Line breaks and tabs inside of strings are read as they are, because many models do not escape them.

    Raises:
        TooManyBraces: more than `MOST_BROKEN` braces begin no object.
    """
    decoder, position, broken = json.JSONDecoder(strict=False), 0, 0
    while (start := text.find("{", position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position, broken = start + 1, broken + 1
            if broken > MOST_BROKEN:
                raise TooManyBraces from None
            continue
        yield start, position, value


def misfit(error: ValidationError) -> str:
    """Return in words where an object does not fit the form of an answer."""
    first = error.errors()[0]
    return f"it does not fit the form: {first['msg']} at {'.'.join(map(str, first['loc'])) or 'the top'}"
