"""Keeps the steps that the harness itself saw during a run, until the conversation puts them into a round.

This is the only way to a step of the environment: whatever an agent returns is reset by `contract.as_reply`.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace

from viva.records.codec import to_plain
from viva.records.text import storable
from viva.records.transcript import ENVIRONMENT, ENVIRONMENT_ID, Step

MOST_STEPS = 5_000
"""Maximum number of steps of one run."""
MOST_BYTES = 6 * 1024 * 1024
"""Maximum size of all steps of one run, in bytes of JSON; what checks are shown has room for all of them."""
MOST_TEXT = 64 * 1024
"""Maximum number of characters of one text; a longer one is cut, with a mark."""


class EnvironmentLog:
    """The steps of one run that the harness saw itself. Any thread may add one.

    Whoever serves something to an agent asks for `has_room` first and refuses to serve where there is none, so that
    nothing is done that is not recorded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: list[Step] = []
        self._count = self._size = 0

    @property
    def has_room(self) -> bool:
        """Return whether another step can be recorded."""
        with self._lock:
            return self._count < MOST_STEPS and self._size < MOST_BYTES

    def record(self, step: Step) -> None:
        """Add a step; its id is replaced by one that no step of the agent can have.

        Args:
            step: The step. Its `started` is when it began, so that the order of steps that overlap is known.
        """
        with self._lock:
            self._count += 1
            kept = replace(step, id=f"{ENVIRONMENT_ID}{self._count}", recorded_by=ENVIRONMENT)
        kept = replace(kept, tool_input=_cut_value(step.tool_input), result=_cut(step.result), error=_cut(step.error))
        size = len(json.dumps(to_plain(kept)))
        with self._lock:
            self._size += size
            self._new.append(kept)

    def take(self) -> tuple[Step, ...]:
        """Return the steps since the last call, in the order in which they began."""
        with self._lock:
            taken, self._new = self._new, []
        return tuple(sorted(taken, key=lambda step: step.started or 0.0)) if taken else ()


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MOST_TEXT:
        return text
    head, tail = MOST_TEXT * 3 // 4, MOST_TEXT // 4
    return f"{text[:head]}[… {len(text) - head - tail:,} characters left out …]{text[-tail:]}"


def _cut_value(value: object) -> object:
    """Return a value as it is, or as text if it is too long."""
    if value is None or isinstance(value, str):
        return _cut(value) if isinstance(value, str) else None
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)
    except (ValueError, RecursionError):  # it contains itself
        text = repr(value)
    return value if len(text) <= MOST_TEXT else _cut(storable(text))
