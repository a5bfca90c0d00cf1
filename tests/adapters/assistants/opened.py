"""How the tests of assistants open agents, and what they ask about processes."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session

AGENTS = Path(__file__).parent / "agents"
EXAMPLES = Path(__file__).parents[3] / "examples" / "agents"


@contextlib.asynccontextmanager
async def opened(
    spec: str, workspace: Path, app_dir: str | None = None, *, isolate: bool = False, dies: bool = False, **config: Any
) -> AsyncIterator[AgentSession]:
    """Open an agent, and close it, which must succeed unless its program dies in the test."""
    agent = load_agent(spec, isolate=isolate)
    session = await open_session(agent.factory, AgentArguments("the task", app_dir, config, workspace), 120)
    try:
        yield session
    finally:
        trouble = await session.close()
        assert dies or trouble is None, trouble


def processes_with(word: str) -> list[str]:
    """Return the command lines of processes that have a word in their environment or command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes()
            if word.encode() in line or word.encode() in (entry / "environ").read_bytes():
                found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


def kill_with(word: str, program: str) -> None:
    """Kill the processes of a program that have a word in their environment."""
    killed = 0
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            name = (entry / "cmdline").read_bytes().partition(b"\0")[0].decode()
            if word.encode() in (entry / "environ").read_bytes() and Path(name).name in (program, "node"):
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
    assert killed
