"""Reads prompts of Amazon Bedrock's agents: JSON with messages, whose contents may be written as Java shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_JAVA_TEXT = re.compile(r"\A\[\{text=(?P<text>.*), type=text\}\]\Z", re.DOTALL)


def messages_of(prompt: Any) -> list[dict[str, Any]]:
    """Return the words of the user and of the agent in a prompt, as messages with parts; tools are left out."""
    given = _object(prompt).get("messages")
    messages = [each for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []
    found = []
    for message in messages:
        texts = list(_texts(message.get("content")))
        if texts:
            found.append({"role": message.get("role"), "parts": [{"type": "text", "content": text} for text in texts]})
    return found


def system_of(prompt: Any) -> str | None:
    """Return the system text of a prompt."""
    said = _object(prompt).get("system")
    return said if isinstance(said, str) else None


def _object(prompt: Any) -> Mapping[str, Any]:
    if not isinstance(prompt, str):
        return {}
    try:
        read = json.loads(prompt)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, Mapping) else {}


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        found = _JAVA_TEXT.match(content)
        if found is not None:
            yield found["text"]
        elif not content.startswith("[{"):
            yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            yield block["text"]
