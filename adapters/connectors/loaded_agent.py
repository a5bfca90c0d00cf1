"""`LoadedAgent`: what a connector makes of an agent SPEC, and the Protocol of connectors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from adapters.connectors.spec import agent_label
from adapters.contract import AgentFactory
from adapters.inside.raised import Home


@dataclass(frozen=True, slots=True)
class LoadedAgent:
    """An agent that can be examined."""

    spec: str
    """As the user gave it."""
    name: str
    """Its name in records, where it took part in a conversation."""
    factory: AgentFactory
    version: str | None = None
    search_path: tuple[str, ...] | None = None
    """Where its own environment has its packages; None for an agent in Viva's environment, or behind an address."""
    home: Home | None = None
    """Where the code lies of an agent in Viva's own process."""
    _: KW_ONLY
    kind: str = "python"
    """What connects to it: `python` (in Viva's process), `child`, `http`, `replay`, `example`, or a plugin's name."""
    model: str | None = None
    """The model's name, where the agent is a model behind an address."""
    notices: tuple[str, ...] = ()
    """What the user should know before the exam begins."""
    look: Callable[[], Awaitable[None]] | None = None
    """Sees, without an exam, whether it can be reached; raises a SetupError where it cannot."""

    @property
    def label(self) -> str:
        """Short, for columns of reports."""
        return agent_label(self.spec)


class Connector(Protocol):
    """Connects to agents of one kind. Anything with this method will do, nothing need be inherited."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Turn a SPEC into an agent, and find every mistake in it before the first exam.

        Args:
            spec: The whole SPEC, `NAME:REST`.
            isolate: The user wants the agent's code in a process of its own, where it would run in Viva's.
            memory_mb: Address space of each of the agent's processes at most, in MiB; None is unlimited.

        Raises:
            SetupError: the user must change something. Says what and how.
        """
        ...
