"""Recognizes messages whose words or role have other names than in the chat format: they are not read as empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

OTHER_NAMES = ("text", "message", "value", "body", "msg", "utterance", "response", "output", "parts")
"""Names under which other formats keep the words of a message."""
WITHOUT_WORDS = ("content", "tool_calls", "function_call", "refusal", "audio")
"""A message with one of these is whole, although it may have no text."""
OTHER_ROLES = {"human": "user", "customer": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}
"""Roles of other formats, and what they are called in the chat format."""


def wrong_words(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return which message has its words or its role under another name, and what to do; None if there is none."""
    for number, message in enumerate(messages, 1):
        if not any(name in message for name in WITHOUT_WORDS):
            name = next((name for name in OTHER_NAMES if isinstance(message.get(name), str | list)), None)
            if name is not None:
                return f"message {number} has no `content`, but `{name}`: rename it, because its words would be lost"
    roles = {message["role"]: number for number, message in reversed(list(enumerate(messages, 1)))}
    for role, number in roles.items():
        meant = OTHER_ROLES.get(role.lower())
        if meant is not None and meant not in roles:
            return f"message {number} has the role {role!r}, and none is of the {meant}: rename it to `{meant}`"
    return None
