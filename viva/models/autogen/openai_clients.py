"""AutoGen's clients for OpenAI and Azure, with Viva's HTTP client: limited responses, checked before the SDK sees them.

What a response reports of its usage is noted when it arrives, because it is lost if the SDK then rejects the answer.
"""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

from autogen_ext.models.openai import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient

from viva.errors import ProtocolError
from viva.models.address import LOOK_SECONDS
from viva.models.bounded_answers import with_content
from viva.models.bounded_http import BoundedHttp
from viva.models.chat_protocol import ChatResponse, read_response
from viva.models.retry import cannot_change, explain, is_refused, status_of
from viva.records.bounded_json import LARGE, parse
from viva.records.transcript import Usage

_HEARD: ContextVar[list[Usage] | None] = ContextVar("_HEARD", default=None)


def hear_usage() -> list[Usage]:
    """Return a list that gets the usage of each response that arrives in this task, or in one that it starts."""
    heard: list[Usage] = []
    _HEARD.set(heard)
    return heard


class ChatHttp(BoundedHttp):
    """Checks each response to a chat request: the SDK builds objects from any JSON, and AutoGen trusts them."""

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send a request, and return its response, which has a message and sound numbers if it was successful.

        Raises:
            ProtocolError: the response does not follow the protocol.
            ModelAnswerError: the response is too long, or cannot be trusted.
            ModelError: the response redirects to another host or port.
        """
        response = await super().send(request, stream=stream, **options)
        if not response.is_success or request.method == "GET":
            return response
        found = await read_response(response.content)
        if isinstance(found.message.get("content"), list):
            raise ProtocolError("its content is a list instead of text")
        # The SDK runs in a task of its own, whose context is a copy of this one: both refer to the same list.
        heard = _HEARD.get()
        if heard is not None:
            heard.append(found.usage)
        small = len(response.content) <= LARGE
        return with_content(response, _sound(found) if small else await asyncio.to_thread(_sound, found))


class BoundedOpenAIClient(OpenAIChatCompletionClient):
    """AutoGen's client for OpenAI on `ChatHttp`."""

    component_provider_override = "viva.models.autogen.openai_clients.BoundedOpenAIClient"

    def __init__(self, **config: Any) -> None:
        """Args:
        config: As AutoGen's client takes it.
        """
        super().__init__(**{**config, "http_client": ChatHttp()})
        _send_messages_as_they_are(self._client)

    @property
    def address(self) -> str:
        """Return the address of the server."""
        return str(self._client.base_url)

    async def why_refused(self, model: str) -> str:
        """Return why the server refuses the key or does not have the model, in words.

        The text is empty if it has the model, and if only a question could show it: many servers do not list their
        models. One that lists others may have the model all the same, under an alias; it is then asked for one token.
        """
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                listed = await self._client.models.with_raw_response.list()
                names = await _names_in(listed.http_response.content)
        except Exception as error:
            if status_of(error) not in (401, 403):
                return explain(error) if status_of(error) is None and cannot_change(error) else ""
        else:
            if not names or model in names:
                return ""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._client.chat.completions.with_raw_response.create(
                    model=model, messages=[{"role": "user", "content": "Hi"}], max_tokens=1
                )
        except Exception as error:
            return explain(error) if is_refused(error) else ""
        return ""


def _send_messages_as_they_are(client: Any) -> None:
    """Keep the SDK from looking at each value of all earlier messages, on the event loop, in each round."""
    # AutoGen calls `client.beta.chat.completions.parse` for answers that have a schema. Since openai 2 that is another
    # instance of `client.chat`; importing the rest of `beta`, which nobody uses, takes half a second.
    client.__dict__["beta"] = SimpleNamespace(chat=client.chat)
    for name in ("create", "parse"):
        setattr(client.chat.completions, name, _with_messages_in_the_body(getattr(client.chat.completions, name)))


def _with_messages_in_the_body(method: Any) -> Any:
    async def send(*, messages: Any, extra_body: Any = None, **arguments: Any) -> Any:
        body = {**(extra_body or {}), "messages": list(messages)}
        return await method(messages=(), extra_body=body, **arguments)

    return send


async def _names_in(body: bytes) -> frozenset[str]:
    """Return the names of the models in a list that a server sent; none if it is not such a list."""
    whole = await parse(body)
    listed = whole.get("data") if isinstance(whole, dict) else None
    each = listed if isinstance(listed, list) else ()
    return frozenset(str(model["id"]) for model in each if isinstance(model, dict) and "id" in model)


class BoundedAzureClient(AzureOpenAIChatCompletionClient):
    """AutoGen's client for Azure on `ChatHttp`."""

    component_provider_override = "viva.models.autogen.openai_clients.BoundedAzureClient"

    def __init__(self, **config: Any) -> None:
        """Args:
        config: As AutoGen's client takes it.
        """
        super().__init__(**{**config, "http_client": ChatHttp()})
        _send_messages_as_they_are(self._client)


def _sound(found: ChatResponse) -> bytes:
    """Return a response with one choice and whole numbers, which AutoGen adds up."""
    used = found.usage
    usage = {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
    }
    return json.dumps({**found.body, "choices": found.body["choices"][:1], "usage": usage}).encode()
