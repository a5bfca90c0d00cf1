"""Finds chat messages in the inputs and outputs that platforms record, in the forms that frameworks and providers use:
OpenAI's chat completions and responses, Anthropic's messages, and LangChain's messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from viva.recordings.spans.values import listed, loaded

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "function": "tool", "model": "assistant"}
_CLASSES = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
_INPUTS = ("messages", "input", "prompt", "prompts", "contents")
_OUTPUTS = ("choices", "generations", "output", "messages", "message", "outputs")


def messages_in(given: Any) -> list[dict[str, Any]]:
    """Return the messages of a model call's input, in the chat format."""
    given = loaded(given)
    if isinstance(given, str):
        return [{"role": "user", "content": given}] if given else []
    if isinstance(given, list):
        return _of_list(given)
    if not isinstance(given, Mapping):
        return []
    if _is_message(given):
        return _of_list([given])
    inner = next((given[key] for key in _INPUTS if given.get(key)), None)
    found = messages_in(inner) if inner is not None else []
    system = given.get("system") or given.get("instructions")
    return [{"role": "system", "content": system}, *found] if system else found


def answers_in(returned: Any) -> list[dict[str, Any]]:
    """Return the answer of a model call, in the chat format: the first, if there are several choices."""
    returned = loaded(returned)
    if isinstance(returned, str):
        return [{"role": "assistant", "content": returned}] if returned else []
    if isinstance(returned, list):
        if returned and isinstance(returned[0], Mapping) and "message" in returned[0]:
            return answers_in(returned[0]["message"])
        if returned and isinstance(returned[0], list | str):
            return answers_in(returned[0])
        return _joined(_of_list(returned, "assistant"))
    if not isinstance(returned, Mapping):
        return []
    if _is_message(returned):
        return _joined(_of_list([returned], "assistant"))
    if isinstance(returned.get("message"), Mapping):
        return answers_in(returned["message"])
    inner = next((returned[key] for key in _OUTPUTS if returned.get(key)), None)
    if inner is not None:
        return answers_in(inner)
    text = returned.get("text") or returned.get("completion")
    return [{"role": "assistant", "content": text}] if isinstance(text, str) else []


def message_attributes(prefix: str, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return messages of the chat format as attributes of OpenInference."""
    attributes: dict[str, Any] = {}
    for number, message in enumerate(messages):
        key = f"{prefix}.{number}.message"
        attributes[f"{key}.role"] = message.get("role") or "assistant"
        attributes[f"{key}.content"] = _text(message.get("content"))
        if message.get("tool_call_id"):
            attributes[f"{key}.tool_call_id"] = str(message["tool_call_id"])
        for place, call in enumerate(listed(message.get("tool_calls"))):
            inner = f"{key}.tool_calls.{place}.tool_call"
            attributes[f"{inner}.id"] = call.get("id")
            attributes[f"{inner}.function.name"] = call.get("name")
            attributes[f"{inner}.function.arguments"] = _arguments(call.get("arguments"))
    return {key: value for key, value in attributes.items() if value is not None}


def _is_message(value: Mapping[str, Any]) -> bool:
    if "role" in value and ("content" in value or "tool_calls" in value or "parts" in value):
        return True
    return ("type" in value and "content" in value) or _class_of(value) is not None or "kwargs" in value


def _class_of(value: Mapping[str, Any]) -> str | None:
    """Return the role of a message that LangChain serialized: `{"lc": 1, "id": [..., "AIMessage"], "kwargs": {}}`."""
    path = value.get("id")
    return _CLASSES.get(str(path[-1])) if isinstance(path, list) and path else None


def _of_list(values: Sequence[Any], role: str = "user") -> list[dict[str, Any]]:
    if len(values) == 1 and isinstance(values[0], list):
        return _of_list(values[0], role)
    found: list[dict[str, Any]] = []
    for value in values:
        if isinstance(value, str):
            found.append({"role": role, "content": value})
        elif isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) for each in value):
            found.append({"role": _ROLES.get(value[0], value[0]), "content": value[1]})
        elif isinstance(value, Mapping):
            found += _of_message(value, role)
    return found


def _of_message(value: Mapping[str, Any], role: str) -> list[dict[str, Any]]:
    kind = value.get("type")
    if kind in ("function_call", "function_call_output", "reasoning"):
        return _of_item(value)
    own = _class_of(value)
    if own is not None and isinstance(value.get("kwargs"), Mapping):
        value = value["kwargs"]
    data = value.get("data")
    if isinstance(data, Mapping) and "content" in data:  # LangChain's `message_to_dict`
        value = {**data, "type": kind}
    said = own or value.get("role") or (kind if kind not in (None, "message", "text") else None) or role
    content = value.get("content", value.get("parts"))
    calls = [_call(call) for call in _calls(value)]
    results = []
    for block in listed(content):
        block_kind = block.get("type") if isinstance(block, Mapping) else None
        if block_kind == "tool_use":
            calls.append({"id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")})
        elif block_kind == "tool_result":
            results.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": block.get("content")})
    message = {"role": _ROLES.get(str(said), str(said)), "content": content, "tool_calls": calls}
    if value.get("tool_call_id"):
        message["tool_call_id"] = value["tool_call_id"]
    return [*results, message] if not results or _text(content) else results


def _of_item(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an item of the Responses API as a message."""
    if value["type"] == "function_call":
        call = {"id": value.get("call_id"), "name": value.get("name"), "arguments": value.get("arguments")}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}]
    if value["type"] == "function_call_output":
        return [{"role": "tool", "tool_call_id": value.get("call_id"), "content": value.get("output")}]
    return []


def _calls(value: Mapping[str, Any]) -> list[Any]:
    calls = listed(value.get("tool_calls"))
    beside = value.get("additional_kwargs")
    if not calls and isinstance(beside, Mapping):
        calls = listed(beside.get("tool_calls"))
    old = value.get("function_call")
    return calls or ([old] if isinstance(old, Mapping) else [])


def _call(call: Any) -> dict[str, Any]:
    call = call if isinstance(call, Mapping) else {}
    inner = call.get("function")
    inner = inner if isinstance(inner, Mapping) else call
    return {
        "id": call.get("id"),
        "name": inner.get("name"),
        "arguments": inner.get("arguments", inner.get("args")),
    }


def _joined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one answer: the items of the Responses API are text and calls beside each other."""
    if len(messages) < 2 or any(message["role"] != "assistant" for message in messages):
        return messages[-1:]
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    texts = [text for message in messages if (text := _text(message.get("content")))]
    return [{"role": "assistant", "content": "\n".join(texts), "tool_calls": calls}]


def _text(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [each.get("text") if isinstance(each, Mapping) else each for each in content]
        return "\n".join(part for part in parts if isinstance(part, str)) or None
    return json.dumps(content, ensure_ascii=False)


def _arguments(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
