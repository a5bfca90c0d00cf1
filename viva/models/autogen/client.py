"""Any of AutoGen's model clients as a `Model`: one attempt, without retries."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient, CreateResult
from pydantic import BaseModel

from viva.errors import ModelAnswerError
from viva.models.address import shown_address, why_unreachable
from viva.models.autogen.messages import to_autogen
from viva.models.autogen.openai_clients import BoundedOpenAIClient, hear_usage
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

    def __init__(self, client: ChatCompletionClient, name: str, address: str | None = None) -> None:
        """Args:
        client: The client; `close` closes it.
        name: The model's name.
        address: The address of its server; None if it is not known.
        """
        self._client = client
        self._address = address
        self.name = name
        info = client.model_info
        self.features = ModelFeatures(
            vision=bool(info.get("vision", True)), structured=bool(info.get("structured_output", False))
        )

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        """Make one attempt. `limits.seconds` is left to the caller.

        Raises:
            ModelAnswerError: the model called a tool.
            Exception: what the client raises, with what the call has used.
        """
        options: dict[str, Any] = {} if schema is None else {"json_output": schema}
        if limits.output_tokens is not None:
            options["extra_create_args"] = {"max_tokens": limits.output_tokens}
        heard = hear_usage()
        try:
            result = await self._client.create(to_autogen(messages), **options)
        except Exception as error:
            found = own_error(error)
            note_spent(found, sum(heard, spent_on(found)))
            raise found from found.__cause__
        usage = sum(heard, NO_USAGE) if heard else _usage_of(result)
        if not isinstance(result.content, str):
            called = ModelAnswerError("the model called a tool, although it has none")
            note_spent(called, usage)
            raise called
        return Completion(result.content, usage=usage, finish=_FINISH.get(result.finish_reason, "unknown"))

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


def _usage_of(result: CreateResult) -> Usage:
    """Return the usage that AutoGen reports for a provider's answer; without any tokens it is unknown."""
    given, made = result.usage.prompt_tokens, result.usage.completion_tokens
    return Usage(given, made, calls=1, reported=bool(given or made))
