"""Reads a model's reasoning, which providers keep apart from its words, in the shapes in which messages hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KINDS = frozenset({"reasoning", "thinking", "thought", "reasoning_content", "reasoningContent"})
"""Types of parts that hold reasoning instead of words."""
_TEXTS = ("content", "text", "thinking", "reasoning", "summary", "reasoning_text", "reasoningText")
_FIELDS = ("reasoning_content", "reasoning", "thinking")


def reasoning_of_part(part: Mapping[str, Any]) -> str:
    """Return the text of a part whose type is one of `KINDS`; empty if it is hidden (encrypted)."""
    return next((text for key in _TEXTS if (text := _text(part.get(key)))), "")


def reasoning_of_message(message: Mapping[str, Any]) -> str | None:
    """Return the reasoning in a message of the chat format: in a field of its own, or in parts of its content."""
    found = [text for key in _FIELDS if (text := _text(message.get(key)))][:1]
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in KINDS and (text := reasoning_of_part(part)):
            found.append(text)
    return "\n".join(found) or None


def _text(value: Any) -> str:
    """Return text, or the texts of a list of them (OpenAI's summaries) or of an object (Bedrock), joined."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return reasoning_of_part(value)
    if isinstance(value, list):
        return "\n".join(text for each in value if (text := _text(each)))
    return ""
