"""Parses JSON of unknown size within limits, and large documents on a thread."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

MOST_VALUES = 100_000
"""Maximum number of values in one reply. Each costs time and about a hundred bytes: a million of them take seconds."""
MOST_LEVELS = 100
"""Maximum depth of nested lists and objects."""
LARGE = 64 * 1024
"""Minimum size in bytes of JSON that is parsed on a thread, so that the event loop continues."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRUCTURE = re.compile(rb"[\[\]{}]")


class UnfitJson(ValueError):
    """The text is not JSON, or exceeds a limit; the message says which."""


class DoubledKey(UnfitJson):
    """An object has a duplicate key, of which readers would silently use the last value."""


async def parse(body: bytes) -> Any:
    """Parse JSON.

    Raises:
        DoubledKey: an object has a duplicate key.
        UnfitJson: the text is not JSON (such as NaN), has too many values, or is nested too deeply.
    """
    return read(body) if len(body) <= LARGE else await asyncio.to_thread(read, body)


def read(body: bytes, *, strict: bool = True) -> Any:
    """Do the same as `parse` on the calling thread.

    Args:
        body: The JSON.
        strict: Whether to refuse duplicate keys, NaN and infinite numbers, which Python can write.
    """
    check_limits(body)
    try:
        text = body.decode("utf-8")
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant) if strict else json.loads(text)
    except UnfitJson:
        raise
    except (ValueError, RecursionError) as error:
        raise UnfitJson("it is not JSON") from error


def check_limits(body: bytes) -> None:
    """Check JSON that another library parses, before any of its values are built.

    Raises:
        UnfitJson: it has too many values, or is nested too deeply.
    """
    # Counting all commas is fast; if the count is too high, many of them may be in texts, so the texts are removed.
    if _separators(body) > MOST_VALUES or body.count(b"[") + body.count(b"{") > MOST_LEVELS:
        body_alone = _STRING.sub(b'""', body)
        if _separators(body_alone) > MOST_VALUES:
            raise UnfitJson(f"it has more than {MOST_VALUES:,} values")
        if _levels(body_alone) > MOST_LEVELS:
            raise UnfitJson(f"it is nested more than {MOST_LEVELS} levels deep")


def _separators(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _levels(body: bytes) -> int:
    deepest = level = 0
    for found in _STRUCTURE.finditer(body):
        level += 1 if found.group() in b"[{" else -1
        deepest = max(deepest, level)
        if deepest > MOST_LEVELS:
            break
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise DoubledKey("it has a duplicate key")
    return made


def _no_constant(name: str) -> float:
    raise UnfitJson(f"{name} is not JSON")
