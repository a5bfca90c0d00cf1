"""A language model's client as Viva uses it: each call retried by one policy, counted, priced, its answer checked."""

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

from adapters.errors import ModelAnswerError, ModelError, SharedSetupError, WithheldError
from adapters.models.prices import LISTED, Prices
from adapters.models.retry import RetryPolicy, is_refused, status_of, with_retries
from adapters.models.silenced import silence
from records.codec import has_doubled_key
from records.text import storable
from records.transcript import NO_USAGE, Usage

MODEL_CALLS = 64
"""Calls to one provider that are under way at once, if nothing else is said."""
LONGEST_ANSWER = 200_000
"""Characters of one answer; an examiner's message and a judge's verdict are a few hundred."""

# What reasoning models put around their reasoning, where the server does not take it out.
THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))

# AutoGen logs every call with its whole prompt at INFO; it must not surface through an application's root logger.
logging.getLogger("autogen_core").setLevel(logging.WARNING)
silence()


@dataclass(slots=True)
class Traits:
    """What was learnt about a provider while using it, shared by all runs."""

    structured: bool
    """Whether it takes a schema for its answers; False once it has refused one."""
    slots: asyncio.Semaphore
    """Calls that may be under way at once."""
    answered: bool = False
    """Whether it ever answered anything."""
    hint: str = ""
    """Where key and address are set, in words."""
    prices: Prices = LISTED


class Model(ChatCompletionClient):
    """A model client with the one retry policy, that counts what it is used for.

    `for_run` gives each run a counter of its own on the same connections.
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
        """Where key and address are set, in words."""
        return self.traits.hint

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars for so many tokens; None where the price is not known."""
        return self.traits.prices.cost(self.name, input_tokens, output_tokens)

    def for_run(self) -> Model:
        """Make the same client with a fresh counter."""
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
        """One answer.

        Raises:
            ModelError: the provider failed after retries, or refused.
            ModelAnswerError: it answered with something unusable.
        """
        retries = 0

        def retried(_: BaseException) -> None:
            nonlocal retries
            retries += 1

        async def call() -> CreateResult:
            async with self.traits.slots:
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
            # It was answered, and will be charged; what it cost the SDK does not tell with its error.
            self.traits.answered = True
            self.usage += Usage(calls=1, retries=retries, cost=None)
            raise
        except BaseException as error:
            self.usage += Usage(retries=retries, cost=0.0)
            if isinstance(error, ModelError) and not self.traits.answered:
                self._check_setup(error, schema=isinstance(json_output, type))
            raise
        self.traits.answered = True
        self.usage += self._usage_of(result, retries)
        if not tools and not isinstance(result.content, str):
            raise ModelAnswerError("the model called a tool, and it was given none")
        if result.finish_reason == "length":
            raise ModelAnswerError("the answer was cut off at the model's token limit")
        if result.finish_reason == "content_filter":
            raise WithheldError("the provider's content filter withheld the answer")
        if isinstance(result.content, str):
            result.content = _checked(result.content, json_output=bool(json_output))
        return result

    def _check_setup(self, error: ModelError, *, schema: bool) -> None:
        """See that a provider that never answered anything does not refuse the key, the model or the address.

        Raises:
            SharedSetupError: it does.
        """
        cause = error.__cause__
        if cause is None or not is_refused(cause) or (schema and status_of(cause) == 404):
            return  # some answer a schema with 404; whoever asked goes on without one
        raise SharedSetupError(f"the model {self.name} cannot be used: {error} {self.hint}".rstrip()) from error

    def _usage_of(self, result: CreateResult, retries: int) -> Usage:
        tokens = result.usage
        known = tokens.prompt_tokens > 0 or tokens.completion_tokens > 0
        cost = self.cost(tokens.prompt_tokens, tokens.completion_tokens) if known else None
        return Usage(tokens.prompt_tokens, tokens.completion_tokens, calls=1, retries=retries, cost=cost)

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
        """Not offered: a stream that breaks off cannot be retried without showing its beginning twice."""
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
        """Deprecated in AutoGen; `model_info` is what it asks for."""
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        """Say what the model can do."""
        return self.client.model_info


def _checked(content: str, *, json_output: bool) -> str:
    if len(content) > LONGEST_ANSWER:
        raise ModelAnswerError(f"the answer is {len(content):,} characters long; {LONGEST_ANSWER:,} are allowed")
    # A lone surrogate could not be sent back to the model as part of the conversation.
    content = _without_thought(storable(content))
    if json_output and _doubled(content):
        raise ModelAnswerError("the answer's JSON has the same key twice")
    return content


def _without_thought(content: str) -> str:
    """An answer without the reasoning before it, which is neither a message nor a verdict.

    Some templates put the opening tag into the prompt, so that only the closing one is seen; it then ends its line.
    """
    answer = content.lstrip()
    for opening, closing in THOUGHTS:
        opened = answer.startswith(opening)
        _, closed, rest = answer.partition(closing)
        if closed and (opened or not rest.split("\n", 1)[0].strip()):
            return rest.lstrip()
        if opened:
            raise ModelAnswerError("the answer is a line of thought without an end")
    return content


def _doubled(content: str) -> bool:
    try:
        return has_doubled_key(content)
    except (ValueError, RecursionError):  # no JSON: AutoGen says so
        return False
