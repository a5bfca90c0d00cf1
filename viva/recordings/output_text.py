"""Finds the text of a model's output in any of the shapes in which traces hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.recordings.chat_messages import read_arguments, read_content

_BESIDE_RAW = ({"raw", "tasks_output"}, {"raw", "response"}, {"raw", "pydantic", "json_dict"})


def text_of_output(output: Any) -> str | None:
    """Return the text of a model's output in any of the shapes in which traces hold it.

    The shapes are a list of messages (`[{"message": {"content": …}}]`), the same as a JSON string, an object with a
    `value`, a message, an answer with its `raw` text (CrewAI) or beside the provider's `raw` response (LlamaIndex), and
    plain text. Any other JSON string is the text itself: agents answer in JSON, too.

    Returns:
        The text of the first message that has one; None if there is none.
    """
    if isinstance(output, str):
        inner = read_arguments(output) if output.lstrip()[:1] in ("[", "{") else None
        first = inner[0] if isinstance(inner, list) and inner else inner
        is_message = isinstance(first, Mapping) and (
            "message" in first or {"role", "content"} <= set(first) or any(each <= set(first) for each in _BESIDE_RAW)
        )
        found = text_of_output(inner) if is_message else None
        return output if found is None else found
    if isinstance(output, list):
        found_in = (text_of_output(element) for element in output if isinstance(element, Mapping))
        return next((found for found in found_in if found is not None), None)
    if not isinstance(output, Mapping):
        return None
    message = output.get("message")
    if message is None and "raw" in output and isinstance(output.get("response"), Mapping):
        message = output["response"]
    inner = message if isinstance(message, Mapping) else output
    for key in ("content", "message.content", "value", "text", "blocks", "raw"):
        value = inner.get(key)
        if key == "blocks" and isinstance(value, list):
            value = [{"type": "text", **block} for block in value if isinstance(block, Mapping) and "text" in block]
        if isinstance(value, list):
            value = read_content(value)[0]
        if isinstance(value, str):
            return value
    return message if isinstance(message, str) else None
