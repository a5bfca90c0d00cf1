"""How the tests of the connector to child processes open agents, and see that nothing of them is left."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session

AT_ONCE = 15
"""Sessions at once in the tests of a connector, each with a process; the conformance suite opens fifty with each."""
PATIENCE = 20.0
"""Seconds until something that should happen soon counts as never."""


async def open_agent(spec: str, workspace: Path, *, seconds: float = 30.0, **options: Any) -> AgentSession:
    agent = load_agent(spec, **options)
    arguments = AgentArguments("the task", "the/app", {"llm.model": "m"}, workspace, True)
    return await open_session(agent.factory, arguments, seconds, agent.home)


def noted(workspace: Path) -> set[int]:
    """The processes that an agent noted, and that are still there."""
    file = workspace / "pids"
    pids = {int(pid) for pid in file.read_text().split()} if file.exists() else set()
    return {pid for pid in pids if is_alive(pid)}


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def until(condition: Any) -> bool:
    """Whether it comes true while one can wait for it."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True
