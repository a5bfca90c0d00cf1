"""Vercel's AI SDK (`ai.*`): https://ai-sdk.dev/docs/ai-sdk-core/telemetry lists the spans and their attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from viva.recordings.spans.conventions.convention import Convention, SpanContent
from viva.recordings.spans.conventions.written_values import objects, read_json, read_list, read_object, written

_OPERATION = "ai.operationId"
_WHOLE = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_USAGE = {
    "gen_ai.usage.input_tokens": ("ai.usage.inputTokens", "ai.usage.promptTokens"),
    "gen_ai.usage.output_tokens": ("ai.usage.outputTokens", "ai.usage.completionTokens"),
    "gen_ai.usage.cache_read.input_tokens": (
        "ai.usage.cachedInputTokens",
        "ai.usage.inputTokenDetails.cacheReadTokens",
    ),
    "gen_ai.usage.cache_creation.input_tokens": ("ai.usage.inputTokenDetails.cacheWriteTokens",),
    "gen_ai.usage.reasoning.output_tokens": (
        "ai.usage.reasoningTokens",
        "ai.usage.outputTokenDetails.reasoningTokens",
    ),
}


def translate(content: SpanContent) -> SpanContent:
    """Return the span of a tool, of a model call, or of the whole generation around them."""
    attributes = content.attributes
    operation = str(attributes.get(_OPERATION) or "")
    if operation == "ai.toolCall":
        read = _tool(attributes)
    elif operation.endswith((".doGenerate", ".doStream")):
        read = _model_call(attributes)
    elif operation in _WHOLE:
        read = _whole(operation, attributes)
    else:
        return content
    return replace(content, attributes={**read, **attributes})


def _tool(attributes: Mapping[str, Any]) -> dict[str, Any]:
    read = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": attributes.get("ai.toolCall.name"),
        "gen_ai.tool.call.id": attributes.get("ai.toolCall.id"),
        "gen_ai.tool.call.arguments": attributes.get("ai.toolCall.args"),
    }
    if (result := attributes.get("ai.toolCall.result")) is not None:
        said = read_json(result)
        read["gen_ai.tool.call.result"] = said if isinstance(said, str) else result
    return read


def _model_call(attributes: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = {"gen_ai.operation.name": "chat", **_tokens(attributes, _USAGE)}
    given = [_message(each) for each in objects(attributes.get("ai.prompt.messages"))]
    if given:
        read["gen_ai.input.messages"] = written(given)
    parts: list[dict[str, Any]] = []
    if reasoning := attributes.get("ai.response.reasoning"):
        parts.append({"type": "reasoning", "content": reasoning})
    words = attributes.get("ai.response.text", attributes.get("ai.response.object"))
    if words is not None:
        parts.append({"type": "text", "content": words})
    parts += _calls(read_list(attributes.get("ai.response.toolCalls")))
    if parts:
        read["gen_ai.output.messages"] = written([{"role": "assistant", "parts": parts}])
    if definitions := list(_definitions(attributes.get("ai.prompt.tools"))):
        read["gen_ai.tool.definitions"] = written(definitions)
    return read


def _whole(operation: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": attributes.get("ai.telemetry.functionId") or operation,
    }
    prompt = read_object(attributes.get("ai.prompt"))
    messages = prompt.get("messages", prompt.get("prompt"))
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    given = [_message(each) for each in messages if isinstance(each, Mapping)] if isinstance(messages, list) else []
    if given:
        read["gen_ai.input.messages"] = written(given)
    words = attributes.get("ai.response.text", attributes.get("ai.response.object"))
    if isinstance(words, str) and words:
        read["output.value"] = words
    sums = {"gen_ai.aggregated_usage.input_tokens": "input", "gen_ai.aggregated_usage.output_tokens": "output"}
    names = {key: _USAGE[f"gen_ai.usage.{kind}_tokens"] for key, kind in sums.items()}
    return {**read, **_tokens(attributes, names)}


def _tokens(attributes: Mapping[str, Any], names: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    found = {key: next((attributes[one] for one in many if one in attributes), None) for key, many in names.items()}
    return {key: count for key, count in found.items() if count is not None}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"role": message.get("role"), "parts": list(_parts(parts if isinstance(parts, list) else []))}


def _parts(parts: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in ("text", "reasoning"):
            yield {"type": kind, "content": part.get("text")}
        elif kind == "tool-call":
            yield from _calls([part])
        elif kind == "tool-result":
            output = part.get("output", part.get("result"))
            value = output.get("value", output) if isinstance(output, Mapping) else output
            yield {"type": "tool_call_response", "id": part.get("toolCallId"), "response": value}


def _calls(calls: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for call in calls:
        if isinstance(call, Mapping):
            given = call.get("input", call.get("args"))
            said = {"id": call.get("toolCallId"), "name": call.get("toolName"), "arguments": given}
            yield {"type": "tool_call", **said}


def _definitions(tools: Any) -> Iterator[Any]:
    for tool in tools if isinstance(tools, list) else read_list(tools):
        yield read_json(tool) if isinstance(tool, str) else tool


VERCEL_AI = Convention("Vercel AI SDK", ("ai.",), keys=frozenset({_OPERATION}), translate=translate)
