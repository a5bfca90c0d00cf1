"""Any of AutoGen's model clients as a `Model`: one attempt, without retries."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage
from openai import LengthFinishReasonError
from pydantic import BaseModel

from viva.errors import ModelAnswerError
from viva.models.address import shown_address, why_unreachable
from viva.models.answer import is_reasoning
from viva.models.autogen.kept_schema import with_kept_schema
from viva.models.autogen.messages import to_autogen
from viva.models.autogen.openai_clients import BoundedAzureClient, BoundedOpenAIClient, hear_usage
from viva.models.autogen.output_limit import OutputLimit
from viva.models.autogen.silenced import silence
from viva.models.bounded_http import own_error
from viva.models.metered_model import note_spent, spent_on
from viva.models.model import NO_LIMITS, CallLimits, Completion, FinishReason, ModelFeatures, ModelMessage
from viva.records.transcript import NO_USAGE, Usage

# AutoGen logs every call with its whole prompt at INFO, which must not appear in an application's root logger.
logging.getLogger("autogen_core").setLevel(logging.WARNING)
silence()

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "function_calls": "tool_calls",
}


class AutoGenModel:
    """A model behind a client of AutoGen's."""

    def __init__(
        self, client: ChatCompletionClient, name: str, limit: OutputLimit | None = None, address: str | None = None
    ) -> None:
        """Args:
        client: The client; `close` closes it.
        name: The model's name.
        limit: How the maximum number of output tokens is sent; None finds out by asking.
        address: The address of its server; None if it is not known.
        """
        self._limit = limit = limit or OutputLimit(type(client).__name__, {})
        self._client = client
        self._address = address
        self.name = name
        info = client.model_info
        self.features = ModelFeatures(
            vision=bool(info.get("vision", True)),
            structured=bool(info.get("structured_output", False)),
            output_tokens=limit.given,
        )

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        """Make one attempt. `limits.seconds` is left to the caller.

        Raises:
            ModelAnswerError: the model called a tool.
            Exception: what the client raises, with what the call has used.
        """
        heard = hear_usage()
        try:
            result = await self._create(to_autogen(messages), schema, limits)
        except LengthFinishReasonError as error:
            # The SDK does not return an incomplete answer to a question with a schema.
            return _cut_off(error, sum(heard, NO_USAGE))
        except Exception as error:
            found = own_error(error)
            note_spent(found, sum(heard, spent_on(found)))
            raise found from found.__cause__
        usage = sum(heard, NO_USAGE) if heard else _usage_of(result)
        if not isinstance(result.content, str):
            called = ModelAnswerError("the model called a tool, although it has none")
            note_spent(called, usage)
            raise called
        finish = _FINISH.get(result.finish_reason, "unknown")
        # Only of an answer that was cut off does anybody want to know.
        reasoned = finish == "length" and (
            bool(result.thought or usage.reasoning_tokens) or is_reasoning(result.content)
        )
        return Completion(result.content, usage=usage, finish=finish, reasoned=reasoned)

    async def _create(
        self, messages: Sequence[LLMMessage], schema: type[BaseModel] | None, limits: CallLimits
    ) -> CreateResult:
        """Ask the client, until the limit has a form that its provider accepts."""
        options: dict[str, Any] = {} if schema is None else {"json_output": with_kept_schema(schema)}
        further: dict[str, Any] = {}
        if limits.attempt_seconds is not None and isinstance(self._client, BoundedOpenAIClient | BoundedAzureClient):
            further["timeout"] = limits.attempt_seconds
        if limits.output_tokens is None:
            return await self._client.create(messages, **options, **_extra(further))
        sent = self._limit.first(limits.output_tokens)
        while True:
            try:
                arguments = _extra({**further, **self._limit.arguments(sent)})
                return await self._client.create(messages, **options, **arguments)
            except Exception as error:
                following = self._limit.after(error, sent)
                if following is None:
                    raise
                sent = following

    async def why_unusable(self) -> str:
        """Return why no question to the model can be answered, in words.

        The text is empty if the model can be used, and if only a question could show it.
        """
        client = self._client if isinstance(self._client, BoundedOpenAIClient) else None
        address = client.address if client is not None else self._address
        wrong = "" if address is None else await why_unreachable(address)
        if wrong:
            shown = shown_address(address or "")
            return f"its server {shown} cannot be reached: {wrong}. Start it, or correct the address."
        return "" if client is None else await client.why_refused(self.name)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _extra(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"extra_create_args": arguments} if arguments else {}


def _cut_off(error: LengthFinishReasonError, usage: Usage) -> Completion:
    """Return the incomplete answer that the SDK's error holds."""
    message = error.completion.choices[0].message
    reasoned = bool(usage.reasoning_tokens or (message.model_extra or {}).get("reasoning_content"))
    content = message.content or ""
    return Completion(content, usage=usage, finish="length", reasoned=reasoned or is_reasoning(content))


def _usage_of(result: CreateResult) -> Usage:
    """Return the usage that AutoGen reports for a provider's answer; without any tokens it is unknown."""
    given, made = result.usage.prompt_tokens, result.usage.completion_tokens
    return Usage(given, made, calls=1, reported=bool(given or made))
