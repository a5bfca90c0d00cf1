"""The connector to agents that speak the Agent Client Protocol: `acp:COMMAND`."""

from __future__ import annotations

import asyncio
import importlib.util
import shlex
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from viva.adapters.connectors.acp.setting import AcpSetting
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.environment import EnvironmentLog
from viva.adapters.machine import MORE_THREADS
from viva.errors import AgentError, MachineError, SetupError

LOOK_SECONDS = 120.0
"""Maximum time that the agent's program has to begin its first session; launchers may download it first."""
INSTALL = "pip install 'vivavoce[acp]'"


class AcpConnector:
    """Starts the agent's program once before the first exam, and begins a session, so that mistakes are found then."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Load `acp:COMMAND`, where COMMAND is split into words as a shell does.

        Raises:
            SetupError: the command is missing or wrong; its program is no agent, speaks another version of the
                protocol, or requires authentication; or the library for the protocol is missing.
        """
        command = _words(spec, spec.partition(":")[2])
        setting = AcpSetting(tuple(command), _program(spec, command[0]), memory_mb=memory_mb)
        return _loaded(spec, setting)


def _loaded(spec: str, setting: AcpSetting) -> LoadedAgent:
    if sys.platform == "win32":
        raise SetupError("an agent behind the Agent Client Protocol requires Linux or macOS.")
    if importlib.util.find_spec("acp") is None:
        raise SetupError(f"{spec!r} requires the package agent-client-protocol; install it: {INSTALL}")
    from viva.adapters.connectors.acp.agent import agent_class

    info = _look(spec, setting)
    name = Path(setting.command[0]).name
    version = info.get("version")
    return LoadedAgent(
        spec,
        name,
        agent_class(setting, "AcpAgent"),
        str(version) if version else None,
        kind="acp",
        notices=_notices(setting),
    )


def _notices(setting: AcpSetting) -> tuple[str, ...]:
    if setting.permissions is not None:
        return ()
    return ("The agent is allowed whatever it asks for; use --permissions deny or ask-case to change that.",)


def _words(spec: str, command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SetupError(f"{spec!r} is not a command: {error}.") from error
    if not words:
        raise SetupError(f"{spec!r} names no command; write acp:PROGRAM with its arguments, as in acp:opencode acp")
    return words


def _program(spec: str, name: str) -> str:
    """Return the absolute path of a program."""
    found = shutil.which(Path(name).expanduser())
    if found is None:
        what = "file that can be executed" if "/" in name else "program on the PATH"
        raise SetupError(f"{spec!r}: there is no {what} called {name}. Install the agent, or correct the command.")
    return str(Path(found).absolute())


def _look(spec: str, setting: AcpSetting) -> dict[str, Any]:
    """Begin one session in a temporary folder; return what the agent says about itself.

    Raises:
        SetupError: it is no agent, or cannot begin a session.
    """
    # On a thread, because the caller may be in an event loop.
    with ThreadPoolExecutor(1) as thread:
        try:
            looking = thread.submit(lambda: asyncio.run(_begin_session(setting)))
        except RuntimeError as error:
            raise SetupError(f"no process can be started for the agent: {error}. {MORE_THREADS}") from error
        try:
            return looking.result()
        except MachineError:
            raise
        except AgentError as error:
            raise SetupError(f"{spec!r} cannot be examined: {error}.") from error


async def _begin_session(setting: AcpSetting) -> dict[str, Any]:
    from viva.adapters.connectors.acp.agent import agent_class

    with tempfile.TemporaryDirectory(prefix="viva-look-", ignore_cleanup_errors=True) as folder:
        agent = agent_class(setting, "AcpAgent")("", workspace=Path(folder))
        agent.environment = EnvironmentLog()
        try:
            await agent.open(LOOK_SECONDS)
            return agent.info
        finally:
            await agent.close()
