"""The connector to agents behind an OpenAI-compatible chat endpoint: `http(s)://host/v1#model`."""

from __future__ import annotations

import asyncio
import os
import socket
import urllib.request
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.trace_context import current_traceparent
from viva.adapters.virtual_user import VirtualUser
from viva.errors import AgentError, ModelAnswerError, ModelError, ProtocolError, SetupError
from viva.models.prices import price
from viva.models.retry import RetryPolicy, explain, is_unreachable, status_of, with_retries
from viva.recordings.chat_messages import read_call, read_content
from viva.records.bounded_json import DoubledKey, UnfitJson, parse
from viva.records.text import one_line, storable
from viva.records.transcript import Reply, Step, StepKind, Usage

LONGEST_RESPONSE = 64 * 1024 * 1024
"""Maximum size of one decompressed response in bytes. The SDK has no limit, and the agent decides the size."""


DEFAULT_PORTS = {"http": 80, "https": 443}
LOOK_SECONDS = 5.0
"""Maximum duration of a connection that only tests whether a server is listening."""


class HttpConnector:
    """Connects to a chat endpoint. Before the first exam, it only tests whether a server is listening."""

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Read the address and the model from a SPEC.

        Raises:
            SetupError: the SPEC names no host or no model, or contains a password.
        """
        url, _, model = spec.partition("#")
        if not model:
            raise SetupError(f"{spec!r} does not name a model; write {url}#MODEL.")
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise SetupError(f"{spec!r} is not an address: {error}.") from error
        if not host:
            raise SetupError(f"{spec!r} names no host; write http://HOST/v1#MODEL.")
        if "@" in parts.netloc:
            # The SPEC is printed and recorded.
            raise SetupError("an agent's address must not contain a password or key; use VIVA_AGENT_API_KEY.")
        factory = type("ChatAgent", (ChatAgent,), {"url": url, "model": model})
        return LoadedAgent(spec, model, factory, kind="http", model=model, look=partial(look, url))


async def look(url: str) -> None:
    """Test whether a server is listening at an address. An unclear result passes, because the first run will show it.

    Raises:
        SetupError: there is no such host, or nothing listens there.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if urllib.request.getproxies().get(parts.scheme) and not urllib.request.proxy_bypass(host):
        return  # the proxy resolves the host, not this machine
    for wait in (0.0, 0.5):  # the server may have been started a moment ago
        await asyncio.sleep(wait)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                _, writer = await asyncio.open_connection(host, port)
            writer.close()
            return
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                return
            wrong = f"there is no host {host!r}"
        except ConnectionRefusedError:
            wrong = f"nothing listens at {host}:{port}"
        except (OSError, UnicodeError, TimeoutError):
            return
    raise SetupError(
        f"the agent's endpoint {url} cannot be reached: {wrong}. Start it, or correct the address in --agent."
    )


