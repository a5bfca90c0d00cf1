"""The connector to agents that speak A2A: `a2a:http(s)://host`, or an agent file with `connector: a2a`."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from pydantic import Field

from viva.adapters.connectors.agent_file import AgentFile, ConnectorKeys
from viva.adapters.connectors.http.connector import check_url, look
from viva.adapters.connectors.http.keys import NO_KEY, key_for
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.errors import SetupError
from viva.models.address import shown_address


class A2aKeys(ConnectorKeys):
    """The keys of an agent file with `connector: a2a`."""

    url: str = Field(min_length=1)
    """The address of the agent, below which its card is; `${NAME}` stands for the value of an environment variable."""
    card_path: str | None = None
    """The path of the card, if it is not at the usual place."""
    endpoint: str | None = None
    """The address at which the agent is talked to, instead of what the card says."""
    stream: bool = True
    """Whether answers are streamed, if the agent can."""
    key_env: str | None = None
    """The name of the environment variable with the key. The default is `VIVA_AGENT_API_KEY`."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers of each request; `${NAME}` stands for the value of an environment variable."""


class A2aConnector:
    """Connects to an agent. Before the first exam, it only tests whether a server is listening."""

    keys: ClassVar[type[ConnectorKeys]] = A2aKeys

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Read the address from a SPEC.

        Raises:
            SetupError: the SPEC names no host or contains a password, its key cannot be sent, or the SDK is missing.
        """
        url = spec.partition(":")[2]
        check_url(url, repr(f"a2a:{shown_address(url)}"), "a2a:http://HOST")
        return self.load_file(AgentFile.of_spec(spec, A2aKeys(url=url)), isolate=isolate, memory_mb=memory_mb)

    def load_file(self, file: AgentFile[A2aKeys], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Make an agent of the keys.

        Raises:
            SetupError: an address is invalid, a key is missing or cannot be sent, or the SDK is missing.
        """
        try:
            from viva.adapters.connectors.a2a.agent import A2aAgent
        except ImportError as error:
            raise SetupError(
                f"agents that speak A2A require the package a2a-sdk ({error}). Install it: pip install 'vivavoce[a2a]'"
            ) from error
        keys = file.keys
        url = file.expanded(keys.url, "url")
        if file.file is not None:
            check_url(url, f"{file.where('url')}: {shown_address(url)!r}", "http://HOST")
        if keys.endpoint is not None:
            where = f"{file.where('endpoint')}: {shown_address(keys.endpoint)!r}"
            check_url(keys.endpoint, where, "http://HOST/PATH")
        headers = {name: file.expanded(value, "headers", name) for name, value in keys.headers.items()}
        key = file.secret(keys.key_env, "key_env") if keys.key_env is not None else key_for(url)
        if key != NO_KEY and not any(name.lower() == "authorization" for name in headers):
            headers["Authorization"] = f"Bearer {key}"
        members = {"url": url, "headers": headers, "card_path": keys.card_path, "endpoint": keys.endpoint}
        factory = type("A2aAgent", (A2aAgent,), {**members, "stream": keys.stream})
        return LoadedAgent(file.spec, file.label, factory, kind="a2a", look=partial(look, url))
