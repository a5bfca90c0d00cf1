"""The connector to agents behind the Agent Client Protocol: `acp:COMMAND`, or an agent file with `connector: acp`."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from viva.adapters.connectors.acp.keys import AcpKeys, AcpSetting
from viva.adapters.connectors.agent_file import AgentFile, ConnectorKeys
from viva.adapters.connectors.command.command_line import read_command
from viva.adapters.connectors.command.variables import read_variables
from viva.adapters.connectors.loaded_agent import LoadedAgent, file_digest
from viva.adapters.environment import EnvironmentLog
from viva.adapters.machine import MORE_THREADS
from viva.errors import AgentError, MachineError, SetupError

LOOK_SECONDS = 120.0
"""Maximum time that the agent's program has to begin its first session; launchers may download it first."""
INSTALL = "pip install 'vivavoce[acp]'"


class AcpConnector:
    """Starts the agent's program once before the first exam, and begins a session, so that mistakes are found then."""

    keys: ClassVar[type[ConnectorKeys]] = AcpKeys

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Load `acp:COMMAND`, where COMMAND is split into words as a shell does.

        Raises:
            SetupError: as in `load_file`.
        """
        command = spec.partition(":")[2].strip()
        if not command:
            raise SetupError(f"{spec!r} names no program; write acp:COMMAND, as in acp:opencode acp")
        file = AgentFile.of_spec(spec, AcpKeys(command=command))
        return self.load_file(file, isolate=isolate, memory_mb=memory_mb)

    def load_file(self, file: AgentFile[AcpKeys], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Make an agent of the keys.

        Raises:
            SetupError: the command is wrong; its program is no agent, speaks another version of the protocol, or
                requires authentication; or the library for the protocol is missing.
        """
        if sys.platform == "win32":
            raise SetupError("an agent behind the Agent Client Protocol requires Linux or macOS.")
        if importlib.util.find_spec("acp") is None:
            raise file.mistake(f"the package agent-client-protocol is missing; install it: {INSTALL}", "connector")
        command = read_command(file.keys.command, file.folder, lambda words: file.mistake(words, "command"))
        setting = AcpSetting(command, file.keys, read_variables(file, file.keys.environment), memory_mb)
        return _agent(file, setting, _look(file, setting))


def _agent(file: AgentFile[AcpKeys], setting: AcpSetting, info: Mapping[str, Any]) -> LoadedAgent:
    from viva.adapters.connectors.acp.agent import AcpFactory  # loads the library, which takes half a second

    def permit(agent: LoadedAgent, permissions: str) -> LoadedAgent:
        other = replace(setting, keys=setting.keys.model_copy(update={"permissions": permissions}))
        return replace(agent, factory=AcpFactory(other), notices=_notices(other))

    version = info.get("version")
    named = info.get("title") or info.get("name") or Path(setting.command.words[0]).name
    return LoadedAgent(
        file.spec,
        file.keys.name or str(named),
        AcpFactory(setting),
        str(version) if version else None,
        kind="acp",
        notices=_notices(setting),
        digest=file_digest(setting.command.script),
        permit=permit,
    )


def _notices(setting: AcpSetting) -> tuple[str, ...]:
    if setting.keys.permissions is not None:
        return ()
    return ("the agent is allowed whatever it asks for; --permissions deny or ask-case changes that.",)


def _look(file: AgentFile[AcpKeys], setting: AcpSetting) -> dict[str, Any]:
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
            raise file.mistake(f"the agent cannot be examined: {error}.", "command") from error


async def _begin_session(setting: AcpSetting) -> dict[str, Any]:
    from viva.adapters.connectors.acp.agent import AcpAgent

    with tempfile.TemporaryDirectory(prefix="viva-look-", ignore_cleanup_errors=True) as folder:
        agent = AcpAgent(setting, workspace=Path(folder))
        agent.environment = EnvironmentLog()
        try:
            await agent.open(LOOK_SECONDS)
            return agent.info
        finally:
            await agent.close()
