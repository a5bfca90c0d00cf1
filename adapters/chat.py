"""The door to an agent behind an OpenAI-compatible chat endpoint: `http(s)://host/v1#model`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from adapters.errors import AgentError, ModelAnswerError, ModelError
from adapters.prices import price
from adapters.retry import RetryPolicy, with_retries
from adapters.virtual_user import VirtualUser
from records.transcript import NO_USAGE, Reply, Step, StepKind, Usage


class ChatAgent(VirtualUser):
    """Holds the history of one conversation and sends it whole with each message, as the protocol wants.

    The key is `VIVA_AGENT_API_KEY`; OpenAI's own key goes to OpenAI's own address only.
    """

    url: ClassVar[str] = ""
    model: ClassVar[str] = ""

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
    ) -> None:
        from openai import AsyncOpenAI

        super().__init__(task_description, app_dir, config_var)
        # No SDK time-out: the session's limit for one reply holds, and says `timeout` instead of a broken connection.
        self._client = AsyncOpenAI(base_url=self.url, api_key=_key_for(self.url), max_retries=0, timeout=None)
        self._policy = RetryPolicy.from_environment()
        self._messages: list[dict[str, Any]] = []
        self._calls = 0

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Send the message, return the assistant's words; tool calls it reports become steps.

        Raises:
            AgentError: the endpoint failed after retries, or answered with nothing.
        """
        retries = 0

        def retried() -> None:
            nonlocal retries
            retries += 1

        messages = [*self._messages, {"role": "user", "content": message}]

        async def call() -> Any:
            completion = await self._client.chat.completions.create(model=self.model, messages=messages)  # type: ignore[arg-type]
            message = completion.choices[0].message
            return message, message.content or "", completion.usage

        try:
            answer, text, tokens = await with_retries(call, self._policy, retried)
        except (ModelError, ModelAnswerError) as error:
            raise AgentError(f"the agent's endpoint {self.url} failed: {error}") from error
        if not isinstance(text, str):
            raise AgentError(f"the agent's endpoint answered with {type(text).__name__} instead of text")
        steps = self._steps(answer)
        if not text and not steps:
            refusal = getattr(answer, "refusal", None)
            raise AgentError(f"the agent's endpoint answered with nothing{f' ({refusal})' if refusal else ''}")
        # Kept as plain words: tool calls without their results would make the next request invalid.
        self._messages = [*messages, {"role": "assistant", "content": text or "(tool calls only)"}]
        return Reply(text, steps, self._usage(tokens, retries))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _steps(self, answer: Any) -> tuple[Step, ...]:
        self._calls += 1
        steps = []
        if thought := getattr(answer, "reasoning_content", None):
            steps.append(Step(f"m{self._calls}.think", StepKind.THINK, thought=str(thought), model=self.model))
        for index, call in enumerate(answer.tool_calls or (), 1):
            function = getattr(call, "function", None)
            steps.append(
                Step(
                    call.id or f"m{self._calls}.{index}",
                    StepKind.TOOL,
                    tool=getattr(function, "name", None) or call.type,
                    tool_input=_arguments(getattr(function, "arguments", None)),
                    model=self.model,
                )
            )
        return tuple(steps)

    def _usage(self, tokens: Any, retries: int) -> Usage:
        if tokens is None:
            return NO_USAGE + Usage(calls=1, retries=retries, cost=None)
        details = getattr(tokens, "prompt_tokens_details", None)
        cached = getattr(details, "cached_tokens", None) or 0
        hidden = getattr(getattr(tokens, "completion_tokens_details", None), "reasoning_tokens", None) or 0
        given, made = getattr(tokens, "prompt_tokens", None) or 0, getattr(tokens, "completion_tokens", None) or 0
        return Usage(given, made, cached, hidden, 1, retries, price(self.model, given, made, cached))


def _arguments(text: str | None) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def _key_for(url: str) -> str:
    if key := os.environ.get("VIVA_AGENT_API_KEY"):
        return key
    own = urlsplit(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    asked = urlsplit(url)
    if (asked.scheme, asked.netloc) == (own.scheme, own.netloc):
        return os.environ.get("OPENAI_API_KEY") or "none"
    return "none"
