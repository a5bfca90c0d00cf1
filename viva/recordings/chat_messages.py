"""Reads the parts of one chat-format message (content, tool calls, arguments) without discarding anything."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from viva.records.transcript import StepKind


@dataclass(slots=True)
class UnnumberedStep:
    """A step before it has a number."""

    kind: StepKind
    agent: str | None = None
    thought: str | None = None
    tool: str | None = None
    tool_input: Any = None
    result: str | None = None
    images: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)


def read_call(call: Any) -> UnnumberedStep:
    """Read one tool call; its fields may be nested under `function` (OpenAI) or be next to the id (tau2)."""
    if not isinstance(call, dict):
        return UnnumberedStep(StepKind.TOOL, tool_input=call)
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name, given = inner.get("name"), inner.get("arguments")
    attributes: dict[str, Any] = {}
    if call.get("id") is not None:
        attributes["tool_call_id"] = call["id"]
    rest = {key: value for key, value in call.items() if key not in ("id", "function", "name", "arguments")}
    if rest.get("type") == "function":
        del rest["type"]
    if inner is call:
        rest |= {"function": function} if "function" in call else {}
    else:
        rest |= {key: call[key] for key in ("name", "arguments") if key in call}
        inside = {key: value for key, value in inner.items() if key not in ("name", "arguments")}
        rest |= {"function": inside} if inside else {}
    if name is not None and not isinstance(name, str):
        rest["tool"] = name
    if rest:
        attributes["call"] = rest
    tool = name if isinstance(name, str) else None
    return UnnumberedStep(StepKind.TOOL, tool=tool, tool_input=read_arguments(given), attributes=attributes)


def read_arguments(given: Any) -> Any:
    """Return a call's arguments as an object, or as the original text if it is not JSON or would lose information."""
    if not isinstance(given, str):
        return given
    try:
        return _ARGUMENTS.decode(given)
    except (ValueError, RecursionError):
        return given


def _finite(text: str) -> float:
    """Refuse `NaN` and 1e999, which Python can read but not write again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a duplicate key, of which one value would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


_ARGUMENTS = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite)


def read_content(content: Any) -> tuple[str | None, list[str], bool]:
    """Return the text, the images, and whether these two are the whole content."""
    if content is None or isinstance(content, str):
        return content, [], True
    if not isinstance(content, list):
        return json.dumps(content, ensure_ascii=False), [], False
    texts, images, plain = [], [], True
    for element in content:
        part = {"type": "text", "text": element} if isinstance(element, str) else element
        kind = part.get("type") if isinstance(part, dict) else None
        address = part.get("image_url") if kind == "image_url" else None
        url = address.get("url") if isinstance(address, dict) else address
        if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            texts.append(part["text"])
            plain = plain and len(part) == 2
        elif isinstance(url, str):
            images.append(url)
            plain = plain and len(part) == 2 and (not isinstance(address, dict) or len(address) == 1)
        else:
            plain = False
    return "\n".join(texts), images, plain
