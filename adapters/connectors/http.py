"""The door to an agent behind an OpenAI-compatible chat endpoint: `http(s)://host/v1#model`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from adapters.chat_messages import read_call, read_content
from adapters.errors import AgentError, ModelAnswerError, ModelError, ProtocolError
from adapters.models.prices import price
from adapters.models.retry import RetryPolicy, with_retries
from adapters.virtual_user import VirtualUser
from records.text import one_line, storable
from records.transcript import NO_USAGE, Reply, Step, StepKind, Usage

LONGEST_RESPONSE = 64 * 1024 * 1024
"""Bytes of one response, unpacked: the SDK would read whatever comes, and the agent decides how much that is."""


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
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        super().__init__(task_description, app_dir, config_var)
        # No SDK time-out: the session's limit for one reply holds, and says `timeout` instead of a broken connection.
        http = DefaultAsyncHttpxClient(timeout=None, event_hooks={"response": [_read_bounded]})
        self._client = AsyncOpenAI(
            base_url=self.url, api_key=_key_for(self.url), max_retries=0, timeout=None, http_client=http
        )
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
        try:
            answer, tokens = await with_retries(lambda: self._ask(messages), self._policy, retried)
        except (ModelError, ModelAnswerError) as error:
            raise AgentError(f"the agent's endpoint {self.url} failed: {error}") from error
        content = answer.get("content")
        if content is not None and not isinstance(content, str | list):
            raise AgentError(f"the agent's endpoint answered with {type(content).__name__} instead of text")
        text = storable(read_content(content)[0] or "")
        steps = self._steps(answer)
        if not text and not steps:
            refusal = answer.get("refusal")
            raise AgentError(f"the agent's endpoint answered with nothing{f' ({refusal})' if refusal else ''}")
        # Kept as plain words: tool calls without their results would make the next request invalid.
        self._messages = [*messages, {"role": "assistant", "content": text or "(tool calls only)"}]
        return Reply(text, steps, self._usage(tokens, retries))

    async def _ask(self, messages: list[dict[str, Any]]) -> tuple[dict[str, Any], Any]:
        """One request. Returns the assistant's message as plain data, and the usage."""
        try:
            completion = await self._client.chat.completions.create(model=self.model, messages=messages)  # type: ignore[arg-type]
        except Exception as error:
            if isinstance(
                error.__cause__, ModelAnswerError
            ):  # `_read_bounded`'s, which the SDK takes for the network's
                raise error.__cause__ from None
            raise
        return _message_of(completion), completion.usage

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _steps(self, answer: Mapping[str, Any]) -> tuple[Step, ...]:
        self._calls += 1
        steps = []
        if thought := answer.get("reasoning_content"):
            steps.append(Step(f"m{self._calls}.think", StepKind.THINK, thought=str(thought), model=self.model))
        calls, legacy = answer.get("tool_calls"), answer.get("function_call")
        made = [*(calls if isinstance(calls, list) else ()), *([legacy] if legacy is not None else ())]
        for index, draft in enumerate(map(read_call, made), 1):
            name = draft.attributes.pop("tool_call_id", None) or f"m{self._calls}.{index}"
            steps.append(
                Step(
                    str(name),
                    StepKind.TOOL,
                    tool=draft.tool,
                    tool_input=draft.tool_input,
                    model=self.model,
                    attributes=draft.attributes,
                )
            )
        return tuple(steps)

    def _usage(self, tokens: Any, retries: int) -> Usage:
        if tokens is None:
            return NO_USAGE + Usage(calls=1, retries=retries, cost=None)
        cached = _count(getattr(tokens, "prompt_tokens_details", None), "cached_tokens")
        hidden = _count(getattr(tokens, "completion_tokens_details", None), "reasoning_tokens")
        given, made = _count(tokens, "prompt_tokens"), _count(tokens, "completion_tokens")
        return Usage(given, made, cached, hidden, 1, retries, price(self.model, given, made, cached))


async def _read_bounded(response: Any) -> None:
    """Reads a response before the SDK does.

    Raises:
        ModelAnswerError: it is too long.
    """
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > LONGEST_RESPONSE:
            raise ModelAnswerError(f"the response is longer than {LONGEST_RESPONSE:,} bytes")
    response._content = b"".join(parts)  # where httpx keeps what it has read


def _message_of(completion: Any) -> dict[str, Any]:
    """The assistant's message in what the SDK made of a response, which it does not check.

    Raises:
        ProtocolError: there is none.
    """
    if isinstance(completion, str):
        start = completion.lstrip()[:20].lower()
        kind = "an event stream, which was not asked for" if start.startswith(("data:", "event:")) else "no JSON"
        kind = "a web page" if start.startswith("<") else kind
        raise ProtocolError(f"it is {kind}: {one_line(completion, 80)!r}")
    choices = getattr(completion, "choices", None)
    message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
    if message is None or not hasattr(message, "model_dump"):
        error = getattr(completion, "error", None)
        raise ProtocolError("it holds no message" + (f", but the error {one_line(str(error), 200)}" if error else ""))
    plain: dict[str, Any] = message.model_dump(exclude_unset=True, warnings=False)
    return plain


def _count(holder: Any, name: str) -> int:
    """A number of tokens; what is none, or below 0, counts as 0."""
    value = getattr(holder, name, None)
    return value if isinstance(value, int) and value > 0 else 0


def _key_for(url: str) -> str:
    if key := os.environ.get("VIVA_AGENT_API_KEY"):
        return key
    own = urlsplit(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    asked = urlsplit(url)
    if (asked.scheme, asked.netloc) == (own.scheme, own.netloc):
        return os.environ.get("OPENAI_API_KEY") or "none"
    return "none"
