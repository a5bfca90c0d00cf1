"""Reads the JSON that attributes and events of spans hold, and writes messages in the parts of `gen_ai.*`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viva.recordings.spans.values import loaded

INPUT, OUTPUT, SYSTEM = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"
OPERATION, TOOLS = "gen_ai.operation.name", "gen_ai.tool.definitions"
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
CALL_ID, TOOL_NAME = "gen_ai.tool.call.id", "gen_ai.tool.name"


def read_json(value: Any) -> Any:
    """Return what a JSON text says, also if that is a word or a number; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def read_object(value: Any) -> Mapping[str, Any]:
    """Return an object, given or as JSON; an empty one for anything else."""
    found = loaded(value)
    return found if isinstance(found, Mapping) else {}


def read_list(value: Any) -> list[Any]:
    """Return a list, given or as JSON; an empty one for anything else."""
    found = loaded(value)
    return found if isinstance(found, list) else []


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list, given or as JSON; an empty list for anything else."""
    return [each for each in read_list(value) if isinstance(each, Mapping)]


def written(value: Any) -> str:
    """Write a value as JSON; text as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def message(role: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a message of parts."""
    return {"role": role, "parts": list(parts)}


def text(content: Any) -> dict[str, Any]:
    """Return a part with words."""
    return {"type": "text", "content": content}


def reasoning(content: Any) -> dict[str, Any]:
    """Return a part with a model's reasoning."""
    return {"type": "reasoning", "content": content}


def call(name: Any, given: Any, identity: Any) -> dict[str, Any]:
    """Return a part with a call."""
    return {"type": "tool_call", "id": identity, "name": name, "arguments": given}


def back(result: Any, identity: Any) -> dict[str, Any]:
    """Return a part with the result of a call."""
    return {"type": "tool_call_response", "id": identity, "response": result}


@dataclass(frozen=True, slots=True)
class FlatMessage:
    """A message that OpenInference wrote in flat attributes, without what it calls."""

    role: str
    words: str
    calls: tuple[Mapping[str, Any], ...]
    """Parts with calls."""
    answers: str | None
    """Id of the call whose result it is."""


def openinference_messages(attributes: Mapping[str, Any], side: str) -> list[FlatMessage]:
    """Return the messages of OpenInference's `llm.SIDE_messages.N.message.*`, in order."""
    start = f"llm.{side}_messages."
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            number, _, rest = key[len(start) :].partition(".message.")
            if number.isascii() and number.isdigit() and len(number) < 9:
                found.setdefault(int(number), {})[rest] = value
    return [_said(found[number]) for number in sorted(found)]


def _said(element: Mapping[str, Any]) -> FlatMessage:
    words = element.get("content")
    if words is None:
        texts = {key: value for key, value in element.items() if key.endswith(".message_content.text")}
        words = "\n".join(str(texts[key]) for key in sorted(texts, key=_place))
    calls = []
    for key in sorted((key for key in element if key.endswith(".tool_call.function.name")), key=_place):
        begin = key.removesuffix("function.name")
        given = element.get(f"{begin}function.arguments", "{}")
        calls.append(call(element[key], loaded(given), element.get(f"{begin}id")))
    identity = element.get("tool_call_id")
    return FlatMessage(str(element.get("role") or ""), written(words), tuple(calls), identity if identity else None)


def _place(key: str) -> int:
    number = key.split(".")[1]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
