"""Parses JSON that somebody else decides the size of: within limits, and large pieces off the event loop."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

MOST_VALUES = 100_000
"""Values in one reply. Each costs time and a hundred bytes, however small it is: a million of them take seconds."""
MOST_LEVELS = 100
"""Lists and objects within each other."""
LARGE = 64 * 1024
"""Bytes from which on a thread parses, so that the loop goes on."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRUCTURE = re.compile(rb"[\[\]{}]")


class UnfitJson(ValueError):
    """It is not JSON, or beyond the limits. Says which."""


class DoubledKey(UnfitJson):
    """An object in it has a key twice: readers would silently take the last of the two values."""


async def parse(body: bytes) -> Any:
    """What a piece of JSON says.

    Raises:
        DoubledKey: an object in it has a key twice.
        UnfitJson: it is not JSON (NaN is none), has too many values, or is nested too deeply.
    """
    return read(body) if len(body) <= LARGE else await asyncio.to_thread(read, body)


def read(body: bytes, *, strict: bool = True) -> Any:
    """Do what `parse` does, on the thread that calls.

    Args:
        body: The JSON.
        strict: Refuse keys that are there twice, and NaN and infinite numbers, which Python writes.
    """
    # Counted before anything is built of it. A count of all commas is quick; where it is too high, many may stand in
    # text, and the text is taken out.
    if _separators(body) > MOST_VALUES or body.count(b"[") + body.count(b"{") > MOST_LEVELS:
        body_alone = _STRING.sub(b'""', body)
        if _separators(body_alone) > MOST_VALUES:
            raise UnfitJson(f"it holds more than {MOST_VALUES:,} values")
        if _levels(body_alone) > MOST_LEVELS:
            raise UnfitJson(f"it is nested more than {MOST_LEVELS} levels deep")
    try:
        text = body.decode("utf-8")
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant) if strict else json.loads(text)
    except UnfitJson:
        raise
    except (ValueError, RecursionError) as error:
        raise UnfitJson("it is no JSON") from error


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
        raise DoubledKey("it has the same key twice")
    return made


def _no_constant(name: str) -> float:
    raise UnfitJson(f"{name} is no JSON")
