"""How tests open sessions with the scripted agent."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.records.transcript import Reply, Step

PATIENCE = 180.0
"""Seconds for what takes a moment on a quiet machine: coding agents load for seconds, on a busy one for a minute."""
AGENT = Path(__file__).with_name("scripted_agent.py")


def spec(*options: str) -> str:
    return f"acp:{shlex.join([sys.executable, str(AGENT), *options])}"


@asynccontextmanager
async def session(
    workspace: Path,
    *options: str,
    config: Mapping[str, Any] | None = None,
    agent: str | LoadedAgent | None = None,
    permissions: str | None = None,
) -> AsyncIterator[AgentSession]:
    """A session with the agent; `agent` is another one than the scripted one, or its SPEC."""
    loaded = agent if isinstance(agent, LoadedAgent) else load_agent(agent or spec(*options), permissions=permissions)
    opened = await open_session(loaded.factory, AgentArguments("the task", None, config, workspace), PATIENCE)
    try:
        yield opened
    finally:
        await opened.close()


async def do(opened: AgentSession, *actions: list[Any], seconds: float = PATIENCE) -> Reply:
    """Have the scripted agent do something; return its reply."""
    return await opened.reply(json.dumps(actions), seconds)


async def seen(opened: AgentSession) -> tuple[Step, ...]:
    """What Viva itself has seen since the last call."""
    return await opened.environment.take()
