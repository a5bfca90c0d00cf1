"""Imports an agent's class once before the first exam, in a process that is then kept ready for it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from viva.adapters.connectors.child.agent import ChildAgent
from viva.adapters.machine import MORE_THREADS
from viva.errors import AgentError, AgentTimeout, MachineError, SetupError


def look(kind: type[ChildAgent]) -> dict[str, Any]:
    """Import the class once, so that mistakes are found before the first exam; the process is then kept ready.

    Raises:
        SetupError: as in `ChildAgent.load`, or because the import kills or hangs the process.
    """
    # On a thread, because the caller may be in an event loop.
    with ThreadPoolExecutor(1) as thread:
        try:
            looking = thread.submit(lambda: asyncio.run(_look(kind)))
        except RuntimeError as error:
            raise SetupError(f"no process can be started for the agent: {error}. {MORE_THREADS}") from error
        return looking.result()


async def _look(kind: type[ChildAgent]) -> dict[str, Any]:
    location = kind.location
    try:
        return await kind("").stand_ready()
    except AgentTimeout as error:
        raise SetupError(f"{error}.") from None
    except (AgentError, MachineError) as error:
        raise SetupError(f"{location.module} cannot be imported with {location.python}: {error}.") from error
