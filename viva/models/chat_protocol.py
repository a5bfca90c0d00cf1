"""Reads responses of the OpenAI chat protocol, of a model's server or of an agent's: nothing in them is trusted.

Wire format: https://platform.openai.com/docs/api-reference/chat/object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viva.errors import ModelAnswerError, ProtocolError
from viva.models.metered_model import note_spent
from viva.records.bounded_json import DoubledKey, UnfitJson, parse
from viva.records.redact import redacted_line
from viva.records.transcript import MOST_TOKENS, Usage

WORDS_SHOWN = 200
"""Maximum number of characters of a provider's own words in an error message."""

COUNTED = ("content", "reasoning_content", "refusal", "tool_calls", "function_call")
"""The parts of a message that use tokens."""


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """A response that has a message."""

    body: Mapping[str, Any]
    """The whole response."""
    message: Mapping[str, Any]
    """The assistant's message; its content is text, a list, or null."""
    usage: Usage
    """One answered call, without a cost."""


async def read_response(body: bytes) -> ChatResponse:
    """Read a response.

    Raises:
        ProtocolError: the response does not follow the protocol; the message contains the provider's words.
        ModelAnswerError: its JSON has a duplicate key, so that readers would differ about what it says.
    """
    try:
        whole = await parse(body)
    except DoubledKey as error:
        raise ModelAnswerError(f"the response's JSON cannot be trusted: {error}") from error
    except UnfitJson as error:
        raise ProtocolError(_no_protocol(body, str(error))) from error
    whole = whole if isinstance(whole, dict) else {}
    choices = whole.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        words = _error_words(whole.get("error"))
        words = f", but the error {words}" if words else f": {redacted_line(body, WORDS_SHOWN)!r}"
        raise _charged(f"it has no message{words}", whole)
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        raise _charged(f"its content is {type(content).__name__} instead of text", whole)
    silent = not any(message.get(part) for part in COUNTED)
    return ChatResponse(whole, message, read_usage(whole.get("usage"), silent=silent))


def read_usage(reported: object, *, silent: bool = False) -> Usage:
    """Return the usage of one answered call as the response reports it, without a cost.

    What is missing, is no count (a text, say) or cannot be true (no tokens at all for an answer that has words) is
    unknown, not 0.

    Args:
        reported: The field `usage` of the response.
        silent: Whether the answer is empty, so that it may have used no tokens.
    """
    given, made = _count(reported, "prompt_tokens"), _count(reported, "completion_tokens")
    if not (given or made or silent):
        given = made = None
    cached = _count(_part(reported, "prompt_tokens_details"), "cached_tokens") or 0
    hidden = _count(_part(reported, "completion_tokens_details"), "reasoning_tokens") or 0
    return Usage.answered(given, made, min(cached, given or 0), min(hidden, made or 0))


def _charged(fault: str, whole: Mapping[str, Any]) -> ProtocolError:
    """Return the error for a response without an answer, with the tokens that it reports all the same."""
    error = ProtocolError(fault)
    used = read_usage(whole.get("usage"))
    if used.reported:
        note_spent(error, used)
    return error


def _part(holder: object, name: str) -> object:
    return holder.get(name) if isinstance(holder, dict) else None


def _count(holder: object, name: str) -> int | None:
    """Return a number of tokens; None for anything else."""
    value = _part(holder, name)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _error_words(error: object) -> str:
    """Return what a provider says in an error object."""
    words = error.get("message") or error if isinstance(error, dict) else error
    return redacted_line(str(words), WORDS_SHOWN) if words else ""


def _no_protocol(body: bytes, fault: str) -> str:
    start = body[: 4 * WORDS_SHOWN].lstrip()[:20].lower()
    if start.startswith(b"<"):
        kind = "a web page"
    elif start.startswith((b"data:", b"event:")):
        kind = "an event stream, which was not asked for"
    else:
        kind = fault.removeprefix("it is ")
    return f"it is {kind}: {redacted_line(body, 80)!r} (most addresses end in /v1)"
