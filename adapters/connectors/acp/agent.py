"""An agent behind the Agent Client Protocol: one process and one session for each run, in the run's workspace."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from viva.adapters.connectors.acp.client import SessionClient
from viva.adapters.connectors.acp.connection import AgentConnection
from viva.adapters.connectors.acp.keys import AcpSetting
from viva.adapters.connectors.acp.permissions import policy_of
from viva.adapters.connectors.acp.session import AcpSession
from viva.adapters.connectors.acp.turn import TurnLog
from viva.adapters.connectors.child.spawn import ProgramStart
from viva.adapters.contract import ConnectedAgent
from viva.adapters.time_limits import time_limit
from viva.errors import AgentError, AgentTimeout
from viva.records.redact import redact_end
from viva.records.text import one_line
from viva.records.transcript import Reply

CANCEL_SECONDS = 2.0
"""Time that an agent which is still busy has to end its turn when the run is over, before it is killed."""
SAID_SHOWN = 500


class AcpAgent(ConnectedAgent):
    """One agent in one run."""

    def __init__(
        self, setting: AcpSetting, config_var: Mapping[str, Any] | None = None, workspace: Path | None = None
    ) -> None:
        """Args:
        setting: The agent's setting.
        config_var: The case's.
        workspace: The run's folder; None means a temporary one.

        Raises:
            SetupError: the case's permissions cannot be understood.
        """
        self.setting = setting
        self._policy = policy_of(self.setting.keys.permissions, config_var)
        servers = (config_var or {}).get("mcp_servers")
        self._servers: list[Any] = servers if isinstance(servers, list) else []
        self._temporary: str | None = None
        if workspace is None:
            self._temporary = tempfile.mkdtemp(prefix="viva-agent-")
        self.workspace: Path | None = workspace or Path(str(self._temporary))
        self._log = TurnLog()
        self._connection: AgentConnection | None = None
        self._session: AcpSession | None = None
        self._client: SessionClient | None = None
        self._busy = False
        self._cancelling: asyncio.Future[None] | None = None

    async def open(self, seconds: float) -> None:
        """Start the agent's program and begin a session.

        Raises:
            MachineError: the system has no process, memory or file left for it.
            AgentTimeout: the time is up.
            AgentError: the program cannot be run, is no agent, ended, or refused to begin a session.
        """
        try:
            async with time_limit(seconds):
                session = await self.initialize()
                await session.open(self._servers)
        except BaseException as error:
            await self._end()
            if isinstance(error, TimeoutError):
                raise AgentTimeout(f"it did not begin a session within {seconds:g} s") from None
            raise

    async def initialize(self) -> AcpSession:
        """Start the agent's program, and agree with it on the protocol."""
        folder = Path(str(self.workspace)).absolute()
        self._client = client = SessionClient(folder, self._policy, self._log, self.environment)
        command = self.setting.command
        start = ProgramStart(command.program, command.words, str(folder), self.setting.variables)
        self._connection = await AgentConnection.start(start, self.setting.memory_mb, self._handle)
        self._session = AcpSession(self._connection, client, self.setting, folder)
        await self._session.initialize()
        return self._session

    @property
    def info(self) -> dict[str, Any]:
        """Return the agent's `name` and `version`, as far as it says; known when it is open."""
        return {} if self._session is None else dict(self._session.info)

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Send the message, and return what the agent reported until its turn ended.

        Raises:
            AgentError: the agent ended, broke the protocol, or refused.
        """
        if self._session is None or self._client is None:
            raise AgentError("its session has ended")
        self._busy = True
        try:
            answer = await self._session.ask(message)
        except asyncio.CancelledError:
            self._cancelling = asyncio.ensure_future(self._session.cancel())
            raise
        except AgentError as error:
            self._busy = False
            said = one_line(redact_end(self._log.text, SAID_SHOWN), SAID_SHOWN)
            if not said:
                raise
            raise AgentError(f"{error}; it had said: {said}") from error
        finally:
            self._client.note_running()
        self._busy = False
        return self._log.take(answer.get("stopReason"), answer)

    async def reply_so_far(self) -> Reply:
        """Return what the agent reported in a turn that failed or took too long."""
        return self._log.take_so_far()

    async def save_state(self) -> dict[str, Any] | None:
        """Return what `load_state` continues from; None if the agent can neither fork, load nor resume sessions."""
        return None if self._session is None else await self._session.save()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state, before the first message.

        Raises:
            NotImplementedError: the agent can neither fork, load nor resume sessions, or more was said in this one.
            AgentError: it refused.
        """
        if self._session is None:
            raise AgentError("its session has ended")
        await self._session.load(state)

    async def close(self) -> None:
        """Cancel the agent's turn if there is one, and end its process with everything that it left behind.

        Raises:
            AgentError: a process could not be killed.
        """
        if left := await self._end():
            raise AgentError(left)

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        client, connection = self._client, self._connection
        if client is None:
            return None
        try:
            return await client.handle(method, params, is_notification)
        finally:
            if self._log.fault and connection is not None:
                connection.break_off(self._log.fault)

    async def _end(self) -> str | None:
        # Continues even if nobody waits any longer, because processes would otherwise be left.
        return await asyncio.shield(asyncio.ensure_future(self._end_all()))

    async def _end_all(self) -> str | None:
        connection, self._connection, self._session = self._connection, None, None
        left = None
        if self._client is not None:
            self._client.refuse()
        if self._cancelling is not None:
            with contextlib.suppress(Exception):  # whatever becomes of this request, the agent is ended next
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self._cancelling
        try:
            if connection is not None:  # first, so that whatever becomes of its terminals, the agent ends
                left = await connection.close()
                self.printed = connection.printed
        finally:
            try:
                if self._client is not None:
                    await self._client.close()
            finally:
                if self._temporary is not None:
                    await asyncio.to_thread(shutil.rmtree, self._temporary, ignore_errors=True)
        return left


@dataclass(frozen=True)
class AcpFactory:
    """Makes the agent of each run."""

    setting: AcpSetting
    get_reply_from_agent: ClassVar[Any] = AcpAgent.get_reply_from_agent
    """Shows that it is async, so that no run needs a thread."""
    ignores_config_var: ClassVar[bool] = True
    """Whether it takes nothing of `config_var` but permissions and MCP servers, which no setting can name."""

    def __call__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
        workspace: Path | None = None,
    ) -> AcpAgent:
        """Return the agent of a run; the task and `app_dir` are not for it."""
        return AcpAgent(self.setting, config_var, workspace)
