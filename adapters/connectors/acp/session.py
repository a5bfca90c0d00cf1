"""One session with an agent: initializes the connection, opens, forks and loads sessions, and sends messages."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acp.meta import AGENT_METHODS, PROTOCOL_VERSION

from viva.adapters.connectors.acp.client import SessionClient
from viva.adapters.connectors.acp.connection import AUTH_REQUIRED, AgentConnection, RefusedRequest
from viva.adapters.connectors.acp.keys import AcpSetting
from viva.errors import AgentError
from viva.records.redact import redacted_line
from viva.version import viva_version

NOT_THERE = (-32002, -32601)
"""The codes of the errors for a session, and for a method, that does not exist."""


class AuthenticationNeeded(AgentError):
    """The agent requires authentication; the message says which methods it offers."""


class AcpSession:
    """A session of an agent in a folder. `open` it, then `ask` it."""

    def __init__(self, connection: AgentConnection, client: SessionClient, setting: AcpSetting, folder: Path) -> None:
        """Args:
        connection: The connection to the agent's program.
        client: Serves the session.
        setting: The agent's setting.
        folder: The session's working directory, absolute.
        """
        self._connection = connection
        self._client = client
        self._setting = setting
        self._folder = str(folder)
        self._servers: list[dict[str, Any]] = []
        self._offered: Mapping[str, Any] = {}
        self._methods: list[Any] = []
        self.info: Mapping[str, Any] = {}
        """The agent's name and version, as it says."""
        self.prompts = 0
        """Number of messages of the user in the session."""

    async def initialize(self) -> None:
        """Agree with the agent on the protocol's version, and authenticate if the setting says how.

        Raises:
            AgentError: the agent speaks another version, or refuses.
        """
        answer = await self._connection.ask(
            AGENT_METHODS["initialize"],
            {
                "protocolVersion": PROTOCOL_VERSION,
                "clientCapabilities": self._client.capabilities,
                "clientInfo": {"name": "viva", "title": "Viva", "version": viva_version()},
            },
        )
        version = answer.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            raise AgentError(
                f"it speaks version {version!r:.50} of the Agent Client Protocol, and Viva version {PROTOCOL_VERSION}. "
                "Use a release of the agent, or of Viva, that speaks the same"
            )
        self._offered = _mapping(answer, "agentCapabilities")
        self.info = _mapping(answer, "agentInfo")
        methods = answer.get("authMethods")
        self._methods = methods if isinstance(methods, list) else []
        if self._setting.keys.authenticate is not None:
            await self._ask("authenticate", {"methodId": self._setting.keys.authenticate})

    async def open(self, servers: list[Any]) -> None:
        """Begin a new session.

        Args:
            servers: The case's MCP servers, as in `config_var`.

        Raises:
            AuthenticationNeeded: the agent requires authentication first.
            AgentError: the agent refuses.
        """
        self._servers = [_server(each, http=self._offers("mcpCapabilities", "http")) for each in servers]
        await self._enter(await self._ask("session_new", self._place()))

    async def ask(self, message: str) -> Mapping[str, Any]:
        """Send a message of the user; return the agent's answer, which it gives when its turn has ended.

        Raises:
            AgentError: the agent refuses, or is gone.
        """
        prompt = [{"type": "text", "text": message}]
        answer = await self._ask("session_prompt", {"sessionId": self._client.session, "prompt": prompt})
        self.prompts += 1
        return answer

    async def cancel(self) -> None:
        """Ask the agent to end its turn."""
        await self._connection.notify(AGENT_METHODS["session_cancel"], {"sessionId": self._client.session})

    async def save(self) -> dict[str, Any] | None:
        """Return what `load` continues from; None if the agent offers nothing for that.

        It is a fork of the session, so that what is said from now on does not change it. An agent that can only load
        or resume sessions is given its own back, and `load` finds out whether more was said in it.
        """
        if self._offers("sessionCapabilities", "fork"):
            forked = await self._ask("session_fork", {"sessionId": self._client.session, **self._place()})
            return {"session": str(forked.get("sessionId")), "prompts": self.prompts}
        if self._offered.get("loadSession") is True:
            return {"session": self._client.session, "prompts": self.prompts}
        resumes = self._offers("sessionCapabilities", "resume")
        if resumes and (changed := await self._changed(self._client.session)) is not None:
            return {"session": self._client.session, "prompts": self.prompts, "changed": changed}
        return None

    async def load(self, state: Mapping[str, Any]) -> None:
        """Continue from what `save` returned, in a session of its own if the agent can fork.

        Raises:
            NotImplementedError: the agent offers no way to do so, or would go on in the folder of the stored session.
            AgentError: it refuses.
        """
        stored, prompts = state.get("session"), state.get("prompts")
        if not isinstance(stored, str) or not isinstance(prompts, int):
            raise AgentError("the state is not one of a session of the Agent Client Protocol")
        request = {"sessionId": stored, **self._place()}
        if self._offers("sessionCapabilities", "fork"):
            forked = await self._ask("session_fork", request)
            await self._check_folder(forked.get("sessionId"))
            await self._enter(forked)
        elif self._offered.get("loadSession") is True:
            # Its history is repeated in updates, which are not the agent's reply to anything.
            before, self._client.session, self._client.user_messages = self._client.session, None, 0
            answer = await self._enter_again("session_load", request)
            if self._client.user_messages != prompts:
                self._client.session = before
                raise NotImplementedError  # more was said in it since, and it cannot be forked
            await self._enter({"sessionId": stored, **answer})
        elif self._offers("sessionCapabilities", "resume"):
            # Its history is not repeated, so only the time of its last change tells whether more was said in it.
            if state.get("changed") is None or await self._changed(stored) != state["changed"]:
                raise NotImplementedError
            answer = await self._enter_again("session_resume", request)
            await self._check_folder(stored)
            await self._enter({"sessionId": stored, **answer})
        else:
            raise NotImplementedError
        self.prompts = prompts

    async def _enter_again(self, method: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return await self._ask(method, request)
        except RefusedRequest as error:
            if error.code not in NOT_THERE:
                raise
            raise NotImplementedError from error  # some agents keep sessions only for the folder they were in

    async def _check_folder(self, session: object) -> None:
        """Check where a forked session is: some agents leave it in the folder of the original, whatever they are asked.

        There it would work in the files of another run, if that folder is still there.
        """
        folder = (await self._listed(session)).get("cwd")
        if isinstance(folder, str) and os.path.realpath(folder) != os.path.realpath(self._folder):
            raise NotImplementedError

    async def _changed(self, session: object) -> str | None:
        """Return when a session last changed, as the agent says it; None if it does not say."""
        when = (await self._listed(session)).get("updatedAt")
        return when if isinstance(when, str) and when else None

    async def _listed(self, session: object) -> Mapping[str, Any]:
        """Return what the agent's list of sessions says about one; nothing if it offers none, or does not list it."""
        if self._offers("sessionCapabilities", "list"):
            with contextlib.suppress(RefusedRequest):
                # Without a folder in the request: agents asked for those in a folder may name that one for all.
                listed = (await self._ask("session_list", {})).get("sessions")
                for each in listed if isinstance(listed, list) else ():
                    if isinstance(each, Mapping) and each.get("sessionId") == session:
                        return each
        return {}

    async def _enter(self, answer: Mapping[str, Any]) -> None:
        session = answer.get("sessionId")
        if not isinstance(session, str) or not session:
            raise AgentError("it named no session")
        self._client.session = session
        if self._setting.keys.mode is not None:
            await self._ask("session_set_mode", {"sessionId": session, "modeId": self._setting.keys.mode})
        for name, value in self._setting.keys.options.items():
            request = {"sessionId": session, "configId": name, "value": value}
            await self._ask(
                "session_set_config_option", request | ({"type": "boolean"} if value in (True, False) else {})
            )

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return await self._connection.ask(AGENT_METHODS[method], params)
        except RefusedRequest as error:
            if error.code != AUTH_REQUIRED:
                raise
            raise AuthenticationNeeded(f"{error}. {self._ways_to_authenticate()}") from error

    def _ways_to_authenticate(self) -> str:
        ways = []
        for method in self._methods:
            if isinstance(method, Mapping):
                description = method.get("description") or method.get("name") or ""
                ways.append(redacted_line(f"{method.get('id')}: {description}", 200))
        if not ways:
            return "It requires authentication and offers no method for it: log in with its own command first"
        return (
            "It requires authentication: log in with its own command first, or write an agent file with the key "
            f"authenticate and one of its methods ({'; '.join(ways)})"
        )

    def _place(self) -> dict[str, Any]:
        return {"cwd": self._folder, "mcpServers": self._servers}

    def _offers(self, group: str, name: str) -> bool:
        value = _mapping(self._offered, group).get(name)
        return value is not None and value is not False


def _mapping(answer: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = answer.get(key)
    return value if isinstance(value, Mapping) else {}


def _server(server: Mapping[str, Any], *, http: bool) -> dict[str, Any]:
    """Return an MCP server of the case as the protocol names it: by its address if the agent can reach that."""
    if http and server.get("url"):
        return {"type": "http", "name": server["name"], "url": server["url"], "headers": []}
    return {"name": server["name"], "command": server["command"], "args": list(server.get("args") or ()), "env": []}
