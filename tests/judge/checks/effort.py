"""Counts what a check does, instead of how long it takes: calls of functions, and the memory of what they make."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

MOST_CALLS = 50_000
"""Calls of functions, those of Python's own included: some milliseconds of any machine."""
MOST_BYTES = 12_000_000
"""Memory in use at once: all that a check may inspect, several times, and no copy of a long reply."""


def calls_of(function: Callable[[], Any]) -> int:
    """Return how many functions a function calls, directly and through others."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def bytes_of(function: Callable[[], Any]) -> int:
    """Return how much memory what a function makes takes at its peak."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
