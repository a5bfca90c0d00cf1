"""A model gets all messages as they are, also where the SDK would look at each of their values first."""

from __future__ import annotations

from typing import Any

import pytest
from autogen_core.models import AssistantMessage, SystemMessage, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openai._utils import _transform
from pydantic import BaseModel

from tests.model_server import ModelServer
from viva.models.autogen.components import UNKNOWN_MODEL
from viva.models.autogen.openai_clients import BoundedAzureClient, BoundedOpenAIClient

AZURE = "/openai/deployments/m/chat/completions?api-version=2024-10-21"
MESSAGES = [
    SystemMessage(content="You examine."),
    UserMessage(content="Hello \u2028 \x00", source="agent"),
    AssistantMessage(content="Please go on.", source="examiner"),
]
SENT = [
    {"content": "You examine.", "role": "system"},
    {"content": "Hello \u2028 \x00", "role": "user", "name": "agent"},
    {"content": "Please go on.", "role": "assistant"},
]


class Word(BaseModel):
    word: str


def client(kind: str, url: str) -> Any:
    info = {**UNKNOWN_MODEL, "json_output": True, "structured_output": True}
    given = {"model": "m", "api_key": "unused", "model_info": info, "include_name_in_message": True}
    if kind != "azure":
        return (BoundedOpenAIClient if kind == "openai" else OpenAIChatCompletionClient)(base_url=url, **given)
    azure = {"azure_endpoint": url.removesuffix("/v1"), "azure_deployment": "m", "api_version": "2024-10-21"}
    return BoundedAzureClient(**azure, **given)


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages that the SDK looks into."""
    found: list[Any] = []
    look = _transform._async_transform_recursive

    async def looking(data: Any, **options: Any) -> Any:
        if isinstance(data, dict) and "role" in data:
            found.append(data)
        return await look(data, **options)

    monkeypatch.setattr(_transform, "_async_transform_recursive", looking)
    return found


@pytest.mark.parametrize("schema", [None, Word])
@pytest.mark.parametrize("kind", ["openai", "azure", "AutoGen's own"])
async def test_the_messages_are_sent_whole_and_not_walked_through(
    kind: str, schema: type[BaseModel] | None, walked: list[Any]
) -> None:
    with ModelServer({"m": '{"word": "hello"}'}, further_paths=[AZURE]) as server:
        asked = client(kind, server.url)
        try:
            further = {"extra_body": {"top_k": 7}}
            result = await asked.create(MESSAGES, json_output=schema, extra_create_args=further)
        finally:
            await asked.close()
        (request,) = server.requests
    assert result.content == '{"word": "hello"}'
    assert request.body["messages"] == SENT
    assert request.body["top_k"] == 7
    assert ("response_format" in request.body) == (schema is not None)
    assert bool(walked) == (kind == "AutoGen's own"), "without Viva's change, the SDK looks at each message"
