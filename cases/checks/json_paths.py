"""Reads the path of a value in JSON: `order.items[0].price`, `[-1]`, `["a.b"]`."""

from __future__ import annotations

import re
from typing import Any

_PART = re.compile(
    r"""\.?(?P<key>[^.\[\]"'\s][^.\[\]"']*)|\[(?P<index>-?\d{1,9})\]|\[(?P<q>["'])(?P<quoted>.*?)(?P=q)\]"""
)
MOST_PARTS = 50
"""Maximum number of keys and indices of a path."""


class PathFault(ValueError):
    """A path cannot be read; the message says why."""


def read_path(text: str) -> tuple[str | int, ...]:
    """Return the keys and indices of a path. A leading `$`, as in JSONPath, stands for the whole.

    Raises:
        PathFault: it is not a path.
    """
    place = 1 if text.startswith("$") else 0
    parts: list[str | int] = []
    while place < len(text):
        found = _PART.match(text, place)
        if found is None or (not parts and place == 0 and text[0] == "."):
            raise PathFault(f"a path looks like items[0].price; nothing is known at {text[place:][:20]!r}")
        key = found["key"] if found["key"] is not None else found["quoted"]
        parts.append(int(found["index"]) if key is None else key)
        place = found.end()
    if len(parts) > MOST_PARTS:
        raise PathFault(f"a path has at most {MOST_PARTS} parts")
    return tuple(parts)


def written(path: tuple[str | int, ...]) -> str:
    """Return a path as an author writes it."""
    words = ""
    for part in path:
        if isinstance(part, int):
            words += f"[{part}]"
        elif re.fullmatch(r"[^.\[\]\"'\s$][^.\[\]\"']*", part):
            words += f".{part}" if words else part
        else:
            words += f'["{part}"]'
    return words


def value_at(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return the value at a path.

    Raises:
        LookupError: there is none.
    """
    for part in path:
        if isinstance(part, int) and isinstance(value, list):
            value = value[part]
        elif isinstance(value, dict):
            # An index is also the name of a key that is written as a number.
            value = value[part] if part in value else value[str(part)]
        else:
            raise LookupError(part)
    return value
