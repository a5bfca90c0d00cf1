"""The client of a language model: it retries calls by one policy, counts and prices them, and checks the answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, ModelInfo, RequestUsage
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from viva.errors import ModelAnswerError, ModelError, SharedSetupError, WithheldError
from viva.models.cached import cached_tokens
from viva.models.prices import LISTED, Prices
from viva.models.retry import RetryPolicy, is_refused, status_of, with_retries
from viva.models.silenced import silence
from viva.records.codec import has_doubled_key
from viva.records.text import storable
from viva.records.transcript import NO_USAGE, Usage

MODEL_CALLS = 64
"""Default of the maximum number of concurrent calls to one provider."""
LONGEST_ANSWER = 200_000
"""Maximum number of characters of one answer; an examiner's message or a judge's verdict has a few hundred."""

# The tags around the reasoning of models, if the server does not remove it.
THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))

# AutoGen logs every call with its whole prompt at INFO, which must not appear in an application's root logger.
logging.getLogger("autogen_core").setLevel(logging.WARNING)
silence()


@dataclass(slots=True)
class Traits:
    """What was learnt about a provider during use; all runs share it."""

    structured: bool
    """Whether it accepts a schema for its answers; False after it has refused one."""
    slots: asyncio.Semaphore
    """Limits the number of concurrent calls."""
    answered: bool = False
    """Whether it has ever answered."""
    hint: str = ""
    """Where the key and the address are set, in words."""
    prices: Prices = LISTED
    """The prices that the user gave."""


class Model(ChatCompletionClient):
    """A model client that retries calls and counts its usage.

    `for_run` returns a client with its own counter for each run, on the same connections.
    """

    component_type = "model"

    def __init__(
        self,
        client: ChatCompletionClient,
        name: str,
        policy: RetryPolicy | None = None,
        traits: Traits | None = None,
    ) -> None:
        self.client = client
        self.name = name
        self.policy = policy or RetryPolicy.from_environment()
        self.traits = traits or Traits(
            bool(client.model_info.get("structured_output", False)), asyncio.Semaphore(MODEL_CALLS)
        )
        self.usage = NO_USAGE

    @property
    def hint(self) -> str:
        """Return where the key and the address are set, in words."""
        return self.traits.hint

    def cost(self, input_tokens: int, output_tokens: int, cached: int = 0) -> float | None:
        """US dollars for so many tokens, `cached` of the input from the provider's cache; None if not known."""
        return self.traits.prices.cost(self.name, input_tokens, output_tokens, cached)

    def for_run(self) -> Model:
        """Return the same client with a new counter."""
        return Model(self.client, self.name, self.policy, self.traits)

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """Return one answer.

        Raises:
            ModelError: the provider failed after retries, or refused.
            ModelAnswerError: the answer is not usable.
        """
        retries = 0
        cached: list[int] = []

        def retried(_: BaseException) -> None:
            nonlocal retries
            retries += 1

        async def call() -> CreateResult:
            nonlocal cached
            async with self.traits.slots:
                with cached_tokens() as cached:
                    return await self.client.create(
                        messages,
                        tools=tools,
                        tool_choice=tool_choice,
                        json_output=json_output,
                        extra_create_args=extra_create_args,
                        cancellation_token=cancellation_token,
                    )

        try:
            result = await with_retries(call, self.policy, retried)
        except ModelAnswerError:
            # The call was answered and will be charged, but the SDK's error does not contain its cost.
            self.traits.answered = True
            self.usage += Usage(calls=1, retries=retries, cost=None)
            raise
        except BaseException as error:
            self.usage += Usage(retries=retries, cost=0.0)
            if isinstance(error, ModelError) and not self.traits.answered:
                self._check_setup(error, schema=isinstance(json_output, type))
            raise
        self.traits.answered = True
        self.usage += self._usage_of(result, retries, sum(cached))
        if not tools and not isinstance(result.content, str):
            raise ModelAnswerError("the model called a tool, although it has none")
        if result.finish_reason == "length":
            raise ModelAnswerError("the answer was cut off at the model's token limit")
        if result.finish_reason == "content_filter":
            raise WithheldError("the provider's content filter withheld the answer")
        if isinstance(result.content, str):
            result.content = _checked(result.content, json_output=bool(json_output))
        return result

    def _check_setup(self, error: ModelError, *, schema: bool) -> None:
        """Check that a provider that has never answered does not refuse the key, the model or the address.

        Raises:
            SharedSetupError: the provider refuses one of them.
        """
        cause = error.__cause__
        if cause is None or not is_refused(cause) or (schema and status_of(cause) == 404):
            return  # some providers answer a schema with 404; the caller then tries without one
        raise SharedSetupError(f"the model {self.name} cannot be used: {error} {self.hint}".rstrip()) from error

    def _usage_of(self, result: CreateResult, retries: int, cached: int) -> Usage:
        given, made = result.usage.prompt_tokens, result.usage.completion_tokens
        cached = max(0, min(cached, given))
        cost = self.cost(given, made, cached) if given > 0 or made > 0 else None
        return Usage(given, made, cached, calls=1, retries=retries, cost=cost)

    def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Raise NotImplementedError: an interrupted stream cannot be retried without repeating its beginning."""
        raise NotImplementedError("Viva's model clients do not stream")

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

    def actual_usage(self) -> RequestUsage:
        """AutoGen's counter of the client."""
        return self.client.actual_usage()

    def total_usage(self) -> RequestUsage:
        """AutoGen's counter of the client."""
        return self.client.total_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Report usage as the client counts it."""
        return self.client.count_tokens(messages, tools=tools)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Report usage as the client counts it."""
        return self.client.remaining_tokens(messages, tools=tools)

    @property
    def capabilities(self) -> Any:
        """Return the model's capabilities; deprecated in AutoGen in favour of `model_info`."""
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        """Return the model's capabilities."""
        return self.client.model_info


def _checked(content: str, *, json_output: bool) -> str:
    if len(content) > LONGEST_ANSWER:
        raise ModelAnswerError(f"the answer is {len(content):,} characters long; the maximum is {LONGEST_ANSWER:,}")
    # A lone surrogate could not be sent back to the model as part of the conversation.
    content = _without_thought(storable(content))
    if json_output and _doubled(content):
        raise ModelAnswerError("the answer's JSON has a duplicate key")
    return content


def _without_thought(content: str) -> str:
    """Return an answer without the reasoning before it, which is neither a message nor a verdict.

    Some templates put the opening tag into the prompt, so that only the closing tag is seen, at the end of its line.
    """
    answer = content.lstrip()
    for opening, closing in THOUGHTS:
        opened = answer.startswith(opening)
        _, closed, rest = answer.partition(closing)
        if closed and (opened or not rest.split("\n", 1)[0].strip()):
            return rest.lstrip()
        if opened:
            raise ModelAnswerError("the answer contains only unfinished reasoning")
    return content


def _doubled(content: str) -> bool:
    try:
        return has_doubled_key(content)
    except (ValueError, RecursionError):  # not JSON, which AutoGen reports
        return False
