"""Refuses cases that begin with a conversation where an agent takes none, before any exam begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.cases import Case

ACP = "acp"
"""The kind of agents whose protocol cannot give a conversation, and whose factory is not a class."""


def takes_none(case: Case, agent: LoadedAgent) -> str:
    """Return the message for an agent that cannot continue the conversation of a case."""
    return (
        f"the case {case.name!r} begins with a conversation, and the agent {agent.spec} takes none. Give its class a "
        "method load_conversation(messages), or remove `conversation` from the case; see `viva docs write-a-case`."
    )


def untaken_conversation(cases: Sequence[Case], agents: Iterable[LoadedAgent]) -> str | None:
    """Return why a conversation cannot be continued, as far as the agents' classes tell; None if they all can.

    What a function makes, or a class in a process of its own, is known when the first agent has been made.
    """
    begun = next((case for case in cases if case.conversation), None)
    if begun is None:
        return None
    for agent in agents:
        makes_class = isinstance(agent.factory, type)
        if agent.kind == ACP or (makes_class and not callable(getattr(agent.factory, "load_conversation", None))):
            return takes_none(begun, agent)
    return None
