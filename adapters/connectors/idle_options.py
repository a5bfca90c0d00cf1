"""Says which options of an agent's connection have no effect on it."""

from __future__ import annotations

from collections.abc import Iterator

from viva.adapters.connectors.loaded_agent import LoadedAgent

IN_VIVAS_PROCESS = ("python", "example")
WITHOUT_A_PROCESS = ("http", "a2a", "replay")


def idle_options(agent: LoadedAgent, *, isolate: bool, memory_mb: int | None, permissions: str | None) -> Iterator[str]:
    """Yield a notice for each option that changes nothing for an agent.

    Args:
        agent: The agent; nothing is known about those that connectors of other packages reach.
        isolate: As in `load_agent`, like the others.
        memory_mb: Maximum address space of its processes.
        permissions: What it is answered.
    """
    if permissions is not None and agent.permit is None:
        yield f"--permissions {permissions} has no effect: only coding agents (acp:…) ask Viva for permission."
    if memory_mb is None:
        return
    if agent.kind in IN_VIVAS_PROCESS and not isolate:
        yield "--agent-memory has no effect on an agent in Viva's process; --isolate gives it a process of its own."
    elif agent.kind in WITHOUT_A_PROCESS:
        yield "--agent-memory has no effect on an agent whose process Viva does not start."
