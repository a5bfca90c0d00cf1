"""An agent behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

from viva.adapters.connectors.http.chat_stream import merged
from viva.adapters.connectors.http.event_streams import has_ended, is_stream
from viva.adapters.connectors.http.keys import key_for
from viva.adapters.trace_context import current_traceparent
from viva.adapters.virtual_user import VirtualUser
from viva.errors import AgentError, ModelAnswerError, ModelError
from viva.models.chat_protocol import read_response
from viva.models.prices import price
from viva.models.retry import RetryPolicy, explain, is_key_refused, is_unreachable, status_of, with_retries
from viva.recordings.chat_messages import read_call, read_content
from viva.records.bounded_json import LARGE
from viva.records.text import storable
from viva.records.transcript import Reply, Step, StepKind, Usage

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks for an event stream."""


class ChatAgent(VirtualUser):
    """Keeps the history of one conversation and sends all of it with each message, as the protocol requires.

    The key is `VIVA_AGENT_API_KEY`; OpenAI's own key is sent only to OpenAI's own address.
    """

    url: ClassVar[str] = ""
    model: ClassVar[str] = ""
    key: ClassVar[str | None] = None
    """The key; None for the one of the environment."""
    key_variable: ClassVar[str] = "VIVA_AGENT_API_KEY"
    """Where the key comes from, for messages."""
    headers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Further headers of each request."""
    stream: ClassVar[bool] = False
    """Whether to ask for event streams. An answer that is one is read in any case."""
    ignores_config_var: ClassVar[bool] = True

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
    ) -> None:
        from openai import AsyncOpenAI

        from viva.models.bounded_http import BoundedHttp

        super().__init__(task_description, app_dir, config_var)
        # No time-out of the SDK: the session's limit applies, which ends as `timeout` instead of a broken connection.
        self._http = BoundedHttp(timeout=None, stream_end=has_ended)
        self._client = AsyncOpenAI(
            base_url=self.url,
            api_key=self.key or key_for(self.url),
            max_retries=0,
            timeout=None,
            http_client=self._http,
            default_headers=dict(self.headers),
        )
        self._policy = RetryPolicy.from_environment()
        self._messages: list[dict[str, Any]] = []
        self._calls = 0

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Send the message and return the assistant's text; tool calls that it reports become steps.

        Raises:
            AgentError: the endpoint failed after retries, or its answer is empty.
        """
        retries = 0
        self._viva_fault = None

        def retried(fault: BaseException) -> None:
            nonlocal retries
            retries += 1
            self._viva_fault = self._error(explain(fault), fault)
            self._http.sent = self._was_sent

        messages = [*self._messages, {"role": "user", "content": message}]
        try:
            answer, used = await with_retries(lambda: self._ask(messages), self._policy, retried)
        except (ModelError, ModelAnswerError) as error:
            raise self._error(str(error), error.__cause__) from error
        finally:
            self._http.sent = None
        if refusal := answer.get("refusal"):
            # Also next to content: a provider that refuses may have begun another answer before.
            raise AgentError(f"the agent's model refused: {storable(str(refusal))}")
        text = storable(read_content(answer.get("content"))[0] or "")
        steps = self._steps(answer)
        if not text and not steps:
            raise AgentError("the answer of the agent's endpoint is empty")
        # Kept as plain text: tool calls without their results would make the next request invalid.
        self._messages = [*messages, {"role": "assistant", "content": text or "(tool calls only)"}]
        return Reply(text, steps, self._usage(used, retries))

    def _was_sent(self) -> None:
        self._viva_fault = None

    def _error(self, words: str, fault: BaseException | None) -> AgentError:
        """Return the error for a failure, with the variable to set if one is wrong."""
        status = None if fault is None else status_of(fault)
        hint = ""
        if fault is not None and is_key_refused(fault):
            hint = f". Set {self.key_variable} to a key that it accepts"
        elif status == 404:
            hint = f". Check that --agent names its address and, after #, one of its models (now {self.model!r})"
        unavailable = fault is not None and is_unreachable(fault)
        return AgentError(f"the agent's endpoint {self.url} failed: {words}{hint}", unavailable=unavailable)

    async def _ask(self, messages: list[dict[str, Any]]) -> tuple[Mapping[str, Any], Usage]:
        """Send one request; return the assistant's message as plain data, and the usage."""
        from viva.models.bounded_http import own_error

        parent = current_traceparent()
        try:
            # Raw, because the SDK would build objects from every value on the event loop, without checking any.
            response = await self._client.chat.completions.with_raw_response.create(
                model=self.model,
                messages=(),
                extra_headers=None if parent is None else {"traceparent": parent},
                # The SDK looks at each value of `messages`, on the event loop: a millisecond for each earlier message.
                extra_body={"messages": messages, **(STREAMED if self.stream else {})},
            )
        except Exception as error:
            found = own_error(error)
            raise found from found.__cause__
        body = response.http_response.content
        if is_stream(response.http_response.headers.get("content-type", ""), body):
            body = merged(body) if len(body) <= LARGE else await asyncio.to_thread(merged, body)
        completion = await read_response(body)
        return completion.message, completion.usage

    def save_state(self) -> dict[str, Any]:
        """Return the history, which is all that the endpoint knows of the conversation."""
        return {"messages": list(self._messages)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a stored history."""
        self._messages = list(state["messages"])

    def load_conversation(self, messages: Sequence[Mapping[str, str]]) -> None:
        """Continue from messages of which nobody was asked, a system message among them."""
        self._messages = [dict(message) for message in messages]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _steps(self, answer: Mapping[str, Any]) -> tuple[Step, ...]:
        self._calls += 1
        steps = []
        if thought := answer.get("reasoning_content") or answer.get("reasoning"):
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

    def _usage(self, used: Usage, retries: int) -> Usage:
        known = used.reported
        cost = price(self.model, used.input_tokens, used.output_tokens, used.cached_tokens) if known else None
        return replace(used, retries=retries, cost=cost)