class ChatAgent(VirtualUser):
    """Keeps the history of one conversation and sends all of it with each message, as the protocol requires.

    The key is `VIVA_AGENT_API_KEY`; OpenAI's own key is sent only to OpenAI's own address.
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
        # No time-out of the SDK: the session's limit applies, which ends as `timeout` instead of a broken connection.
        http = DefaultAsyncHttpxClient(
            timeout=None, event_hooks={"request": [partial(_stay_on_host, self.url)], "response": [_read_bounded]}
        )
        self._client = AsyncOpenAI(
            base_url=self.url, api_key=_key_for(self.url), max_retries=0, timeout=None, http_client=http
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

        messages = [*self._messages, {"role": "user", "content": message}]
        try:
            answer, tokens = await with_retries(lambda: self._ask(messages), self._policy, retried)
        except (ModelError, ModelAnswerError) as error:
            raise self._error(str(error), error.__cause__) from error
        if refusal := answer.get("refusal"):
            # Also next to content: a provider that refuses may have begun another answer before.
            raise AgentError(f"the agent's model refused: {storable(str(refusal))}")
        text = storable(read_content(answer.get("content"))[0] or "")
        steps = self._steps(answer)
        if not text and not steps:
            raise AgentError("the answer of the agent's endpoint is empty")
        # Kept as plain text: tool calls without their results would make the next request invalid.
        self._messages = [*messages, {"role": "assistant", "content": text or "(tool calls only)"}]
        return Reply(text, steps, self._usage(tokens, retries))

    def _error(self, words: str, fault: BaseException | None) -> AgentError:
        """Return the error for a failure, with the variable to set if one is wrong."""
        status = None if fault is None else status_of(fault)
        hint = ""
        if status in (401, 403):
            hint = ". Set VIVA_AGENT_API_KEY to a key that it accepts"
        elif status == 404:
            hint = f". Check that --agent names its address and, after #, one of its models (now {self.model!r})"
        unavailable = fault is not None and is_unreachable(fault)
        return AgentError(f"the agent's endpoint {self.url} failed: {words}{hint}", unavailable=unavailable)

    async def _ask(self, messages: list[dict[str, Any]]) -> tuple[dict[str, Any], Any]:
        """Send one request; return the assistant's message as plain data, and the usage."""
        parent = current_traceparent()
        try:
            # Raw, because the SDK would build objects from every value on the event loop, without checking any.
            response = await self._client.chat.completions.with_raw_response.create(
                model=self.model,
                messages=messages,  # type: ignore[arg-type]
                extra_headers=None if parent is None else {"traceparent": parent},
            )
        except Exception as error:
            # The SDK treats exceptions of the hooks as network errors.
            if isinstance(error.__cause__, ModelAnswerError):
                raise error.__cause__ from None
            raise
        try:
            completion = await parse(response.http_response.content)
        except DoubledKey as error:
            raise ModelAnswerError(f"the response's JSON cannot be trusted: {error}") from error
        except UnfitJson as error:
            raise ProtocolError(_no_protocol(response.http_response.text, str(error))) from error
        return _message_of(completion)

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
        given, made = _count(tokens, "prompt_tokens"), _count(tokens, "completion_tokens")
        if given is None or made is None:
            return Usage.answered(given, made, retries=retries)
        cached = _count(tokens.get("prompt_tokens_details"), "cached_tokens")
        hidden = _count(tokens.get("completion_tokens_details"), "reasoning_tokens")
        cost = price(self.model, given, made, cached or 0)
        return Usage.answered(given, made, cached, hidden, retries=retries, cost=cost)


async def _read_bounded(response: Any) -> None:
    """Read a response before the SDK does.

    Raises:
        ModelAnswerError: the response is too long.
    """
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > LONGEST_RESPONSE:
            raise ModelAnswerError(f"the response is longer than {LONGEST_RESPONSE:,} bytes")
    response._content = b"".join(parts)  # where httpx stores what it has read


async def _stay_on_host(address: str, request: Any) -> None:
    """Refuse requests to another host or port than the agent's, because the user did not choose the server there.

    This sees each request as it will be sent, so no notation of a redirect can be read in two ways. A redirect from
    http to https on the same host is followed.

    Raises:
        ModelAnswerError: the request leads to another host or port.
    """
    asked, sent = urlsplit(address), request.url
    scheme, host = asked.scheme.lower(), asked.hostname
    port = asked.port or DEFAULT_PORTS.get(scheme)
    upgraded = ("https", host, 443) if (scheme, port) == ("http", 80) else None
    if (sent.scheme, sent.host, sent.port or DEFAULT_PORTS.get(sent.scheme)) not in ((scheme, host, port), upgraded):
        there = one_line(sent.netloc.decode("ascii", "backslashreplace"), 100)
        raise ModelAnswerError(f"it redirects to {there!r}, and redirects to other hosts are not followed")


def _no_protocol(text: str, fault: str) -> str:
    start = text.lstrip()[:20].lower()
    if start.startswith("<"):
        kind = "a web page"
    elif start.startswith(("data:", "event:")):
        kind = "an event stream, which was not asked for"
    else:
        kind = fault.removeprefix("it is ")
    return f"it is {kind}: {one_line(text, 80)!r} (most addresses end in /v1)"


def _message_of(completion: Any) -> tuple[dict[str, Any], Any]:
    """Return the assistant's message in a response, and the usage.

    Raises:
        ProtocolError: the response contains no message.
    """
    whole = completion if isinstance(completion, dict) else {}
    choices = whole.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        error = whole.get("error")
        raise ProtocolError("it has no message" + (f", but the error {one_line(str(error), 200)}" if error else ""))
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        raise ProtocolError(f"its content is {type(content).__name__} instead of text")
    return message, whole.get("usage")


def _count(holder: Any, name: str) -> int | None:
    """Return a number of tokens; None for an invalid or negative value."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _key_for(url: str) -> str:
    if key := os.environ.get("VIVA_AGENT_API_KEY"):
        return key
    own = urlsplit(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    asked = urlsplit(url)
    if (asked.scheme, asked.netloc) == (own.scheme, own.netloc):
        return os.environ.get("OPENAI_API_KEY") or "none"
    return "none"
