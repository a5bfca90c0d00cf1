"""Knows which spans of generative AI lie within which while they are open, so that agents can be told apart."""

from __future__ import annotations

import threading
from dataclasses import dataclass

MOST_OPEN = 10_000
"""Spans that are remembered; further ones are counted, and belong to the main agent."""


@dataclass(slots=True)
class OpenSpan:
    """One span that has begun."""

    outer: OpenSpan | None
    calls_model: bool
    agents: int
    """The number of agents within one another, this span's own included."""
    agent: str | None
    """The sub-agent to which it belongs; None for the main agent, and outside of agents."""
    told: bool = False
    """Whether a span within it told of the same model call."""
    answered: bool = False
    """Whether one of those succeeded."""

    @property
    def within_a_model_call(self) -> bool:
        """Return whether a span around it is a model call, too: both are one call."""
        return any(each.calls_model for each in self._around())

    def tell(self, *, succeeded: bool) -> None:
        """Note in the model calls around it that this one was counted."""
        for each in self._around():
            if each.calls_model:
                each.told, each.answered = True, each.answered or succeeded

    def is_told(self, *, succeeded: bool) -> bool:
        """Return whether a span within it told of how it ended: a success after an attempt that failed is news."""
        return self.answered if succeeded else self.told

    def _around(self) -> list[OpenSpan]:
        found, outer = [], self.outer
        while outer is not None:
            found.append(outer)
            outer = outer.outer
        return found


class SpanNesting:
    """The open spans of a process, by their ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, OpenSpan] = {}

    def begin(self, span: int, parent: int | None, *, calls_model: bool, agent: str | None) -> OpenSpan:
        """Note that a span began.

        Args:
            span: Its id.
            parent: That of the span around it.
            calls_model: Whether it is a model call.
            agent: The name of the agent that it runs; None if it runs none.
        """
        with self._lock:
            outer = None if parent is None else self._open.get(parent)
            agents = (0 if outer is None else outer.agents) + (agent is not None)
            inherited = None if outer is None else outer.agent
            own = inherited if agent is None else agent if agents > 1 else None
            found = OpenSpan(outer, calls_model, agents, own)
            if len(self._open) < MOST_OPEN:
                self._open[span] = found
            return found

    def find(self, span: int) -> OpenSpan | None:
        """Return an open span; None if it is not known."""
        with self._lock:
            return self._open.get(span)

    def end(self, span: int) -> None:
        """Forget a span."""
        with self._lock:
            self._open.pop(span, None)
