"""Finds the JSON objects in a model's answer, and says in words why one does not fit a form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

MOST_BROKEN = 1000
"""Maximum number of braces that begin no JSON object. Each takes time by the length of the text: 200,000 took 6 s."""
_HALF = re.compile("[\ud800-\udfff]")


class TooManyBraces(ValueError):
    """Too many parts of a text look like JSON objects and are not."""

    def __init__(self) -> None:
        super().__init__("it is full of braces that begin no JSON object")


def json_objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the start, the end and the value of each outermost JSON object in a text.

    Line breaks and tabs inside of strings are read as they are, because many models do not escape them. Lone surrogates
    stay escapes (`\\ud800`), as they are where models are shown them.

    Raises:
        TooManyBraces: more than `MOST_BROKEN` braces begin no object.
    """
    decoder, position, broken = json.JSONDecoder(strict=False), 0, 0
    while (start := text.find("{", position)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
            value, position = without_halves(value), end
        except (ValueError, RecursionError):
            position, broken = start + 1, broken + 1
            if broken > MOST_BROKEN:
                raise TooManyBraces from None
            continue
        yield start, position, value


def without_halves(value: Any) -> Any:
    """Return a JSON value in whose strings lone surrogates are escapes, as `storable` writes them in text."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(_HALF.sub(lambda half: rf"\\u{ord(half[0]):x}", text)) if _HALF.search(text) else value


def misfit(error: ValidationError) -> str:
    """Return in words where an object does not fit the form of an answer."""
    first = error.errors()[0]
    return f"it does not fit the form: {first['msg']} at {'.'.join(map(str, first['loc'])) or 'the top'}"
