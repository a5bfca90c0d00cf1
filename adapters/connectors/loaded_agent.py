"""`LoadedAgent`, which a connector makes from an agent SPEC, and the Protocol of connectors."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol

from viva.adapters.connectors.spec import agent_label
from viva.adapters.contract import AgentFactory
from viva.adapters.inside.raised import Home


@dataclass(frozen=True, slots=True)
class LoadedAgent:
    """An agent that can be tested."""

    spec: str
    """The SPEC, as given by the user."""
    name: str
    """The agent's name among the participants of a conversation."""
    factory: AgentFactory
    version: str | None = None
    search_path: tuple[str, ...] | None = None
    """The package folders of the agent's own environment; None for an agent in Viva's environment or at an address."""
    home: Home | None = None
    """The location of the code of an agent in Viva's own process."""
    _: KW_ONLY
    kind: str = "python"
    """The connector: `python` (in Viva's process), `child`, `http`, `replay`, `example`, or a plugin's name."""
    model: str | None = None
    """The model's name, if the agent is a model at an address."""
    notices: tuple[str, ...] = ()
    """What the user should know before the exam begins."""
    python: str | None = None
    """The interpreter that runs the agent; None for an agent at an address."""
    digest: str | None = None
    """The first 12 hex digits of the SHA-256 of the file with its class; None if it has none that could be read."""
    look: Callable[[], Awaitable[None]] | None = None
    """Tests without an exam whether the agent can be reached, and raises a SetupError if it cannot."""
    permit: Callable[[LoadedAgent, str], LoadedAgent] | None = None
    """Returns the agent under another policy (`allow`, `deny`, `ask-case`); None for agents that never ask."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the constructor, or keys of `config_var`, from the brackets of the SPEC."""
    release: Callable[[], None] | None = None
    """Ends the ready processes for further runs; the agent can still be used."""

    @property
    def label(self) -> str:
        """Return a short name for columns of reports."""
        return agent_label(self.spec)


def file_digest(file: object) -> str | None:
    """Return the digest of an agent's file for `LoadedAgent.digest`; None if this is no path, or cannot be read."""
    try:
        with open(str(file), "rb") as found:
            return hashlib.file_digest(found, "sha256").hexdigest()[:12]
    except (OSError, ValueError):
        return None


class Connector(Protocol):
    """Connects to agents of one kind. Any object with this method is a connector, without inheritance."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Turn a SPEC into an agent, and find every mistake in it before the first exam.

        Args:
            spec: The whole SPEC, `NAME:REST`.
            isolate: Whether agent code that would run in Viva's process must run in a process of its own.
            memory_mb: Maximum address space of each of the agent's processes in MiB; None means unlimited.

        Raises:
            SetupError: the user must change something. The message says what and how.
        """
        ...
