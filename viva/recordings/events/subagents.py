"""Keeps the sub-agents of a session: their names by the ids that events give them, and the steps that started them."""

from __future__ import annotations

from collections.abc import Sequence

from viva.recordings.events.rounds import OpenStep
from viva.recordings.events.tally import name_of

MOST_IDS = 10_000
"""Ids of sub-agents that are remembered: a stream may be untrusted."""


class Subagents:
    """The sub-agents of one session."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        """Maps each id of a sub-agent to its name."""
        self._parents: dict[str, OpenStep | None] = {}
        """Maps each sub-agent to the step that started it."""

    def __contains__(self, identity: object) -> bool:
        """Return whether an id is known to be a sub-agent's."""
        return identity in self._names

    def started(self, name: str, ids: Sequence[str], parent: OpenStep | None) -> None:
        """Note that a sub-agent was started by a step; events refer to it by any of these ids."""
        self._parents[name] = parent
        for place, each in enumerate(ids):
            # Further ids may be those of the sub-agent that started this one.
            if len(self._names) < MOST_IDS and (place == 0 or each not in self._names):
                self._names[each] = name

    def parent(self, name: str | None) -> OpenStep | None:
        """Return the step that started a sub-agent; None if it is not known, and for the main agent."""
        return None if name is None else self._parents.get(name)

    def name(self, ids: Sequence[str]) -> str | None:
        """Return the name of the sub-agent with the first of these ids that is known, else the first id itself."""
        if not ids:
            return None
        found = next((self._names[each] for each in ids if each in self._names), None)
        if found is None:
            return name_of(ids[0])
        for each in ids:
            # An instance and the call that started it: later events may have either.
            if each not in self._names and len(self._names) < MOST_IDS:
                self._names[each] = found
        return found
