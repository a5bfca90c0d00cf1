"""The connector to agents behind HTTP: `http(s)://host/v1#model`, or an agent file with `connector: http`."""

from __future__ import annotations

from functools import partial
from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import Field

from viva.adapters.connectors.agent_file import AgentFile, ConnectorKeys
from viva.adapters.connectors.http.chat import ChatAgent
from viva.adapters.connectors.http.keys import key_for
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.errors import SetupError
from viva.models.address import shown_address, why_unreachable


class HttpKeys(ConnectorKeys):
    """The keys of an agent file with `connector: http`."""

    url: str = Field(min_length=1)
    """The address: `http(s)://host/v1`."""
    model: str | None = Field(default=None, min_length=1)
    """The model, by which the server knows the agent."""
    key_env: str | None = None
    """The name of the environment variable with the key. The default is `VIVA_AGENT_API_KEY`."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers of each request; `${NAME}` stands for the value of an environment variable."""


class HttpConnector:
    """Connects to an endpoint. Before the first exam, it only tests whether a server is listening."""

    keys: ClassVar[type[ConnectorKeys]] = HttpKeys

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Read the address and the model from a SPEC.

        Raises:
            SetupError: the SPEC names no host or no model, or contains a password, or its key cannot be sent.
        """
        url, _, model = spec.partition("#")
        if not model:
            shown = shown_address(spec)
            raise SetupError(f"{shown!r} does not name a model; write {shown.rstrip('#')}#MODEL.")
        _check_url(url, repr(shown_address(spec)))
        keys = HttpKeys(url=url, model=model)
        return self.load_file(AgentFile.of_spec(spec, keys), isolate=isolate, memory_mb=memory_mb)

    def load_file(self, file: AgentFile[HttpKeys], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Make an agent of the keys.

        Raises:
            SetupError: the address is none, or a key is missing or cannot be sent.
        """
        keys = file.keys
        if keys.model is None:
            raise file.mistake("model is missing: name one of the endpoint's models")
        if file.file is not None:
            _check_url(keys.url, f"{file.where('url')}: {shown_address(keys.url)!r}")
        key = file.secret(keys.key_env, "key_env") if keys.key_env is not None else key_for(keys.url)
        headers = {name: file.expanded(value, "headers", name) for name, value in keys.headers.items()}
        members = {"url": keys.url, "model": keys.model, "key": key, "headers": headers}
        factory = type("ChatAgent", (ChatAgent,), members)
        look_there = partial(look, keys.url)
        return LoadedAgent(file.spec, keys.model, factory, kind="http", model=keys.model, look=look_there)


async def look(url: str) -> None:
    """Test whether a server is listening at an address. An unclear result passes, because the first run will show it.

    Raises:
        SetupError: there is no such host, or nothing listens there.
    """
    if wrong := await why_unreachable(url):
        raise SetupError(
            f"the agent's endpoint {url} cannot be reached: {wrong}. Start it, or correct the address in --agent."
        )


def _check_url(url: str, shown: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        # The error quotes a part of the address, which may be one of a password.
        raise SetupError(f"{shown} is not an address: its host or port is invalid.") from None
    if not host or parts.scheme not in ("http", "https"):
        raise SetupError(f"{shown} names no host; write http://HOST/v1#MODEL.")
    if "@" in parts.netloc:
        # The SPEC is printed and recorded.
        raise SetupError("an agent's address must not contain a password or key; use VIVA_AGENT_API_KEY.")
