"""Finds the call that a tool's result belongs to, in time that does not grow with the number of calls that wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Any

from viva.recordings.chat_messages import UnnumberedStep


class WaitingCalls:
    """Tool calls without a result so far, in the order in which they were made."""

    def __init__(self) -> None:
        """Begin without calls."""
        self._by_id: dict[Hashable, deque[UnnumberedStep]] = {}
        self._by_name: dict[str | None, deque[UnnumberedStep]] = {}
        """The calls without an id, by name."""
        self._nameless: deque[UnnumberedStep] = deque()
        """All calls without an id."""
        self._answered: dict[int, UnnumberedStep] = {}
        """Calls without an id that have a result, as each of them waits in two places."""
        self.left = 0
        """How many calls wait."""

    def add(self, step: UnnumberedStep) -> None:
        """Add a call."""
        self.left += 1
        if "tool_call_id" in step.attributes:
            self._by_id.setdefault(frozen(step.attributes["tool_call_id"]), deque()).append(step)
        else:
            self._by_name.setdefault(step.tool, deque()).append(step)
            self._nameless.append(step)

    def take(self, identity: Any, name: Any) -> UnnumberedStep | None:
        """Remove and return the oldest call that a result belongs to; None if there is none.

        Args:
            identity: The id of the call that the result names; None if it names none.
            name: The name of the tool that it names instead; None for any.
        """
        if identity is not None:
            found = self._by_id.get(frozen(identity))
        elif name is None:
            found = self._nameless
        else:
            found = self._by_name.get(name) if isinstance(name, str) else None
        while found:
            step = found.popleft()
            if id(step) in self._answered:
                continue
            if identity is None:
                self._answered[id(step)] = step
            self.left -= 1
            return step
        return None


def frozen(value: Any) -> Hashable:
    """Return a JSON value in a form that can be a key; equal values, and no others, have equal forms."""
    try:
        return _frozen(value)
    except RecursionError:
        return repr(value)


def _frozen(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return ("object", frozenset((key, _frozen(each)) for key, each in value.items()))
    if isinstance(value, list):
        return ("list", tuple(_frozen(each) for each in value))
    return value  # type: ignore[no-any-return]
