"""How tests open sessions with the scripted agent."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.records.transcript import Reply, Step

AGENT = Path(__file__).with_name("scripted_agent.py")


def spec(*options: str) -> str:
    return f"acp:{shlex.join([sys.executable, str(AGENT), *options])}"


@asynccontextmanager
async def session(
    workspace: Path,
    *options: str,
    config: Mapping[str, Any] | None = None,
    agent: str | None = None,
    permissions: str | None = None,
) -> AsyncIterator[AgentSession]:
    """A session with the agent; `agent` is another SPEC than that of the scripted one."""
    loaded = load_agent(agent or spec(*options), permissions=permissions)
    opened = await open_session(loaded.factory, AgentArguments("the task", None, config, workspace), 30.0)
    try:
        yield opened
    finally:
        await opened.close()


async def do(opened: AgentSession, *actions: list[Any], seconds: float = 30.0) -> Reply:
    """Have the scripted agent do something; return its reply."""
    return await opened.reply(json.dumps(actions), seconds)


def seen(opened: AgentSession) -> tuple[Step, ...]:
    """What Viva itself has seen since the last call."""
    return opened.environment.take()
