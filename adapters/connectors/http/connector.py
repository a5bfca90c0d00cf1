"""The connector to agents behind HTTP: `http(s)://host/v1#model`, or an agent file with `connector: http`."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field

from viva.adapters.connectors.agent_file import AgentFile, ConnectorKeys
from viva.adapters.connectors.http.chat import ChatAgent
from viva.adapters.connectors.http.json_api import JsonAgent, JsonApi
from viva.adapters.connectors.http.json_keys import (
    EventKeys,
    OpeningKeys,
    ReplyKeys,
    RequestKeys,
    sends,
    template_mistakes,
)
from viva.adapters.connectors.http.keys import NO_KEY, key_for
from viva.adapters.connectors.http.responses import ResponsesAgent
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.errors import SetupError
from viva.models.address import shown_address, why_unreachable
from viva.records.redact import redact


class HttpKeys(ConnectorKeys):
    """The keys of an agent file with `connector: http`."""

    url: str = Field(min_length=1)
    """The address: `http(s)://host/v1`; `${NAME}` stands for the value of an environment variable."""
    model: str | None = Field(default=None, min_length=1)
    """The model, by which the server knows the agent."""
    api: Literal["chat", "responses", "json"] | None = None
    """What the server speaks: OpenAI's chat protocol or Responses API, or JSON of its own, which the keys below
    describe. Without it, an address that ends in `/responses` is one of the Responses API, any other of chat."""
    stream: bool = False
    """Whether to ask for event streams. An API of its own is asked by its `request`."""
    key_env: str | None = None
    """The name of the environment variable with the key. The default is `VIVA_AGENT_API_KEY`."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers of each request; `${NAME}` stands for the value of an environment variable."""
    request: RequestKeys | None = None
    """How a message is sent."""
    reply: ReplyKeys | None = None
    """Where an answer holds the reply."""
    events: EventKeys | None = None
    """Which events make up the reply, if answers are event streams."""
    open: OpeningKeys | None = None
    """What is sent before the first message."""
    close: RequestKeys | None = None
    """What is sent after the last message."""


EXAMPLE = "http://HOST/v1#MODEL"
RESPONSES = "/responses"
JSON_KEYS = ("request", "reply", "events", "open", "close")
"""The keys of `api: json` alone."""


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
        check_url(url, repr(shown_address(spec)), EXAMPLE)
        keys = HttpKeys(url=url, model=model)
        return self.load_file(AgentFile.of_spec(spec, keys), isolate=isolate, memory_mb=memory_mb)

    def load_file(self, file: AgentFile[HttpKeys], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Make an agent of the keys.

        Raises:
            SetupError: the address is none, or a key is missing or cannot be sent.
        """
        keys = file.keys
        url = keys.url
        if file.file is not None:
            url = file.expanded(keys.url, "url")
            check_url(url, f"{file.where('url')}: {shown_address(url)!r}", EXAMPLE)
        _check_together(file)
        headers = {name: file.expanded(value, "headers", name) for name, value in keys.headers.items()}
        key = file.secret(keys.key_env, "key_env") if keys.key_env is not None else None
        look_there = partial(look, url)
        if keys.api == "json":
            factory = _json_agent(file, url, key, headers)
            return LoadedAgent(file.spec, file.label, factory, kind="http", model=keys.model, look=look_there)
        members = {"model": keys.model, "stream": keys.stream}
        if keys.api == "responses" or (keys.api is None and _is_responses(url)):
            there = url if _is_responses(url) else f"{url.rstrip('/')}{RESPONSES}"
            own: type = type(
                "ResponsesAgent", (ResponsesAgent,), {**members, "url": there, "headers": _with_key(headers, key, url)}
            )
        else:
            more = {"url": url, "key": key or key_for(url), "headers": headers}
            if keys.key_env is not None:
                more["key_variable"] = keys.key_env
            own = type("ChatAgent", (ChatAgent,), {**members, **more})
        return LoadedAgent(file.spec, keys.model or "", own, kind="http", model=keys.model, look=look_there)


def _is_responses(url: str) -> bool:
    return urlsplit(url).path.rstrip("/").endswith(RESPONSES)


def _with_key(headers: dict[str, str], key: str | None, url: str) -> dict[str, str]:
    """Return headers with the key, unless they have one of their own."""
    if any(name.lower() == "authorization" for name in headers):
        return headers
    key = key or key_for(url)
    return headers if key == NO_KEY else {**headers, "Authorization": f"Bearer {key}"}


def _check_together(file: AgentFile[HttpKeys]) -> None:
    """Check that the keys fit the API.

    Raises:
        SetupError: a key is missing, or belongs to another API.
    """
    keys = file.keys
    if keys.api != "json":
        if keys.model is None:
            raise file.mistake(
                "model is missing: name one of the endpoint's models, or add api: json for an API of its own"
            )
        for name in JSON_KEYS:
            if getattr(keys, name) is not None:
                raise file.mistake(f"{name} describes an API of its own; add api: json", name)
        return
    if keys.request is None:
        raise file.mistake("request is missing: say how a message is sent, with path and body", "api")
    if keys.stream:
        raise file.mistake(
            "stream is for the chat protocol; ask for a stream in request, and describe events", "stream"
        )
    requests = {"request": keys.request, "open": keys.open, "close": keys.close}
    wrong = [each for name, request in requests.items() if request for each in template_mistakes((name,), request)]
    for path, words in wrong:
        raise file.mistake(f"{'.'.join(map(str, path))} {words}", *path)
    if not sends(keys.request, "message", "messages"):
        raise file.mistake("request does not send the message; put {{ message }} into its body", "request")


def _json_agent(file: AgentFile[HttpKeys], url: str, key: str | None, headers: dict[str, str]) -> type[JsonAgent]:
    keys = file.keys
    assert keys.request is not None
    requests = {name: getattr(keys, name) for name in ("request", "open", "close")}
    for name, request in requests.items():
        if request is not None and request.headers:
            known = {each: file.expanded(text, name, "headers", each) for each, text in request.headers.items()}
            requests[name] = request.model_copy(update={"headers": known})
    api = JsonApi(url, reply=keys.reply or ReplyKeys(), events=keys.events, **requests)
    return type("JsonAgent", (JsonAgent,), {"api": api, "headers": _with_key(headers, key, url)})


async def look(url: str) -> None:
    """Test whether a server is listening at an address. An unclear result passes, because the first run will show it.

    Raises:
        SetupError: there is no such host, or nothing listens there.
    """
    if wrong := await why_unreachable(url):
        raise SetupError(
            f"the agent's endpoint {shown_address(url)} cannot be reached: {redact(wrong)}. Start it, or correct the "
            "address in --agent."
        )


def check_url(url: str, shown: str, example: str) -> None:
    """Check that a text is an address without a password.

    Args:
        url: The text.
        shown: Its place, and the text without a password, for messages.
        example: What an address looks like.

    Raises:
        SetupError: it is none, or contains a password.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        # The error quotes a part of the address, which may be one of a password.
        raise SetupError(f"{shown} is not an address: its host or port is invalid.") from None
    if not host or parts.scheme not in ("http", "https"):
        raise SetupError(f"{shown} names no host; write {example}.")
    if "@" in parts.netloc:
        # The SPEC is printed and recorded.
        raise SetupError("an agent's address must not contain a password or key; use VIVA_AGENT_API_KEY.")
